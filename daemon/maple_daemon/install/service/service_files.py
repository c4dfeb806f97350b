"""The service's part of an installation: its settings, and the units by which systemd starts it. Nothing is started.

As root it is one service for everybody, as a plain user one for oneself.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from maple_agents.base.complaint import install, lacking
from maple_submit_filter.host import places

from ...store.mounts import on_network
from ..refusals import Refused, absolute
from ..release.layout import Layout, Release
from . import hooks as hook_files
from .hooks import File, checkout

SOCKET, STORE, USER = "/run/maple/daemon.sock", "/var/lib/maple/memory.db", "maple"
UNITS = ("maple-daemon.service", "maple-daemon.socket")
LONGEST = 107  # bytes that the path of a socket may have (unix(7))


class Service(NamedTuple):
    """*socket* "": there is none. *uid*: whose word the front takes, besides root's and the caller's; "" for nobody's.

    *start*: the line that starts it. *spool*: the folder in which hooks leave what they tell, "" for none.
    """

    socket: str = ""
    uid: str = ""
    files: tuple[File, ...] = ()
    start: str = ""
    spool: str = ""


class Asked(NamedTuple):
    """What the options say. *daemon* None: as before. *units*: the folder of the units, "" for the usual one."""

    daemon: bool | None = None
    socket: str = ""
    uid: int | None = None
    units: str = ""
    hooks: bool | None = None
    spool: str = ""
    scheduler: str = "slurm"


def wished(where: Layout, asked: Asked, before: Service, environ: Mapping[str, str] = os.environ) -> Service:
    """Return the service to install; raises `Refused`. *before*: what the installation has now."""
    daemon = bool(before.files) if asked.daemon is None else asked.daemon
    if asked.daemon is False and asked.socket:
        raise Refused("--socket names a service, and --no-daemon wants none", "leave one of the two out")
    socket = str(absolute(asked.socket, "--socket")) if asked.socket else ""
    uid = "" if asked.uid is None else str(asked.uid)
    if (asked.hooks or asked.spool) and not daemon:
        raise Refused("--hooks: there is no service to tell", "add --daemon")
    if not daemon:
        return Service(socket, uid)
    socket = _short(socket or before.socket or _usual_socket(environ))
    uid = uid or before.uid or _usual_uid()
    config = where.prefix / "daemon.toml"
    settings = {"conf": str(Release(where.current).config), "socket": socket, "store": _usual_store(environ)}
    folder = _folder(asked.units, before, environ)
    spool, hooks = _hooks(where, asked, before, environ)
    units = _units(folder, config, socket, uid, spool) if folder else ()
    settings |= {"spool": spool} if spool else {}
    files = (File(config, _toml(settings), kept=True), *units, *hooks)
    return Service(socket, uid, files, start_line(folder, config, uid, (socket, str(settings["store"]))), spool)


def _hooks(where: Layout, asked: Asked, before: Service, environ: Mapping[str, str]) -> tuple[str, tuple[File, ...]]:
    """Return the folder for events and the hooks that leave them there, as asked or as before."""
    there = any(file.path.parent == where.hooks for file in before.files)
    if asked.hooks is False or not (there or asked.hooks or asked.spool):
        return "", ()
    usual = hook_files.SPOOL if os.geteuid() == 0 else os.path.join(os.path.dirname(_usual_store(environ)), "events")
    spool = str(absolute(asked.spool, "--spool")) if asked.spool else before.spool or usual
    return spool, hook_files.files(where, asked.scheduler, spool, hook_files.state_folder(environ))


def start_line(folder: Path | None, config: Path, uid: str, files: Sequence[str] = ()) -> str:
    """Return what starts the service, ready to be typed. *files*: what it makes, in folders that it has to own.

    A unit makes these folders; by hand those are made that are not there. Of one that is there nothing is changed.
    """
    if folder is not None:
        systemctl = "systemctl" if os.geteuid() == 0 else "systemctl --user"
        return f"{systemctl} daemon-reload && {systemctl} enable --now maple-daemon.socket"
    words = [str(program()), "--config", str(config)]
    if os.geteuid() == 0:
        words = ["runuser", "-u", _user(uid), "--", *words]
        missing = sorted({os.path.dirname(file) for file in files if not os.path.isdir(os.path.dirname(file))})
        if missing:
            return shlex.join(["install", "-d", "-o", _user(uid), *missing]) + " && " + shlex.join(words)
    return shlex.join(words)


def program() -> Path:
    """Return the service's program; refuse where it is not installed."""
    beside = Path(sys.executable).with_name("maple-daemon")
    program_path = str(beside) if os.access(beside, os.X_OK) else shutil.which("maple-daemon")
    if not program_path:
        raise Refused("--daemon: there is no maple-daemon here", install("daemon"))
    if program_path == str(beside) and (missing := lacking("daemon")):
        raise Refused(f"--daemon: {', '.join(missing)}, which the service needs, not installed", install("daemon"))
    return Path(program_path)


