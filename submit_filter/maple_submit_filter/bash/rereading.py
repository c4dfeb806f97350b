"""What of a script need not be read again when a few of its bytes have changed.

A repair tries one change after the other, and each makes a script that is read anew. Commands at the top level in front
of the change are as they were, and so are those behind it, once reading has come to where one of them began before.
That holds as long as nothing failed: what cannot be read is tried in several ways, and looked at beyond its end.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

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


class Reuse(NamedTuple):
    """What of a known script stands in another: *head* up to *start*, and what begins at *tail*, *moved* by so much."""

    known: Known
    head: Tuple[Item, ...]
    start: int
    tail: "dict[int, int]"  # where in the new script, and the number of the item
    moved: int

    def rest(self, number: int) -> Tuple[Item, ...]:
        """Return the items from that one on, where they stand in the new script."""
        items = self.known.program.items[number:]
        return tuple(_moved(item, self.moved) for item in items) if self.moved else items

    def later_cuts(self, number: int, count: int) -> List[Cut]:
        """Return the places from that item on, where *count* items are in front of it now."""
        return [(at + self.moved, index - number + count) for at, index in self.known.cuts if index >= number]


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
    was, moved = known.source, len(source) - len(known.source)
    before = _same(lambda size: was[:size] == source[:size], min(len(was), len(source)))
    most = min(len(was), len(source)) - before
    behind = _same(lambda size: was[len(was) - size :] == source[len(source) - size :], most)
    start, count = max((cut for cut in known.cuts if cut[0] < before), default=(0, 0))
    tail = {at + moved: number for at, number in known.cuts if at > len(was) - behind}
    return Reuse(known, known.program.items[:count], start, tail, moved) if count or tail else None


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
