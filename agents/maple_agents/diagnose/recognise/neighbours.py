"""The second voter: whose labelled telling lines a line is most like, by TF-IDF over its masked words and letters.

The lines and their classes are data, `templates/knowledge/lines.idx`, made by `python -m tests.agents.debug.voter
--record`; no number, path or name of a line takes part, for those are masked first.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import zlib
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from maple_submit_filter.host import places

from ..read import bare
from ..read.templates import template

Made = TypeVar("Made")
FILE = "lines.idx"
FOLLOWS = "follows"  # in place of a class: words that only follow a death; those of good runs have "none"
LONGEST = 240  # characters of a line that are compared
NEAREST = 7  # lines that vote
COMMON = 0.03  # share of all lines from which a feature tells nothing that is worth its time
LETTERS = 4
_PATH = re.compile(r"(?:[\w.~-]*/)+([\w.-]*)")
_LONG = re.compile(r"\b[A-Za-z]*\d\w*\b")
_WORD = re.compile(r"[a-z_]{2,}|(?<=[ (=:])-?\d{1,3}\b")


@dataclass(frozen=True, slots=True)
class Vote:
    """What the nearest lines say. *cause*: a class, "follows" or "none"; *likeness*: of the nearest line that says so,
    0 to 1; *share*: of the votes; *second*: the next class, "" for none.
    """

    cause: str
    likeness: float
    share: float
    second: str = ""

    @property
    def strength(self) -> float:
        """How much the vote weighs: alike, and undisputed."""
        return self.likeness * self.share


@dataclass(frozen=True, slots=True)
class Index:
    """Labelled lines by their features. *numbers*: sorted; the lines of feature i are *lines[starts[i]:starts[i + 1]]*.

    *lengths*: one over the length of each line's vector; *labels*: of each line its place in *names*.
    """

    names: tuple[str, ...]
    labels: array[int]
    lengths: array[float]
    numbers: array[int]
    starts: array[int]
    lines: array[int]

    def weight(self, at: int) -> float:
        """Return what feature *at* weighs: the rarer, the more."""
        return 1.0 + math.log(len(self.labels) / (self.starts[at + 1] - self.starts[at]))

    def likenesses(self, text: str) -> dict[int, float]:
        """Return how like *text* each line is that shares a feature with it, 0 to 1."""
        dots: dict[int, float] = defaultdict(float)
        length = 0.0
        for number in set(features(text)):
            at = bisect_left(self.numbers, number)
            if at == len(self.numbers) or self.numbers[at] != number:
                length += 1.0  # a word that no line knows makes it less like all of them
                continue
            weight = self.weight(at) ** 2
            length += weight
            for line in self.lines[self.starts[at] : self.starts[at + 1]]:
                dots[line] += weight
        scale = 1.0 / math.sqrt(length) if length else 0.0
        return {line: dot * scale * self.lengths[line] for line, dot in dots.items()}

    def vote(self, text: str, counts: Callable[[int], bool] = lambda _: True) -> Vote | None:
        """Return what the nearest of the lines that *counts* say of *text*, None where none is like it."""
        alike = [(likeness, line) for line, likeness in self.likenesses(text).items() if counts(line)]
        nearest = sorted(alike, key=lambda row: (-row[0], row[1]))[:NEAREST]
        votes: Counter[str] = Counter()
        best: dict[str, float] = {}
        for likeness, line in nearest:
            name = self.names[self.labels[line]]
            votes[name] += likeness**4  # type: ignore[assignment]  # the nearest one has most to say
            best.setdefault(name, likeness)
        if not votes:
            return None
        (first, weight), *others = votes.most_common(2)
        return Vote(first, best[first], weight / sum(votes.values()), others[0][0] if others else "")


def masked(text: str) -> str:
    """Return the words of a cleaned line as they are compared: no prefix, path or number in them, small letters."""
    words = template(bare(text)[:LONGEST])
    return _LONG.sub(" ", _PATH.sub(r" \1 ", words)).lower()


def features(text: str) -> list[int]:
    """Return the features of a line as numbers: its words, pairs of them, and pieces of four letters."""
    words = _WORD.findall(" " + masked(text))
    named = [*words, *(f"{word} {other}" for word, other in zip(words, words[1:]))]
    pieces = [f"~{padded[at : at + LETTERS]}" for word in words if len(word) >= LETTERS
              for padded in (f"<{word}>",) for at in range(len(padded) - LETTERS + 1)]  # fmt: skip
    return [zlib.crc32(name.encode()) for name in (*named, *pieces)]


def indexed(lines: Sequence[tuple[str, str]]) -> Index:
    """Return an index of *lines*, pairs of text and class, in their order."""
    names = tuple(sorted({label for _, label in lines}))
    of_lines = [set(features(text)) for text, _ in lines]
    count = Counter(number for row in of_lines for number in row)
    numbers = sorted(number for number, seen in count.items() if seen <= max(3, COMMON * len(lines)))
    kept: dict[int, list[int]] = {number: [] for number in numbers}
    for line, row in enumerate(of_lines):
        for number in row:
            if number in kept:
                kept[number].append(line)
    starts = array("I", [0])
    for number in numbers:
        starts.append(starts[-1] + len(kept[number]))
    made = Index(
        names, array("B", (names.index(label) for _, label in lines)), array("f", [0.0] * len(lines)),
        array("I", numbers), starts, array("H", (line for number in numbers for line in kept[number])),
    )  # fmt: skip
    squares = [0.0] * len(lines)
    for at, number in enumerate(numbers):
        for line in kept[number]:
            squares[line] += made.weight(at) ** 2
    for line, square in enumerate(squares):
        made.lengths[line] = 1.0 / math.sqrt(square) if square else 0.0
    return made


# The file: the length of its head, a head in JSON (names of classes, length of each array), the arrays, all packed.

_ARRAYS = (("labels", "B"), ("lengths", "f"), ("numbers", "I"), ("starts", "I"), ("lines", "H"))


def packed(index: Index) -> bytes:
    """Return *index* as the bytes of its file."""
    rows = [getattr(index, name) for name, _ in _ARRAYS]
    head = json.dumps({"names": index.names, "counts": [len(row) for row in rows]}).encode()
    return zlib.compress(len(head).to_bytes(4, "little") + head + b"".join(map(_little, rows)), 9)


def unpacked(data: bytes) -> Index:
    """Return the index whose file holds *data*. Raises `ValueError` where it holds none."""
    try:
        data = zlib.decompress(data)
        end = 4 + int.from_bytes(data[:4], "little")
        head = json.loads(data[4:end])
        return Index(tuple(head["names"]), *_arrays(data, end, head["counts"]))
    except (zlib.error, KeyError, TypeError, ValueError) as error:
        raise ValueError("no index of telling lines: %s" % error) from None


def _arrays(data: bytes, at: int, counts: Iterable[int]) -> Iterable[array]:  # type: ignore[type-arg]
    for (_, code), count in zip(_ARRAYS, counts, strict=True):
        row = array(code)
        row.frombytes(data[at : at + count * row.itemsize])
        at += count * row.itemsize
        yield _swapped(row)


def _little(row: array) -> bytes:  # type: ignore[type-arg]
    return _swapped(row).tobytes()


def _swapped(row: array) -> array:  # type: ignore[type-arg]
    if sys.byteorder == "little":
        return row
    row = row[:]
    row.byteswap()
    return row


def learnt(name: str, read: Callable[[bytes], Made], kind: str = "knowledge") -> Made | None:
    """Return what *read* makes of the first file of that name beside the entries in force, None where none is one.

    *kind*: the folder of the templates that it lies in.
    *read* raises `ValueError` for what it cannot read.
    """
    for folder in places.folders(os.path.join("templates", kind)):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                return read(file.read())
        except (OSError, ValueError):
            continue
    return None


@cache
def in_force() -> Index | None:
    """Return the index of the templates in force, None where there is none that can be read: then nobody votes."""
    return learnt(FILE, unpacked)


def vote(text: str) -> Vote | None:
    """Return what the labelled lines in force say of a line of a log."""
    index = in_force()
    return index.vote(text) if index is not None else None


__all__ = ["FOLLOWS", "Index", "Vote", "features", "in_force", "indexed", "learnt", "packed", "unpacked", "vote"]