def hidden(path: Path) -> str:
    """Return what of a program, or of its Python, lies in a home, "" where nothing does.

    The hardened unit does not see homes (ProtectHome of systemd.exec(5)), nor do other users.
    """
    places_ = [str(path), os.path.realpath(path), os.path.realpath(sys.executable)]
    return next((place for place in places_ if place.startswith(("/home/", "/root/", "/run/user/"))), "")


def _usual_socket(environ: Mapping[str, str]) -> str:
    if os.geteuid() == 0:
        return SOCKET
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if not runtime.startswith("/"):
        raise Refused("--daemon: XDG_RUNTIME_DIR is not set, so there is no place for a socket", "name one: --socket")
    return os.path.join(runtime, "maple", "daemon.sock")


def _usual_store(environ: Mapping[str, str]) -> str:
    """A write-ahead log wants a local disk; a home on a network file system is none, what is forgotten at logout is."""
    if os.geteuid() == 0:
        return STORE
    state = environ.get("XDG_STATE_HOME") or os.path.join(environ.get("HOME") or "/", ".local", "state")
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    lasting = os.path.join(state, "maple", "memory.db")
    return os.path.join(runtime, "maple", "memory.db") if runtime and on_network(lasting) else lasting


def _usual_uid() -> str:
    if os.geteuid() != 0:
        return ""  # the caller's own word counts anyway
    try:
        return str(pwd.getpwnam(USER).pw_uid)
    except KeyError:
        raise Refused(
            f"--daemon: there is no user {USER} to run it as",
            f"useradd --system --no-create-home --shell /usr/sbin/nologin {USER}; or --service-uid UID",
        ) from None


def _short(socket: str) -> str:
    if len(os.fsencode(socket)) > LONGEST:
        raise Refused(f"--socket: {socket} is longer than a socket's path may be", f"at most {LONGEST} bytes")
    return socket


def _folder(asked: str, before: Service, environ: Mapping[str, str]) -> Path | None:
    """Return where units belong, None where there is no systemd."""
    if asked:
        return absolute(asked, "--units")
    known = [file.path.parent for file in before.files if file.path.name in UNITS]
    if known:
        return known[0]
    if not os.path.isdir("/run/systemd/system"):
        return None
    if os.geteuid() == 0:
        return Path("/etc/systemd/system")
    return Path(environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or "/", ".config"), "systemd/user")


def _units(folder: Path, config: Path, socket: str, uid: str, spool: str) -> tuple[File, ...]:
    """Return the units as they come with Maple, with what is so here in place of what is usual."""
    start = " ".join(_quoted(word) for word in (str(program()), "--config", str(config)))
    here = {
        "ExecStartPre": start + " --check", "ExecStart": start, "User": _user(uid) if uid else "", "Group": "",
        "ListenStream": socket.replace("%", "%%"),
    }  # fmt: skip
    if spool:
        here["ReadWritePaths"] = "-" + _quoted(spool)
    return tuple(File(folder / name, _changed(_template(name), here)) for name in UNITS)


def _changed(unit: str, here: Mapping[str, str]) -> bytes:
    """Return a unit with other values; a key without a value is left out."""

    def line(match: re.Match[str]) -> str:
        return f"{match[1]}={here[match[1]]}\n" if here[match[1]] else ""

    keys = "|".join(here)
    return re.sub(rf"^({keys})=.*\n", line, unit, flags=re.MULTILINE).encode()


def _template(name: str) -> str:
    for folder in (checkout() / "packaging" / "systemd", *map(Path, places.folders("systemd"))):
        path = folder / name if os.geteuid() == 0 else folder / "user" / name
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise Refused("--daemon: the units of systemd are not there", "install the whole of maple-hpc")


def _user(uid: str) -> str:
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except KeyError:
        return uid


def _quoted(word: str) -> str:
    """Return a word of a command line as systemd reads it (systemd.service(5))."""
    word = word.replace("%", "%%").replace("$", "$$")
    return '"%s"' % word.replace("\\", "\\\\").replace('"', '\\"') if re.search(r"[\s\"'\\;]", word) else word


def _toml(settings: Mapping[str, str]) -> bytes:
    head = "# Written by maple admin install --daemon. It is yours to change: no update does. See man maple-daemon.\n"
    return (head + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())).encode()
