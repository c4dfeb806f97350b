"""What runs before have found: which test reaches which statement, and which test noticed a bug.

Neither is believed of code that has changed. What a test reaches is kept until a file that it reaches gets another
shape. A test that noticed a bug is tried first the next time, and has to notice it again.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

Place = tuple[str, str, int]  # a statement: its file, its function, and its place in the walk over that
Noticed = tuple[str, str, str, str]  # a bug: its file, its function, and the statement without and with it


class Reach(NamedTuple):
    """What a test takes, in seconds, and the numbers of the statements that it reaches, by their file."""

    seconds: float
    places: Mapping[str, array[int]]

    def of(self, file: str) -> int:
        """Return how many statements of a file it reaches."""
        return len(self.places.get(file, ()))

    def all(self) -> int:
        """Return how many it reaches."""
        return sum(len(numbers) for numbers in self.places.values())


class Reached:
    """Which test reaches which statement, kept in a file; *shapes*: of the code now, by its files."""

    def __init__(self, path: str, statements: Sequence[Place], shapes: Mapping[str, Sequence[str]]) -> None:
        self.path = path
        self.statements: dict[str, list[Place]] = defaultdict(list)
        for statement in sorted(set(statements)):
            self.statements[statement[0]].append(statement)
        self.hashes = {file: _hash(lines) for file, lines in shapes.items()}

    def kept(self) -> dict[str, Reach]:
        """Return what tests reach, by their names; what was seen of code in another shape is thrown away."""
        header, *rows = _rows(self.path) or [{}]
        changed = {file for file in {*header, *self.hashes} if header.get(file) != self.hashes.get(file)}
        rows = [row for row in rows if not changed & row[2].keys()]
        if changed or not header:
            _write(self.path, [self.hashes, *rows])
        return {name: Reach(float(seconds), _arrays(places)) for name, seconds, places in rows}

    def add(self, name: str, seconds: float, reached: set[Place]) -> None:
        """Keep what a test has reached."""
        places = {file: [at for at, statement in enumerate(of) if statement in reached]
                  for file, of in self.statements.items()}  # fmt: skip
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, seconds, {name: at for name, at in places.items() if at}]) + "\n")


class Noticing:
    """By which test a bug was noticed in runs before, kept in a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._by: dict[Noticed, str] = {tuple(bug): by for bug, by in _rows(path)}

    def first(self, bug: Noticed, names: Sequence[str]) -> list[str]:
        """Return the tests with the one in front that noticed the bug before."""
        by = self._by.get(bug)
        return sorted(names, key=lambda name: name != by)

    def knows(self, bug: Noticed, by: Optional[str]) -> bool:
        """Return whether it was this test."""
        return by is not None and self._by.get(bug) == by

    def add(self, bug: Noticed, by: str) -> None:
        """Keep that a test has noticed a bug."""
        if self._by.get(bug) != by:
            self._by[bug] = by
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps([bug, by]) + "\n")


def _arrays(places: Mapping[str, Sequence[int]]) -> dict[str, array[int]]:
    return {file: array("L", numbers) for file, numbers in places.items()}


def _hash(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _rows(path: str) -> list[Any]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _write(path: str, rows: Sequence[Any]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
