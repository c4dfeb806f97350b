"""Which lines of a file are looked at: its beginning and its end, and whatever stands near a telling word.

A block with few hits is taken line by line. Where hits come thick, lines are told apart by a fingerprint that numbers
do not change, for all lines at once; what was seen often is only counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .limits import Limits
from .literals import Found, Search, Sort

THICK = 200  # hits in a block
DIGITS = b"0123456789"
SAMPLES = 4  # lines of a block by which the unseen ones are judged
LATE = 1000  # lines kept of what comes after a file's share is used up
KNOWN = 200_000  # fingerprints remembered
AFTER = {Sort.WORD: 3, Sort.FRAME: 3, Sort.OPENS: 6, Sort.ANCHOR: 3}
Ints = NDArray[np.int64]


def _letters() -> NDArray[np.uint64]:
    """A random number for each letter; digits and the letters of hexadecimal numbers weigh nothing."""
    weights = np.random.default_rng(20251121).integers(1, 2**62, 256, dtype=np.uint64)
    weights[[*DIGITS, *b"abcdef", *b" -.\r\n"]] = 0
    return weights


LETTERS = _letters()


class Kept(NamedTuple):
    """A line to look at. *sort*: why, None for a neighbour; *key*: equal for lines that differ by numbers alone."""

    number: int
    raw: bytes
    sort: Sort | None
    key: int


@dataclass
class More:
    """Lines that say what a kept one says, and were only counted."""

    count: int = 0
    last: int = 0
    ranks: set[int] = field(default_factory=set)


@dataclass
class Rows:
    """The lines of a block as rows: where each one begins and ends."""

    data: bytes
    first: int
    starts: Ints
    ends: Ints

    def raw(self, row: int) -> bytes:
        return self.data[self.starts[row] : self.ends[row]]


def rows(data: bytes, first: int) -> Rows:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
    if data and not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1)) if len(ends) else ends
    return Rows(data, first, starts, ends)


@dataclass
class Chosen:
    """Chooses lines block by block; `lines` gives them when all blocks are through."""

    search: Search
    limits: Limits
    total: int = 0  # lines seen
    more: dict[int, More] = field(default_factory=dict)
    samples: list[Kept] = field(default_factory=list)
    _kept: dict[int, Kept] = field(default_factory=dict)
    _late: deque[Kept] = field(default_factory=lambda: deque(maxlen=LATE))
    _seen: dict[int, int] = field(default_factory=dict)
    _sorts: dict[int, Sort | None] = field(default_factory=dict)
    _bytes: int = 0
    _thick: bool = False
    _recent: deque[tuple[Rows, dict[int, int]]] = field(default_factory=lambda: deque(maxlen=2))

    def block(self, data: bytes, skipped: int = 0) -> None:
        """Look at the next block; *skipped* lines before it were not read."""
        self.total += skipped
        here = rows(data, self.total + 1)
        self._recent.append((here, {}))
        if here.first <= self.limits.head:
            self._region(here, range(min(len(here.ends), self.limits.head + 1 - here.first)))
        if not self._thick or not self._by_fingerprint(here):
            self._by_hits(here)
        self._sample(here)
        self.total += len(here.ends)

    def lines(self) -> list[Kept]:
        """Return the chosen lines in order, those at the end of the file among them."""
        left = self.limits.tail
        for here, dropped in reversed(self._recent):
            took = min(left, len(here.ends))
            for row in range(len(here.ends) - took, len(here.ends)):
                self._uncount(dropped.pop(here.first + row, None))
            self._region(here, range(len(here.ends) - 1, len(here.ends) - took - 1, -1))
            left -= took
        self._recent.clear()
        for one in self._late:
            self._kept.setdefault(one.number, one)
        return [self._kept[number] for number in sorted(self._kept)]

    def _uncount(self, key: int | None) -> None:
        if key is not None:
            self.more[key].count -= 1

    def _region(self, here: Rows, wanted: range) -> None:
        """Keep all *wanted* rows, within the bytes that an end of a file may have."""
        left = self.limits.ends
        for row in wanted:
            raw = self._cut(here.raw(row))
            left -= len(raw)
            if left < 0:
                break
            number = here.first + row
            self._kept[number] = Kept(number, raw, self.search.sort(raw.lower()), _key(raw))

    def _by_hits(self, here: Rows) -> None:
        found = self.search(here.data.lower())
        if len(found) > THICK:
            self._thick = True
            self._by_fingerprint(here, found)
            return
        sorts = self._row_sorts(here, found)
        for row in sorted(sorts):
            self._near(here, row, sorts[row], sorts, None)

    def _row_sorts(self, here: Rows, found: Found) -> dict[int, Sort]:
        if not found:
            return {}
        places = np.searchsorted(here.ends, np.fromiter((start for _, start, _ in found), np.int64, len(found)))
        sorts: dict[int, Sort] = {}
        for row, (literal, _, _) in zip(places.tolist(), found, strict=True):
            sort = self.search.sorts[literal]
            if sorts.get(row, -1) < sort:
                sorts[row] = sort
        return sorts

    def _by_fingerprint(self, here: Rows, found: Found | None = None) -> bool:
        """Look at rows whose like was not seen often. Return False where it is no longer worth it."""
        prints = _fingerprints(here)
        order = np.argsort(prints, kind="stable")
        ordered = prints[order]
        bounds = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        groups = list(zip(ordered[bounds].tolist(), bounds.tolist(), [*bounds.tolist()[1:], len(order)], strict=True))
        sorts = self._sorts_of(here, groups, order, found)
        near = {}
        hits = 0
        for key, begin, end in groups:
            sort = sorts.get(key)
            if sort is None:
                continue
            hits += end - begin
            left = max(0, self.limits.copies - self._seen.get(key, 0))
            members = order[begin:end]
            near.update(dict.fromkeys(members[:left].tolist(), (sort, key)))
            if left < len(members) and sort != Sort.FRAME:
                self._count(here, key, members[left:].tolist())
        plain = {row: sort for row, (sort, _) in near.items()}
        for row in sorted(near):
            self._near(here, row, near[row][0], plain, prints)
        self._thick = hits > THICK
        return True

    def _sorts_of(
        self, here: Rows, groups: list[tuple[int, int, int]], order: Ints, found: Found | None
    ) -> dict[int, Sort | None]:
        """Return the sort of each fingerprint of the block, looked up where it is not known yet."""
        new = [(key, begin) for key, begin, _ in groups if key not in self._sorts]
        if found is None and len(new) > THICK:
            found = self.search(here.data.lower())
        if found is not None:
            by_row = self._row_sorts(here, found)
            fresh = {key: by_row.get(int(order[begin])) for key, begin in new}
        else:
            fresh = {key: self.search.sort(here.raw(int(order[begin])).lower()) for key, begin in new}
        if len(self._sorts) < KNOWN:
            self._sorts.update(fresh)
        return {key: fresh[key] if key in fresh else self._sorts[key] for key, _, _ in groups}

    def _near(
        self, here: Rows, row: int, sort: Sort, sorts: dict[int, Sort], prints: NDArray[np.uint64] | None
    ) -> None:
        """Keep a hit, the line before it and some behind."""
        for other in range(max(0, row - 1), min(len(here.ends), row + AFTER[sort] + 1)):
            if other == row or other not in sorts:
                key = int(prints[other]) if prints is not None else None
                self._keep(here, other, sort if other == row else None, key)

    def _keep(self, here: Rows, row: int, sort: Sort | None, key: int | None) -> None:
        number = here.first + row
        known = self._kept.get(number)
        if known is not None and (sort is None or known.sort is not None):
            return
        raw = self._cut(here.raw(row))
        key = _key(raw) if key is None else key
        seen = self._seen.get(key, 0)
        if seen >= self.limits.copies:
            if sort is not None and sort != Sort.FRAME:
                self._count(here, key, [row])
            return
        if seen or len(self._seen) < KNOWN:
            self._seen[key] = seen + 1
        self._store(Kept(number, raw, sort, key))

    def _store(self, one: Kept) -> None:
        self._bytes += len(one.raw)
        if len(self._kept) < self.limits.kept and self._bytes < self.limits.bytes:
            self._kept[one.number] = one
        else:
            self._late.append(one)

    def _count(self, here: Rows, key: int, members: list[int]) -> None:
        if key not in self.more and len(self.more) >= KNOWN:
            return
        more = self.more.setdefault(key, More())
        more.count += len(members)
        more.last = here.first + members[-1]
        self._recent[-1][1].update((here.first + row, key) for row in members)

    def _sample(self, here: Rows) -> None:
        count = len(here.ends)
        for row in {count * part // SAMPLES for part in range(SAMPLES)} if count else ():
            raw = self._cut(here.raw(row))
            if here.first + row not in self._kept:
                self.samples.append(Kept(here.first + row, raw, None, 0))

    def _cut(self, raw: bytes) -> bytes:
        """Return the last state of a line that was drawn again and again, and no more of it than is looked at."""
        if len(raw) > self.limits.raw:
            raw = raw.rstrip(b"\r")
            raw = raw[raw.rfind(b"\r") + 1 :][: self.limits.raw + 1]
        return raw


def _fingerprints(here: Rows) -> NDArray[np.uint64]:
    weights = LETTERS[np.frombuffer(here.data, np.uint8)]
    return np.add.reduceat(weights, here.starts)


def _key(raw: bytes) -> int:
    return hash(raw.translate(None, DIGITS))


def gaps(lines: list[Kept]) -> Iterator[tuple[Kept, int]]:
    """Yield each line with how many lines between it and the one before were not kept."""
    before = 0
    for line in lines:
        yield line, line.number - before - 1
        before = line.number
