"""Versions of a job: the lineage of a submission, what it was made from, and what of it need not be read again.

Values in, values out. A lineage is one job of one user's through all its edits; every version in it but the first has
one parent. Arrays and sweeps (one script, other words or variables) are one lineage.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Part, Value, Version

from .sections import REQUESTED, last_read

LIKE = 0.5  # of the lines that either script has: if both have these, one is taken for a copy of the other
FILES = ("program", "config", "requirements")
AROUND = ("argv", "variables")  # of the submit command


class SubmittedJob(NamedTuple):
    """A submission as it may be kept: secrets masked, hashes of what came.

    *named*: the user gave the job its name. *partition*: as said, "" for none. *reader*: hash of the code that reads.
    """

    uid: int
    scheduler: str
    path: str
    name: str
    named: bool
    cwd: str
    argv: tuple[str, ...]
    script: bytes
    script_hash: str
    parts: tuple[Part, ...]
    partition: str = ""
    reader: str = ""


_OF_LINE, _OF_ROW = 64, 400  # bytes of a hash in a set, of a part or value with its hashes


class Known(NamedTuple):
    """A version without its script. *lines*: hashes of the script's lines; *above*: of all down to a part's end."""

    version: Version
    lines: frozenset[int]
    above: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        version = self.version
        words = (version.path, version.cwd, *version.argv, *(text for value in version.values for text in value[:3]))
        rows = len(version.parts) + len(version.values) + len(self.above)
        return 2048 + sum(map(len, map(str, words))) + _OF_LINE * len(self.lines) + _OF_ROW * rows


class Reuse(NamedTuple):
    """*values* of parts that need not be read again; *same*: those parts; *again*: the parts to read."""

    values: tuple[Value, ...]
    same: tuple[Part, ...]
    again: tuple[Part, ...]


def version_id(job: SubmittedJob | Version) -> str:
    """Return the id of a state of a job: of the user, the scheduler, the content, the words and the variables.

    Files are left out: of a version whose files are others than those it was first seen with, it is the first one's.
    """
    made = hashlib.sha256()
    words = [part.hash for part in job.parts if part.kind in AROUND]
    for word in (str(job.uid), job.scheduler, job.script_hash, *words):
        made.update(b"%d:%s" % (len(word), word.encode()))
    return made.hexdigest()[:32]


def id_with_files(version: str, parts: Iterable[Part]) -> str:
    """Return the id of a version whose files are these, where it had others before."""
    files = sorted("%s %s %s" % (part.kind, part.name, part.hash) for part in parts if part.kind in FILES)
    return hashlib.sha256("\n".join((version, *files)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def version_of(job: SubmittedJob, known: Sequence[Known], at: float) -> Version:
    """Return the version that a submission is: one that is known, or a new one of a known lineage or of its own.

    *known*: of the same user, the newest first.
    """
    own = version_id(job)
    mine = [entry for entry in known if entry.version.uid == job.uid and entry.version.scheduler == job.scheduler]
    for entry in mine:
        if entry.version.id == own:
            return entry.version._replace(script=job.script)
    parent = parent_of(job, mine)
    return Version(
        own, parent.lineage if parent else own, parent.id if parent else "", job.uid, at, job.scheduler, job.path,
        job.name, job.cwd, job.argv, job.script, job.script_hash, job.parts, (), job.reader,
    )  # fmt: skip


def parent_of(job: SubmittedJob, known: Sequence[Known]) -> Version | None:
    """Return the version that a submission was made from, None where it is the first of its job.

    Of the first of these that there are: the same script, path and name, name and work dir, similar scripts. Of several
    the most similar one, and of those the newest. Scripts that lie beside each other are jobs of their own, however
    similar: whoever varies one line keeps a file for each.
    """
    lines = lines_of(job.script)
    for is_one in (_same_script, _same_path, _same_place):
        knowns = [entry for entry in known if is_one(job, entry.version)]
        if knowns:
            lineage = _nearest(lines, knowns).version.lineage
            return _nearest(lines, [entry for entry in known if entry.version.lineage == lineage]).version
    alike = [entry for entry in known if not _stands_beside(job, entry.version)]
    nearest = _nearest(lines, alike) if alike and lines else None
    return nearest.version if nearest and similarity(lines, nearest.lines) >= LIKE else None


def _same_script(job: SubmittedJob, version: Version) -> bool:
    return job.script_hash == version.script_hash


def _same_path(job: SubmittedJob, version: Version) -> bool:
    return bool(job.path) and (job.path, job.name) == (version.path, version.name)


def _same_place(job: SubmittedJob, version: Version) -> bool:
    """A name that the scheduler made up says nothing: every job that came by `--wrap` is called wrap."""
    return job.named and (job.name, job.cwd) == (version.name, version.cwd)


def _stands_beside(job: SubmittedJob, version: Version) -> bool:
    here, there = os.path.split(job.path), os.path.split(version.path)
    return bool(job.path and version.path) and here[0] == there[0] and here[1] != there[1]


def _nearest(lines: frozenset[int], known: Sequence[Known]) -> Known:
    return max(known, key=lambda entry: (similarity(lines, entry.lines), entry.version.at))


def known_of(version: Version) -> Known:
    """Return a version as it is compared with others."""
    return Known(version._replace(script=b""), lines_of(version.script), above(version.script, version.parts))


def lines_of(script: bytes) -> frozenset[int]:
    """Return the lines that say something, by their hashes; these hold in this process only."""
    lines = (line.strip() for line in script.split(b"\n"))
    return frozenset(hash(line) for line in lines if line and not (line.startswith(b"#") and line[:2] == b"#!"))


def similarity(lines: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of lines that both have: 0 none, 1 all."""
    return len(lines & other) / len(lines | other) if lines or other else 1.0


