"""Going back to an earlier release, and taking everything away."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from .. import place, settings
from ..refusals import Refused
from ..service import hooks
from . import releases
from .layout import Layout, Receipt, Release, alone, installed, layout, remove_empty, write_receipt


def rollback(prefix: Path, wanted: str = "") -> tuple[str, str]:
    """Put an earlier release in force, in the mode that holds now; return its name and the one it replaces."""
    where = layout(prefix)
    receipt = installed(where)
    with alone(prefix):
        now = releases.in_force(where)
        name = releases.chosen(where, receipt.history, wanted)
        release = Release(where.releases / name)
        if broken := releases.damage(release):
            raise Refused(f"release {name} is damaged: {broken[0]}", "choose another, or install again")
        if now:
            settings.carry(release, Release(where.releases / now))
        releases.switch(where, name)
        placed = tuple(
            place.place(Path(program.path), where, program.kind, program) if program.kind == "copy" else program
            for program in receipt.placed
        )
        history = tuple(release for release in receipt.history if release != name) + (name,)
        files = receipt.written
        if not settings.values(release).get("socket"):  # it is from before there was a service
            files = tuple(file for file in receipt.written if not hooks.remove(file))
        write_receipt(where, Receipt(history, placed, receipt.made, files))
    return name, now


def is_own_link(where: Layout) -> bool:
    """Return whether `share` is the link that an installation makes."""
    return where.share.is_symlink() and os.readlink(where.share) == str(Release(where.current).share)


class Leftover(NamedTuple):
    """Something uninstall did not remove, and why."""

    path: str
    why: str


def uninstall(prefix: Path) -> list[Leftover]:
    """Take away all that was installed below *prefix*, the commands first; return what was not ours to remove."""
    where: Layout = layout(prefix)
    receipt, spool = installed(where), hooks.spool_of(where)
    with alone(prefix):
        left = [
            Leftover(placed.path, "is not ours any more")
            for placed in receipt.placed
            if not place.remove(placed, where)
        ]
        left += [
            Leftover(placed.path, "was changed since it was written")
            for placed in receipt.written
            if not hooks.remove(placed)
        ]
        if is_own_link(where):
            where.share.unlink()
        where.current.unlink(missing_ok=True)  # first: whoever starts a link now finds the real command
        releases.sweep(where)
        for own in where.own():
            if own.is_dir():
                shutil.rmtree(own)
            else:
                own.unlink(missing_ok=True)
    if spool in receipt.made:
        hooks.swept(Path(spool))
    for folder in sorted(receipt.made, key=len, reverse=True):
        if not remove_empty(Path(folder)):
            left.append(Leftover(folder, "holds other files"))
    return left
