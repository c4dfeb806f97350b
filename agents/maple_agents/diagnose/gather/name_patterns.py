"""Patterns of file names: what is known of them is filled in, the rest is looked up in the folder.

A path is a sequence of pieces: text that stands for itself, and `Wild` where something is not known, or differs by
rank or node.

From patterns to files that are there: regular ones, changed while the job ran, and never more than can be read.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Union

MOST_ENTRIES = 50_000  # names in folders that are looked at, for one job
MOST_FOUND = 4_000
SLACK = 120.0  # seconds: clocks of nodes and file servers differ, and last lines are written late


class Wild(NamedTuple):
    """Text that is not known. *name*: what it tells when found: "rank", "local", "node", "place" (of the node in the
    job), "attempt", "step", or "any", which may be a node's name.
    """

    name: str = ""
    digits: bool = False


Piece = Union[str, Wild]
Path = tuple[Piece, ...]

ANY = Wild("any")
NO_INDEX = "4294967294"  # what Slurm writes for the index of a job that is no array
_SIGN = re.compile(r"%(\d{0,10})([A-Za-z%])", re.ASCII)
_NUMBERS = "jJAats"
_STEP = r"(?:\d[\d.+]*|batch|extern|interactive)"
_OF_TASKS: Mapping[str, Wild] = {
    "t": Wild("rank", True),
    "n": Wild("place", True),
    "N": Wild("node"),
    "s": Wild("step"),
    "j": Wild("", True),  # a task of an array and a part of a heterogeneous job have a number that is not told always
    "J": Wild("step"),  # job.step
    "b": Wild("", True),
}


def slurm_values(job: str, name: str, user: str, array: str, index: int | None) -> dict[str, str]:
    """Return what sbatch(1), "filename pattern", calls the facts that a job has as a whole."""
    values = {
        "j": job, "A": array or job, "a": NO_INDEX if index is None else str(index), "x": name, "u": user, "%": "%",
    }  # fmt: skip
    return {sign: value for sign, value in values.items() if value}


def of_batch(values: Mapping[str, str], nodes: tuple[str, ...]) -> dict[str, str]:
    """Return the values in the output of a batch script (measured on 22.05): it is task 0 on the first node."""
    first = {"N": nodes[0].partition(".")[0]} if nodes else {}
    own = {"J": values["j"]} if "j" in values else {}
    return {**values, **first, **own, "t": "0", "n": "0", "s": "batch"}


def slurm(pattern: str, values: Mapping[str, str]) -> Path:
    """Return the pieces of Slurm's *pattern*. A backslash in it switches all signs off.

    A number between `%` and the letter is the least width of a number.
    """
    if "\\" in pattern:
        return (pattern.replace("\\", ""),)
    return _pieces(pattern, _SIGN, lambda match: _slurm_sign(match, values))


def by_task(pattern: str) -> bool:
    """Return whether each task, or each node, writes a file of its own: it opens it in the folder where it runs."""
    return "\\" not in pattern and any(match[2] in "tnN" for match in _SIGN.finditer(pattern))


def _slurm_sign(match: re.Match[str], values: Mapping[str, str]) -> Path:
    width, sign = min(int(match[1] or 0), 10), match[2]
    if sign in values:
        value = values[sign]
        return (value.rjust(width, "0") if sign in _NUMBERS and value.isdigit() else value,)
    if sign == "J" and "j" in values:
        return (values["j"] + ".", _OF_TASKS["s"])  # job.step
    return (_OF_TASKS.get(sign, match[0]),)


def _pieces(text: str, sign: re.Pattern[str], piece: Callable[[re.Match[str]], Path]) -> Path:
    out: list[Piece] = []
    at = 0
    for match in sign.finditer(text):
        out += [text[at : match.start()], *piece(match)]
        at = match.end()
    return joined([*out, text[at:]])


def hydra(pattern: str) -> Path:
    """Return the pieces of `-outfile-pattern` (Hydra 4.0: %r rank, %g process group, %p proxy, %h host)."""
    wild = {"r": Wild("rank", True), "g": Wild("", True), "p": Wild("place", True), "h": Wild("node")}
    return _pieces(pattern, re.compile("%([rgph])"), lambda match: (wild[match[1]],))


def nccl(pattern: str) -> Path:
    """Return the pieces of NCCL_DEBUG_FILE: %h is the host, %p the process."""
    wild = {"h": Wild("node"), "p": Wild("", True)}
    return _pieces(pattern, re.compile("%([hp])"), lambda match: (wild[match[1]],))


def joined(pieces: Iterable[Piece]) -> Path:
    """Return the pieces with neighbouring texts as one, and empty ones left out."""
    out: list[Piece] = []
    for piece in pieces:
        last = out[-1] if out else None
        if isinstance(piece, str) and isinstance(last, str):
            out[-1] = last + piece
        elif piece != "":
            out.append(piece)
    return tuple(out)


def below(folder: str, path: Path) -> Path:
    """Return *path* as seen from *folder*, unless it begins at the root."""
    if path and isinstance(path[0], str) and path[0].startswith("/"):
        return path
    return joined((folder.rstrip("/") + "/", *path)) if folder else path


def is_known(path: Path) -> bool:
    """Return whether nothing of it is open."""
    return all(isinstance(piece, str) for piece in path)


def text(path: Path) -> str:
    """Return the path for people; what is open is a star."""
    return "".join(piece if isinstance(piece, str) else "*" for piece in path)


def components(path: Path) -> Iterator[Path]:
    """Yield the names between the slashes; the empty one before a leading slash is the root."""
    current: list[Piece] = []
    for piece in path:
        if isinstance(piece, Wild):
            current.append(piece)
            continue
        first, *rest = piece.split("/")
        current.append(first)
        for name in rest:
            yield joined(current)
            current = [name]
    yield joined(current)


def expression(name: Path) -> re.Pattern[str]:
    """Return what matches a file's name, with a group for each thing that is told: `rank`, `node` and so on."""
    seen: set[str] = set()
    out = ""
    for piece in name:
        if isinstance(piece, str):
            out += re.escape(piece)
            continue
        inside = r"\d+" if piece.digits else _STEP if piece.name == "step" else r"[^/]*?"
        out += "(?P<%s>%s)" % (piece.name, inside) if piece.name and piece.name not in seen else "(?:%s)" % inside
        seen.add(piece.name)
    return re.compile(out, re.DOTALL)


