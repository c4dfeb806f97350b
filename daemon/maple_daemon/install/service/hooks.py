"""The service's files, never over somebody else's, and the scheduler's hooks, by which it hears of jobs' ids and ends.

They are put below the prefix and nowhere else; the lines that bring them into force stand in the scheduler's own
configuration, which is the administrator's, and are printed. `packaging/slurm` and `packaging/pbs` say what each does.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import maple_submit_filter
from maple_submit_filter.host import places

from ...base.settings import Wrong, load
from ..refusals import Check, Refused
from ..release import layout
from ..release.layout import Layout, Placed, Receipt, restore

Undo = list[Callable[[], object]]


def placed(file: File) -> Placed:
    """Return what the receipt says of a file that is to be written."""
    return Placed(str(file.path), "settings" if file.kept else "unit", hashlib.sha256(file.content).hexdigest())


def refuse_foreign(files: Iterable[File], former: Iterable[Placed]) -> None:
    """Refuse where a unit stands that is not of this installation, or was changed since."""
    known = {placed.path: placed for placed in former}
    for file in files:
        old = known.get(str(file.path))
        if file.kept or not os.path.lexists(file.path) or (old and is_ours(old)) or holds(file.path, file.content):
            continue
        raise Refused(f"{file.path} is there and is not ours", "move it away, or choose another folder with --units")


def write(file: File, former: Iterable[Placed], undo: Undo) -> Placed:
    """Write a file, unless it is the administrator's by now; return what the receipt says of it."""
    known = next((before for before in former if before.path == str(file.path)), None)
    there = file.path.read_bytes() if file.path.is_file() else None
    if there == file.content:
        return placed(file)
    if file.kept and there is not None and not (known and is_ours(known)):
        return known or Placed(str(file.path), "settings", "")
    undo.append(lambda: restore(file.path, there))
    layout.write(file.path, file.content, file.mode)
    return placed(file)


def is_ours(placed: Placed) -> bool:
    """Return whether the file is as it was written."""
    path = Path(placed.path)
    return path.is_file() and not path.is_symlink() and layout.sha256(path) == placed.what


def holds(path: Path, content: bytes) -> bool:
    """Return whether that very file is there already, as after a run that was killed."""
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def remove(placed: Placed) -> bool:
    """Take a file away if it is as it was written; return whether it is gone."""
    path = Path(placed.path)
    layout.sweep(path)
    if is_ours(placed):
        path.unlink()
    return not os.path.lexists(path)


# A file of the service's part of an installation, and where those that it is made of lie.


class File(NamedTuple):
    """*kept*: from when it is there it is the administrator's, and no update changes it."""

    path: Path
    content: bytes
    kept: bool = False
    mode: int = 0o644


def checkout() -> Path:
    """Return the folder above our packages, where this is a checkout."""
    return Path(maple_submit_filter.__file__).resolve().parents[2]


SPOOL = "/var/spool/maple/events"
SECONDS = 5.0  # that the scheduler may take to say where it keeps jobs' scripts
_FILES = {"slurm": ("job_ended", "cli_filter.lua", "epilog_maple"), "pbs": ("maple_job_end.py",)}
_PROGRAMS = ("job_ended", "epilog_maple")
_EVENT = re.compile(r"submitted,[^/]*|\.?ended\.[A-Za-z0-9]+")  # as the hooks name what they leave


def files(where: Layout, scheduler: str, spool: str, state: str) -> tuple[File, ...]:
    """Return the hooks of a scheduler with *spool* in place of the usual folder. Raises `Refused`.

    *state*: Slurm's StateSaveLocation, "" where it is not known.
    """
    made = [_placed(where.hooks, scheduler, name, spool) for name in _FILES[scheduler]]
    if scheduler == "slurm":
        settings = f"SPOOL={spool}\nSTATE={state}\n"
        made.append(File(where.hooks / "events.conf", settings.encode(), kept=True))
    return tuple(made)


def _placed(folder: Path, scheduler: str, name: str, spool: str) -> File:
    content = _shipped(scheduler, name).replace(SPOOL.encode(), os.fsencode(spool))
    if scheduler == "pbs":
        content = re.sub(rb'(?m)^SOCKET = ".*?"', b'SOCKET = ""', content)  # the spool is what is set up here
    return File(folder / name, content, mode=0o755 if name in _PROGRAMS else 0o644)


def _shipped(scheduler: str, name: str) -> bytes:
    for folder in (checkout() / "packaging" / scheduler, *map(Path, places.folders(scheduler))):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    raise Refused(f"--hooks: {name} is not there", "install the whole of maple-hpc")


