"""A site's facts as administrators applied them, one revision after the other: beside the releases, never in them.

A release brings facts of its own. What was found out on the cluster outlives it: `front.conf` names the revision in
force, which an update of Maple leaves alone, and going back to an earlier one changes no release. The file that a
revision was made of is kept with it, for the commands that read more of it than a submission does.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import write

from ..refusals import Refused
from . import layout

KEPT = 20  # revisions of a site


class Revision(NamedTuple):
    """*number*: from 1. *revision*: the hash of the site file. *at*: since 1970. *source*: the file it was made of."""

    number: int
    revision: str
    at: float
    source: str


class Revisions(NamedTuple):
    """Those of one site; *folder* need not be there."""

    folder: Path

    @property
    def in_force(self) -> Path:
        """What the helper and the service read."""
        return self.folder / "in-force.json"

    @property
    def log(self) -> Path:
        """What was applied when, and which of it is in force."""
        return self.folder / "revisions.json"

    def file(self, number: int) -> Path:
        """Where a revision is kept."""
        return self.folder / ("%04d.json" % number)

    def written(self, number: int) -> Path:
        """The site file that it was made of."""
        return self.folder / ("%04d.toml" % number)

    @property
    def described(self) -> Path:
        """The site file of the revision in force, where commands look for it by its id."""
        return self.folder / "site_configs" / (self.folder.name + ".toml")


def of(facts: Path, site_id: str) -> Revisions:
    """Return the revisions of a site below the folder *facts*."""
    return Revisions(facts / site_id)


def known(of: Revisions) -> tuple[list[Revision], int]:
    """Return the revisions, the oldest first, and the number of the one in force, 0 for none. Raises `Refused`."""
    try:
        table = json.loads(of.log.read_bytes())
        revisions = [Revision(int(row[0]), str(row[1]), float(row[2]), str(row[3])) for row in table["revisions"]]
        return revisions, int(table["in_force"])
    except FileNotFoundError:
        return [], 0
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise Refused(f"{of.log}: {error}", "put back a saved copy, or take the folder away and apply again") from None


def apply(of: Revisions, site: Site, source: str, written: bytes) -> Revision:
    """Put a site's facts in force and return their revision; one that has the same facts is put in force again.

    *source*: the path of the site file, *written*: its bytes.
    """
    text = json.dumps(write(site), separators=(",", ":")).encode() + b"\n"
    with layout.alone(folder(of)):
        revisions, now = known(of)
        if now and of.in_force.is_file() and of.in_force.read_bytes() == text:
            layout.write(of.written(now), written)  # the same facts may be written, and explained, otherwise
            _describe(of, now)
            return next(revision for revision in revisions if revision.number == now)
        same = next((revision for revision in reversed(revisions) if _bytes(of.file(revision.number)) == text), None)
        if same is not None:  # it was gone back from: no second revision of the same facts
            layout.write(of.written(same.number), written)
            _switch(of, revisions, same.number)
            return same
        made = Revision(
            max((revision.number for revision in revisions), default=0) + 1, site.revision, time.time(), source
        )
        layout.write(of.file(made.number), text)
        layout.write(of.written(made.number), written)
        _switch(of, [*revisions, made], made.number)
    return made


def rollback(of: Revisions, to: int | None = None) -> Revision | None:
    """Put an earlier revision in force and return it; None for 0 and before the first: what the release brought."""
    with layout.alone(folder(of)):
        revisions, now = known(of)
        if not revisions or (not now and to is None):
            raise Refused(f"nothing was applied below {of.folder}", "the facts in force are those of the release")
        before = [revision.number for revision in revisions if revision.number < now]
        wanted = to if to is not None else max(before, default=0)
        if wanted and wanted not in [revision.number for revision in revisions]:
            numbers = ", ".join(str(revision.number) for revision in revisions)
            raise Refused(f"--to {wanted}: there is no such revision", f"there are {numbers}; 0: those of the release")
        _switch(of, revisions, wanted)
    return next((revision for revision in revisions if revision.number == wanted), None)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def folder(of: Revisions) -> Path:
    """Return the folder, made where it is not there; everybody's helper reads it."""
    for path in (of.folder.parent, of.folder, of.described.parent):
        if not path.is_dir():
            path.mkdir(mode=0o755)
            path.chmod(0o755)
    return of.folder


def _switch(of: Revisions, revisions: list[Revision], number: int) -> None:
    """Put one in force, and let go of the oldest ones that are not."""
    while len(revisions) > KEPT:
        oldest = next(revision for revision in revisions if revision.number != number)
        revisions.remove(oldest)
        of.file(oldest.number).unlink(missing_ok=True)
        of.written(oldest.number).unlink(missing_ok=True)
    if number:
        layout.write(of.in_force, of.file(number).read_bytes())
    else:
        of.in_force.unlink(missing_ok=True)
    _describe(of, number)
    table: dict[str, Any] = {"in_force": number, "revisions": [list(revision) for revision in revisions]}
    layout.write_json(of.log, table)


def _describe(of: Revisions, number: int) -> None:
    """Let commands find the file of that revision; without one, and for 0, they find what the release brought."""
    if number and of.written(number).is_file():
        layout.write(of.described, of.written(number).read_bytes())
    else:
        of.described.unlink(missing_ok=True)
