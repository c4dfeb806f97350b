"""Which files a script's redirections write to, as patterns to look for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from maple_submit_filter.play.compound import MOST_ROUNDS
from maple_submit_filter.types.text import NUL, Text

from . import name_patterns
from .name_patterns import ANY, Path, Wild, joined
from .script_outputs import SUBMITTED_TOKEN, TASK_TOKEN, Played, Written

Role = Literal["stdout", "stderr", "both", "rank", "error-file", "trace", "scheduler"]


class Sought(NamedTuple):
    """A file to look for. *about*: why. *named*: the script names this very file, so its absence tells something.

    *shared*: other jobs may write to its like at the same time, so it counts only where nothing else is there. *alone*:
    the like of it may be another job's, so of several that fit none counts.
    """

    path: Path
    role: Role
    about: str
    named: bool = False
    shared: bool = False
    alone: bool = False


class Facts(NamedTuple):
    """What of a job goes into names of files. *values*: Slurm's signs."""

    scheduler: str
    job: str
    nodes: tuple[str, ...]
    work_dir: str
    values: Mapping[str, str]


def redirected(played: Played, facts: Facts) -> Iterator[Sought]:
    """Yield the files that commands of the script are redirected to."""
    for one in played.written:
        yield from _written(one, facts)
    yield from _of_more_rounds(played.written, facts)


def _written(one: Written, facts: Facts) -> Iterator[Sought]:
    path = pieces(one.path, facts)
    if name_patterns.text(path).startswith("/dev/"):
        return
    place = seen_from(one.cwd, path, facts)
    where = "line %d of the script writes to it" % one.line
    if place is None:
        where = "line %d of the script writes to %s" % (one.line, name_patterns.text(path))
        yield Sought((), one.role, where, named=True)
        return
    yield Sought(place, one.role, where, named=True, alone=SUBMITTED_TOKEN in one.path.raw)


def _of_more_rounds(written: tuple[Written, ...], facts: Facts) -> Iterator[Sought]:
    """A loop is not played to its end: files of further rounds are called like those of the first, but for a number."""
    lines: dict[tuple[int, Role], list[Written]] = {}
    for one in written:
        lines.setdefault((one.line, one.role), []).append(one)
    for (line, role), many in lines.items():
        if len(many) < MOST_ROUNDS:
            continue
        names = [name_patterns.text(pieces(one.path, facts)) for one in many if one.path.literal]
        head, tail = os.path.commonprefix(names), os.path.commonprefix([name[::-1] for name in names])[::-1]
        head, tail = head.rstrip("0123456789"), tail.lstrip("0123456789")
        middles = [name[len(head) : len(name) - len(tail)] for name in names]
        if len(names) == len(many) and all(middle.isdigit() for middle in middles):
            place = seen_from(many[0].cwd, joined((head, Wild("", True), tail)), facts)
            if place is not None:
                yield Sought(place, role, "line %d of the script writes to it" % line)


def seen_from(cwd: Text | None, path: Path, facts: Facts) -> Path | None:
    """Return *path* seen from *cwd*; None where nobody knows where it begins, or too little of it to look for it."""
    if not path or path[0] == ANY:
        return None
    if not (isinstance(path[0], str) and path[0].startswith("/")):
        folder = pieces(cwd, facts) if cwd is not None and cwd.raw else (facts.work_dir,) if facts.work_dir else ()
        path = joined((*folder, "/", *path)) if folder else path
    first, *names = name_patterns.components(path)
    begins = first == () and names[:1] != [] and name_patterns.is_known(names[0])
    return path if begins and names[-1] != (ANY,) else None


def pieces(text: Text, facts: Facts) -> Path:
    """Return the pieces of a text that may hold tokens: what the scheduler gave is filled in."""
    out: list[name_patterns.Piece] = []
    for index, part in enumerate(text.raw.split(NUL)):
        out.append(os.fsdecode(part) if index % 2 == 0 else _token(part, facts))
    return joined(out)


def _token(part: bytes, facts: Facts) -> name_patterns.Piece:
    """Return what a token stands for. A node's name is open: only some nodes of a large job are played."""
    kind, _, name = part.partition(b":")
    if kind == b"job" and facts.job:
        return facts.job
    if kind in (b"host", b"name", b"some") or (kind == b"vary" and name.startswith(b"hostname")):
        return Wild("node")
    if name.startswith(TASK_TOKEN):
        what = name[len(TASK_TOKEN) :].decode()
        return Wild(what, what != "node")
    return ANY