def state_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return Slurm's StateSaveLocation, as the controller says it; "" where it does not answer."""
    scontrol = shutil.which("scontrol", path=environ.get("PATH"))
    if scontrol is None:
        return ""
    try:
        done = subprocess.run([scontrol, "show", "config"], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS, check=False)  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(rb"(?m)^StateSaveLocation\s*=\s*(/\S+)", done.stdout)
    return os.fsdecode(match[1]) if match else ""


COPIES = {  # of the hooks of which a copy is in force: who has it, and what makes it
    "cli_filter.lua": ("each login node", "install -m 0644 %s /etc/slurm/cli_filter.lua"),
    "maple_job_end.py": ("PBS", "qmgr -c 'import hook maple application/x-python default %s'"),
}


def lines(placed: Iterable[File], before: Mapping[Path, bytes] | None = None) -> list[str]:
    """Return what brings the hooks into force, ready to be copied; [] where there are none.

    *before*: what stood there. Of a hook that is another now, the copy that is in force has to be renewed.
    """
    hooks = {file.path.name: file.path for file in placed}
    for name, (whose, command) in COPIES.items():
        if name in hooks and (before or {}).get(hooks[name], held := hooks[name].read_bytes()) != held:
            return [f"the hook has changed; {whose} goes by a copy, so renew it:", "    " + command % hooks[name]]
    if "job_ended" in hooks:
        return [
            "hooks: on the controller, in slurm.conf:",
            f"    JobCompType=jobcomp/script\n    JobCompLoc={hooks['job_ended']}",
            "or, where JobCompType is in use already:",
            f"    EpilogSlurmctld={hooks['job_ended']}",
            "then restart slurmctld: after scontrol reconfigure alone it calls none of them",
            "hooks: on login nodes, beside slurm.conf, and then a line in slurm.conf:",
            f"    {COPIES['cli_filter.lua'][1] % hooks['cli_filter.lua']}\n    CliFilterPlugins=lua",
        ]
    if "maple_job_end.py" in hooks:
        return [
            "hooks: on the PBS server, which has to see the same spool:",
            "    qmgr -c 'create hook maple event=jobobit'\n"  # one -c a call: of several, qmgr does the last
            "    qmgr -c 'set hook maple alarm=5'\n"
            "    " + COPIES["maple_job_end.py"][1] % hooks["maple_job_end.py"],
            "hooks: where nodes see that spool too and root may write it; else only jobs that Maple changed are known:",
            "    qmgr -c 'set hook maple event += execjob_epilogue'",
        ]
    return []


def removal(names: Collection[str]) -> str:
    """Return what takes hooks of these *names* out of force, as the end of a sentence; "" where none is among them."""
    if "maple_job_end.py" in names:
        return ", and the hook: qmgr -c 'delete hook maple'"
    return ", and the hooks' lines in slurm.conf" if "job_ended" in names else ""


def spool_of(where: Layout) -> str:
    """Return the folder that the service looks at, "" where it looks at none."""
    try:
        return load(str(where.prefix / "daemon.toml")).spool
    except Wrong:
        return ""


def swept(spool: Path) -> None:
    """Remove from a folder that we made the events that no service takes any more; what else lies there stays."""
    for path in spool.iterdir() if spool.is_dir() else ():
        if _EVENT.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


def examined(where: Layout, receipt: Receipt) -> Iterator[Check]:
    """Does the service look where the hooks leave what they tell? Yields nothing where none were placed."""
    placed = [Path(file.path) for file in receipt.written if Path(file.path).parent == where.hooks]
    if not placed:
        return
    try:
        spool = load(str(where.prefix / "daemon.toml")).spool
    except Wrong as error:
        yield Check("hooks", "wrong", str(error).splitlines()[0], "correct daemon.toml")
        return
    hooks = {path.name: path for path in placed}
    teller = hooks.get("cli_filter.lua") or hooks.get("maple_job_end.py")
    if not spool:
        yield Check("hooks", "wrong", f"{where.prefix}/daemon.toml names no spool, so nothing is heard of jobs",
                    f'add to it: spool = "{SPOOL}"')  # fmt: skip
    elif teller is not None and teller.is_file() and os.fsencode(spool) not in teller.read_bytes():
        yield Check("hooks", "wrong", f"{teller} tells another folder than {spool}", "let both name one")
    elif not os.path.isdir(spool):
        yield Check("hooks", "wrong", f"{spool} is no folder", "install again")
    elif os.geteuid() == 0 and os.stat(spool).st_mode & 0o7777 != 0o1733:
        yield Check("hooks", "wrong", f"{spool} has mode {os.stat(spool).st_mode & 0o7777:o}", f"chmod 1733 {spool}")
    else:
        says = f"{where.hooks} tell {spool}; a job shows whether the scheduler calls them:"
        yield Check("hooks", "ok", says, "    maple admin doctor --job")
