"""What of a script need not be read again when a few of its bytes have changed.

A repair tries one change after the other, and each makes a script that is read anew. Commands at the top level in front
of the change are as they were, and so are those behind it, once reading has come to where one of them began before.
That holds as long as nothing failed: what cannot be read is tried in several ways, and looked at beyond its end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ..types.edits import Span
from .nodes import Item, Literal, Program

LEAST, MOST = 512, 64 * 1024  # bytes of a script that is remembered
_KEPT = 3  # scripts
Cut = Tuple[int, int]  # where reading stood between two commands, no here-document awaited, and how many were read


class Known(NamedTuple):
    """A script that was read, without any failure, and where it can be taken up again."""

    source: bytes
    program: Program
    cuts: Tuple[Cut, ...]


class Part(NamedTuple):
    """Bytes of one script that stand in another, *moved* by so much."""

    start: int
    end: int
    moved: int


class Later(NamedTuple):
    """A command that stands *by* so many bytes further on."""

    item: Item
    by: int


class Items(tuple):  # type: ignore[type-arg]
    """Commands at the top level, of which those that stand elsewhere now are put there when somebody looks at them."""

    all: List[Any]

    def __new__(cls, items: List[Any]) -> Items:
        self = tuple.__new__(cls)
        self.all = items
        return self

    def _at(self, index: int) -> Item:
        item = self.all[index]
        if type(item) is Later:
            item = self.all[index] = _moved(item.item, item.by)
        made: Item = item
        return made

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple([self._at(number) for number in range(*index.indices(len(self.all)))])
        return self._at(index)

    def __iter__(self) -> Iterator[Item]:
        return map(self._at, range(len(self.all)))

    def __contains__(self, item: object) -> bool:
        return item in tuple(self)

    def __add__(self, other: Any) -> Any:
        return tuple(self) + tuple(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))


def items_of(made: List[Any]) -> Tuple[Item, ...]:
    """Return commands that were read or taken over."""
    return Items(made) if any(type(item) is Later for item in made) else tuple(made)


class Stretch(NamedTuple):
    """Commands of a known script, by the numbers of the cuts in front of and behind them, *moved* by so much."""

    first: int
    last: int
    moved: int


class Reuse(NamedTuple):
    """What of a known script stands in another: a stretch for each place there at which one may begin."""

    known: Known
    begins: Dict[int, Stretch]

    def take(self, at: int, items: List[Any], cuts: List[Cut]) -> int:
        """Add what was read from *at* on to *items* and *cuts*, and return where reading goes on."""
        first, last, moved = self.begins[at]
        places, count = _places(self.known), len(items)
        start, (end, behind) = places[first][1], places[last]
        held = self.known.program.items
        taken = (held.all if type(held) is Items else held)[start:behind]
        items += [_later(item, moved) for item in taken] if moved else taken
        cuts += [(place + moved, index - start + count) for place, index in places[first:last]]
        return end + moved


def _later(item: Any, by: int) -> Later:
    return Later(item.item, item.by + by) if type(item) is Later else Later(item, by)


def _places(known: Known) -> Tuple[Cut, ...]:
    """Return the cuts, the end of the script included."""
    return (*known.cuts, (len(known.source), len(known.program.items)))


_recent: List[Known] = []


def remember(known: Known) -> None:
    """Keep a script for the next one."""
    _recent.insert(0, known)
    del _recent[_KEPT:]


def recall(source: bytes) -> Optional[Known]:
    """Return the very script, if it was read lately."""
    return next((known for known in list(_recent) if known.source == source), None)


def reusable(source: bytes) -> Optional[Reuse]:
    """Return what can be taken over from the script that was read last."""
    return _between(_recent[0], source) if _recent else None


def _between(known: Known, source: bytes) -> Optional[Reuse]:
    """A stretch begins behind the first byte of what is the same, and ends in front of its last one.

    Where both scripts end with it, to their end: the last command of one alone may go on in the other.
    """
    places = [cut[0] for cut in _places(known)]
    begins: Dict[int, Stretch] = {}
    for start, end, moved in unchanged(known.source, source):
        whole = start == 0, end == len(known.source) and end + moved == len(source)
        first = (bisect_left if whole[0] else bisect_right)(places, start)
        last = (bisect_right if whole[1] else bisect_left)(places, end) - 1
        for number in range(first, last):
            begins[places[number] + moved] = Stretch(number, last, moved)
    return Reuse(known, begins) if begins else None


def unchanged(was: bytes, now: bytes) -> Iterator[Part]:
    """Yield what of one script stands in the other, from the beginning on.

    Where both have as many lines that is all but what was changed of each; else what is in front of the first change,
    and behind the last.
    """
    if was == now:
        yield Part(0, len(was), 0)
        return
    old, new = was.split(b"\n"), now.split(b"\n")
    if len(old) != len(new):
        yield from _around(was, now)
        return
    start, at, moved = 0, 0, 0
    for before, after in zip(old, new):
        if before != after:
            ahead = _same(lambda size, a=before, b=after: a[:size] == b[:size], min(len(before), len(after)))
            most = min(len(before), len(after)) - ahead
            behind = _same(lambda size, a=before, b=after: a[len(a) - size :] == b[len(b) - size :], most)
            yield Part(start, at + ahead, moved)
            moved += len(after) - len(before)
            start = at + len(before) - behind
        at += len(before) + 1
    yield Part(start, len(was), moved)


def _around(was: bytes, now: bytes) -> Iterator[Part]:
    least = min(len(was), len(now))
    ahead = _same(lambda size: was[:size] == now[:size], least)
    behind = _same(lambda size: was[len(was) - size :] == now[len(now) - size :], least - ahead)
    yield Part(0, ahead, 0)
    yield Part(len(was) - behind, len(was), len(now) - len(was))


def _same(alike: Any, most: int) -> int:
    """Return the largest size up to *most* of which *alike* is true; it is for all smaller ones as well."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if alike(middle):
            low = middle
        else:
            most = middle - 1
    return low


def _moved(node: Any, by: int) -> Any:
    """Return a part of a tree as it stands so many bytes further on."""
    kind = type(node)
    if kind is Span:
        return Span(node[0] + by, node[1] + by)
    if kind is Literal:
        return Literal(Span(node[0][0] + by, node[0][1] + by), node[1], node[2])
    return tuple.__new__(kind, [_moved(child, by) if isinstance(child, tuple) else child for child in node])