def reuse(job: SubmittedJob, known: Iterable[Known]) -> Reuse:
    """Return what earlier versions of the user tell of parts that are as they were, and which parts to read.

    What the same code read of the same content holds. Of a piece of the script it holds only if everything above it,
    the words and the variables of the submit command are the same too: bash has seen those before.
    """
    same, again, values = [], [], []  # type: tuple[list[Part], list[Part], list[Value]]
    over = above(job.script, job.parts)
    candidates = [entry for entry in known if entry.version.reader == job.reader and entry.version.uid == job.uid]
    for part in job.parts:
        before = next((candidate for candidate in candidates if _holds(part, job, over, candidate)), None)
        (again if before is None else same).append(part)
        if before is not None:
            was = next(old for old in before.version.parts if (old.kind, old.hash) == (part.kind, part.hash))
            values += [
                value
                for value in before.version.values
                if is_from(value, was, before.version.parts) and is_from(value, part, job.parts)
            ]
    return Reuse(tuple(values), tuple(same), tuple(again))


def is_from(value: Value, part: Part, parts: Sequence[Part]) -> bool:
    """Return whether a value hangs on that part: a file it stands in, a directive, else the last piece and all above.

    Wherever it stands, what the job as a whole does is known where the harmless end of its script begins.
    """
    if part.kind in FILES or value.name in REQUESTED:
        return value.part == part.hash
    return part == last_read(parts) and not any(other.hash == value.part for other in parts if other.kind in FILES)


def _holds(part: Part, job: SubmittedJob, over: Mapping[str, bytes], known: Known) -> bool:
    if (part.kind, part.name, part.hash) not in _content(known.version.parts, (part.kind,)):
        return False
    if part.kind in FILES:
        return True
    if part.kind in AROUND and job.script_hash != known.version.script_hash:
        return False  # what a word means, the script says
    last, was = last_read(job.parts), last_read(known.version.parts)
    if part == last and (was is None or (was.kind, was.hash) != (last.kind, last.hash)):
        return False  # what the job does was known elsewhere
    around = _content(job.parts, AROUND) == _content(known.version.parts, AROUND)
    return around and over.get(part.hash) == known.above.get(part.hash)


def _content(parts: Sequence[Part], kinds: Sequence[str]) -> set[tuple[str, str, str]]:
    return {(part.kind, part.name, part.hash) for part in parts if part.kind in kinds}


def above(script: bytes, parts: Iterable[Part]) -> Mapping[str, bytes]:
    """Return the hash of the script's beginning down to the last line of each of its parts, by the part's hash."""
    lines = script.split(b"\n")
    hashes = {}
    for part in parts:
        if part.kind not in FILES and part.kind not in AROUND:
            hashes[part.hash] = hashlib.sha256(b"\n".join(lines[: part.lines[1]])).digest()
    return hashes


def with_files(
    version: Version, base: str, parts: Iterable[Part], values: Iterable[Value], at: float,
    read: Iterable[str] | None = None,
) -> Version:  # fmt: skip
    """Return the version with what was read of the user's files: a new one if it had others. *base*: its first id.

    *read*: hashes of the files that were read for it, None: all of them; of others the values were known.
    """
    files = tuple(part for part in parts if part.kind in FILES)
    before = tuple(part for part in version.parts if part.kind in FILES)
    if same_files(files, before):
        return version
    own = tuple(part for part in version.parts if part.kind not in FILES)
    hashes = {file.hash for file in files}  # what the script says is read of the script, by whom it may be used again
    kept = [value for value in version.values if value.part in {part.hash for part in own}]
    merged = tuple(dict.fromkeys((*kept, *(value for value in values if value.part in hashes))))
    again = " ".join(sorted(hashes.intersection(read) if read is not None else hashes))
    if not before:
        again = " ".join(filter(None, (version.read, again)))
        return version._replace(parts=own + files, values=merged, read=again)
    made = id_with_files(base, files)
    return version._replace(id=made, parent=version.id, at=at, parts=own + files, values=merged, read=again)


def same_files(parts: Sequence[Part], other: Sequence[Part]) -> bool:
    """Return whether both have the same files with the same content."""
    return _content(parts, FILES) == _content(other, FILES)
