"""What the options of `maple admin install` come to, checked before anything is touched."""

from __future__ import annotations

from pathlib import Path

from . import settings
from .installation import Wish
from .place import find_real, is_front, links_for
from .refusals import Refused, absolute, safe_folder
from .release import releases
from .release.interpreter import packages, pin, python_for
from .release.layout import Layout, Release, layout, read_receipt
from .release.sources import sources
from .service import hooks as hook_files
from .service import service_files
from .service.hooks import File


def wish(
    *,
    prefix: str,
    folder: str,
    site_id: str,
    mode: str,
    real: str,
    python: str,
    audit: str,
    socket: str,
    service_uid: int | None,
    daemon: bool | None,
    units: str,
    hooks: bool | None,
    spool: str,
    copy: bool,
    no_compiler: bool,
    path_variable: str,
) -> Wish:
    """Return what to install; raises `Refused` at the first option that cannot be had."""
    home, place = absolute(prefix, "--prefix"), absolute(folder, "--bin")
    for path, option in ((home, "--prefix"), (place, "--bin")):
        safe_folder(path, option)
    refuse_inside(home, place)
    if mode:
        settings.checked(mode)
    parts = sources(site_id, "" if no_compiler else None)
    if copy and not parts.compiler:
        raise Refused(
            "--copy: a copy has to be compiled for its prefix, and there is no compiler",
            "leave --copy out: a link will do",
        )
    command = "qsub" if parts.site["scheduler"] == "pbs" else "sbatch"
    original = find_real(command, path_variable, real)
    refuse_own_folder(place, original)
    interpreter = pin(python)
    asked = service_files.Asked(daemon, socket, service_uid, units, hooks, spool, str(parts.site["scheduler"]))
    service = service_files.wished(layout(home), asked, now(layout(home)))
    more = {
        "policy": str(home / "policy.json"),
        "audit": str(absolute(audit, "--audit") if audit else home / "audit"),
        "socket": service.socket,
        "service_uid": service.uid,
    }
    kind, reader = "copy" if copy else "link", python_for(interpreter) if service.socket else None
    parts = parts._replace(reader=packages() if reader else ())
    return Wish(
        home, place, parts, interpreter, {command: original}, mode, kind, tuple(more.items()), service, reader,
        links_for(place),
    )  # fmt: skip


def now(where: Layout) -> service_files.Service:
    """Return the service that the installation has."""
    receipt, name = read_receipt(where), releases.in_force(where)
    if receipt is None or not receipt.written:
        return service_files.Service()
    values = settings.values(Release(where.releases / name)) if name else {}
    files = tuple(File(Path(placed.path), b"") for placed in receipt.written)
    return service_files.Service(
        values.get("socket", ""), values.get("service_uid", ""), files, spool=hook_files.spool_of(where)
    )


def refuse_own_folder(place: Path, real: Path) -> None:
    """Refuse to stand in the very folder of the real command: one of the two would have to go."""
    if place.resolve() == real.parent.resolve():
        raise Refused(f"--bin: {place} holds the real {real.name}", "choose another folder, and put it before in PATH")
    other = place / real.name
    if other.exists() and other.resolve() == real.resolve() and not is_front(other):
        raise Refused(f"--bin: {other} is the real {real.name}", "choose another folder, and put it before in PATH")


def refuse_inside(home: Path, place: Path) -> None:
    """Refuse a --bin that a switch of releases would move."""
    for part in ("releases", "current"):
        if (home / part) in (place, *place.parents):
            raise Refused(f"--bin: {place} lies inside {home / part}", f"choose {home / 'bin'}")
