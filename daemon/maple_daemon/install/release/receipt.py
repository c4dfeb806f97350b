"""What an installation put where: the one thing that rollback and uninstall go by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from ..refusals import Refused
from . import atomic
from .atomic import write_json
from .layout import Layout


class Placed(NamedTuple):
    """A command that we put somewhere, a link to the front or a copy of it; or a file of the service's."""

    path: str
    kind: str  # "link", "copy", "unit", or "settings", which are the administrator's to change
    what: str  # the link's target, or the hash of what we wrote


class Receipt(NamedTuple):
    """*history*: the releases that were in force, the last one now. *made*: folders that were not there before.

    *written*: files of the service's.
    """

    history: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()
    made: tuple[str, ...] = ()
    written: tuple[Placed, ...] = ()


def read(where: Layout) -> Receipt | None:
    """Return the receipt below the prefix, None when nothing is installed there."""
    try:
        data = json.loads(where.receipt.read_bytes())
        placed, written = (tuple(Placed(*map(str, one)) for one in data.get(key, ())) for key in ("placed", "written"))
        return Receipt(tuple(map(str, data["history"])), placed, tuple(map(str, data["made"])), written)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refused(
            f"{where.receipt}: {error}", "it is written by maple admin install: put back a saved copy"
        ) from None


def installed(where: Layout) -> Receipt:
    """Return the receipt; refuse where nothing is installed."""
    found = read(where)
    if found is None:
        raise Refused(
            f"no Maple is installed below {where.prefix}", "name the prefix that install was given with --prefix"
        )
    return found


def write(where: Layout, receipt: Receipt) -> None:
    """Put the receipt in place."""
    data: dict[str, object] = {"history": receipt.history, "made": receipt.made}
    data["placed"] = [list(one) for one in receipt.placed]
    if receipt.written:
        data["written"] = [list(one) for one in receipt.written]
    write_json(where.receipt, data)


def add_folder(path: Path) -> list[str]:
    """Make the folder and its parents; return those that were not there, the outermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)  # whatever the umask: all users start the front from here
    return [str(folder) for folder in reversed(missing)]


def remove_empty(path: Path) -> bool:
    """Remove a folder if nothing is in it; return whether it is gone."""
    try:
        path.rmdir()
    except OSError:
        return not path.exists()
    return True


def restore(path: Path, content: bytes | None) -> None:
    """Put back what a file held, or take it away where there was none."""
    if content is None:
        path.unlink(missing_ok=True)
    else:
        atomic.write(path, content)
