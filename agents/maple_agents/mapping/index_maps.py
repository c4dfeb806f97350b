"""Index maps: a machine of nodes and GPUs as a space whose dimensions are split, merged and swapped.

Every step keeps how it is undone, so that a point of the last space is one place of the machine. `split(d, k)`:
new[i, j] is old[i + j k]; `merge(a, b)`: b runs fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

Point = tuple[int, ...]


class Space(NamedTuple):
    """*size* of each dimension; *back* leads from a point of it to (node, gpu)."""

    size: Point
    back: Callable[[Point], Point]

    def split(self, at: int, count: int) -> Space:
        """Return the space with a dimension in two, the first of *count*; raises `ValueError` if it does not divide."""
        old = self._known(at)
        if count < 1 or old % count:
            raise ValueError(f"{old} is no multiple of {count}")
        size = (*self.size[:at], count, old // count, *self.size[at + 1 :])
        return Space(size, lambda point: self.back((*point[:at], point[at] + point[at + 1] * count, *point[at + 2 :])))

    def merge(self, dimension: int, other: int) -> Space:
        """Return the space with two dimensions in the place of the first; the second runs fastest."""
        first, second = self._known(dimension), self._known(other)
        if dimension == other:
            raise ValueError("a dimension is not merged with itself")
        kept = [index for index in range(len(self.size)) if index != other]
        size = tuple(first * second if index == dimension else self.size[index] for index in kept)

        def undone(point: Point) -> Point:
            old = dict(zip(kept, point))
            old[other], old[dimension] = old[dimension] % second, old[dimension] // second
            return self.back(tuple(old[index] for index in range(len(self.size))))

        return Space(size, undone)

    def swap(self, dimension: int, other: int) -> Space:
        """Return the space with two dimensions exchanged."""
        self._known(dimension), self._known(other)
        order = list(range(len(self.size)))
        order[dimension], order[other] = order[other], order[dimension]
        return Space(tuple(self.size[index] for index in order), lambda point: self.back(_picked(point, order)))

    def reverse(self, at: int) -> Space:
        """Return the space with a dimension counted from its end."""
        last = self._known(at) - 1
        return Space(self.size, lambda point: self.back((*point[:at], last - point[at], *point[at + 1 :])))

    def auto_split(self, at: int, lengths: Sequence[int]) -> Space:
        """Return the space with a dimension in as many as there are *lengths*: the blocks with the least surface."""
        shape = decomposed(self._known(at), lengths)
        made = self
        for index, count in enumerate(shape[:-1]):
            made = made.split(at + index, count)
        return made

    def _known(self, at: int) -> int:
        if not 0 <= at < len(self.size):
            raise ValueError(f"there is no dimension {at}, only {len(self.size)}")
        return self.size[at]


def _picked(point: Point, order: Sequence[int]) -> Point:
    return tuple(point[index] for index in order)


def machine(nodes: int, each: int) -> Space:
    """Return the space of a machine: its nodes, and the GPUs of one."""
    return Space((nodes, each), lambda point: point)


def decomposed(count: int, lengths: Sequence[int]) -> Point:
    """Return factors of *count*, one a length, whose blocks have the least surface; of equals the first."""

    def surface(shape: Point) -> float:
        sides = [length / parts for length, parts in zip(lengths, shape)]
        return sum(prod(sides) / side for side in sides)

    return min(_factors(count, len(lengths)), key=surface)


def _factors(count: int, parts: int) -> Iterator[Point]:
    if parts == 1:
        yield (count,)
        return
    for first in range(1, count + 1):
        if count % first == 0:
            yield from ((first, *rest) for rest in _factors(count // first, parts - 1))


def placed(shape: Sequence[int], space: Space, how: str) -> tuple[Point, ...]:
    """Return (node, gpu) of each point of an index space, the last dimension fastest; *how*: block or cyclic.

    A space of twice as many dimensions is one of nodes and one inside them: blocks over the first, in turn inside.
    Raises `ValueError` where the numbers of dimensions do not fit, or two points would share a place.
    """
    twice = len(space.size) == 2 * len(shape)
    if len(shape) != len(space.size) and not twice:
        raise ValueError(f"{len(shape)} dimensions are mapped to {len(space.size)}")
    places = []
    for number in range(prod(shape)):
        point = _point(number, shape)
        if twice:
            outer = (index * parts // length for index, parts, length in zip(point, space.size, shape))
            at = (*outer, *(index % parts for index, parts in zip(point, space.size[len(shape) :])))
        elif how == "block":
            at = tuple(index * parts // length for index, parts, length in zip(point, space.size, shape))
        else:
            at = tuple(index % parts for index, parts in zip(point, space.size))
        places.append(space.back(at))
    if len(set(places)) < len(places):
        raise ValueError("two ranks would have the same GPU")
    return tuple(places)


def _point(number: int, shape: Sequence[int]) -> Point:
    point: list[int] = []
    for length in reversed(shape):
        number, index = divmod(number, length)
        point.insert(0, index)
    return tuple(point)


_STEPS = {"split": 2, "merge": 2, "swap": 2, "reverse": 1, "auto_split": 2}


def of_statement(tree: Any, nodes: int, each: int) -> tuple[tuple[int, ...], ...]:
    """Return the places that a `map over` statement gives, as the grammar has it; raises `ValueError` for none."""
    shape, *steps, how = tree.children
    lengths = [int(length) for length in shape.children]
    if prod(lengths) != nodes * each:
        raise ValueError(f"the space has {prod(lengths)} points, and the machine {nodes * each} GPUs")
    space = machine(nodes, each)
    for step in steps:
        name, *arguments = step.children
        values = [
            [int(part) for part in argument.children] if hasattr(argument, "children") else int(argument)
            for argument in arguments
        ]
        if _STEPS.get(str(name)) != len(values):
            raise ValueError(f"{name} is no step with {len(values)} arguments: known are {', '.join(_STEPS)}")
        wants = [str(name) == "auto_split" and index == 1 for index in range(len(values))]
        if any(isinstance(value, list) is not want for value, want in zip(values, wants)):
            raise ValueError(f"{name} takes numbers" + (" and one tuple" if True in wants else ""))
        space = getattr(space, str(name))(*values)
    return placed(lengths, space, str(how))