class Window(NamedTuple):
    """When the job ran, as far as it is known. *owner*: only files that this user may read count; None: all."""

    start: float | None = None
    end: float | None = None
    owner: int | None = None

    def fits(self, facts: os.stat_result) -> bool:
        """Return whether a file was last changed while the job ran, and may be shown to its owner."""
        return not self.too_old(facts) and not self.too_new(facts) and self.allows(facts)

    def too_old(self, facts: os.stat_result) -> bool:
        """Return whether the file was finished before the job began."""
        return self.start is not None and facts.st_mtime < self.start - SLACK

    def too_new(self, facts: os.stat_result) -> bool:
        """Return whether somebody wrote to the file after the job."""
        return self.end is not None and facts.st_mtime > self.end + SLACK

    def allows(self, facts: os.stat_result) -> bool:
        """Return whether the job's owner may read the file: root must not be led to another's by a link."""
        return self.owner is None or facts.st_uid == self.owner or bool(facts.st_mode & 0o004)


class FoundFile(NamedTuple):
    """A regular file, with what its name tells."""

    path: str
    facts: os.stat_result
    values: Mapping[str, str]


@dataclass
class Walk:
    """Looks into folders; *left* is how many names it may still look at."""

    left: int = MOST_ENTRIES
    unreadable: list[str] = field(default_factory=list)

    def files(self, path: Path) -> Iterator[FoundFile]:
        """Yield the regular files that *path* may mean, whenever they were changed. Links to such files count."""
        if is_known(path):
            status = regular("".join(str(piece) for piece in path))
            if status is not None:
                yield FoundFile("".join(str(piece) for piece in path), status, {})
            return
        names = list(components(path))
        count = 0
        for name, values in self._below("/" if names[0] == () else ".", names[names[0] == () :], {}):
            facts = regular(name)
            if facts is not None:
                yield FoundFile(name, facts, values)
                count += 1
            if count >= MOST_FOUND:
                return

    def _below(self, folder: str, names: list[Path], values: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
        first, *rest = names
        if is_known(first):
            here = os.path.join(folder, *(str(piece) for piece in first)) if first else folder
            places = [(here, dict(values))]
        else:
            places = self._matching(folder, first, values)
        for path, caught in places:
            if rest:
                yield from self._below(path, rest, caught)
            else:
                yield path, caught

    def _matching(self, folder: str, name: Path, values: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
        """Return what lies in *folder* under such a name, sorted. Hidden files are not meant by an open beginning."""
        wanted = expression(name)
        hidden = isinstance(name[0], str)
        out = []
        for entry in self._names(folder):
            match = wanted.fullmatch(entry) if hidden or not entry.startswith(".") else None
            if match:
                caught = {key: value for key, value in match.groupdict().items() if value}
                out.append((os.path.join(folder, entry), {**values, **caught}))
        return sorted(out)

    def _names(self, folder: str) -> list[str]:
        out: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self.left <= 0:
                        break
                    self.left -= 1
                    out.append(entry.name)
        except OSError as error:
            if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                self.unreadable.append("%s: %s" % (folder, (error.strerror or "cannot be read").lower()))
        return out


def regular(path: str) -> os.stat_result | None:
    """Return the facts of a regular file, None for anything else or nothing."""
    with contextlib.suppress(OSError, ValueError):
        facts = os.stat(path)
        return facts if stat.S_ISREG(facts.st_mode) else None
    return None
