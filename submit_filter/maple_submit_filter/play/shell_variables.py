"""The variables of a forked shell: those of its parent, seen through what it changed itself.

A copy of all of them for every command would make the time grow with the square of a script's length. None is needed,
because a child has come to its end before its parent goes on.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Dict, Iterator, NamedTuple, Optional, Set, Tuple

from ..types.text import Text


class Variable(NamedTuple):
    """A variable: a scalar *value* or an *array*; both None means surely unset."""

    value: Optional[Text] = None
    array: Optional[Tuple[Text, ...]] = None
    exported: bool = False

    def texts(self) -> Tuple[Text, ...]:
        """Return the elements: one for a scalar, none when unset."""
        if self.array is not None:
            return self.array
        return (self.value,) if self.value is not None else ()


def kept(variable: Variable) -> Variable:
    """Return what a child process sees of a variable."""
    return variable if variable.exported and variable.array is None else Variable()


class Layer(MutableMapping[bytes, Variable]):
    """What one shell changed, over what it was forked from. *spawned*: a program's, which sees what is exported."""

    __slots__ = ("below", "spawned", "own", "gone")

    def __init__(self, below: MutableMapping[bytes, Variable], spawned: bool = False) -> None:
        self.below = below
        self.spawned = spawned
        self.own: Dict[bytes, Variable] = {}
        self.gone: Set[bytes] = set()

    def changed(self) -> Set[bytes]:
        """Return the names that may differ from what is below."""
        return self.gone.union(self.own)

    def __getitem__(self, name: bytes) -> Variable:
        found = self.own.get(name)
        if found is not None:
            return found
        if name in self.gone:
            raise KeyError(name)
        return kept(self.below[name]) if self.spawned else self.below[name]

    def __setitem__(self, name: bytes, value: Variable) -> None:
        self.own[name] = value

    def __delitem__(self, name: bytes) -> None:
        if name not in self:
            raise KeyError(name)
        self.own.pop(name, None)
        self.gone.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self.own or (name not in self.gone and name in self.below)

    def __iter__(self) -> Iterator[bytes]:
        for name in self.below:
            if name not in self.gone or name in self.own:
                yield name
        for name in list(self.own):
            if name not in self.below:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)
