"""What SQLite and PostgreSQL each bring: a way to run a statement, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Change(NamedTuple):
    """One statement with `?` for values, run once for each of *values*."""

    statement: str
    values: Sequence[Sequence[object]]


class Runner(Protocol):
    """Everything raises `StoreError`; `NotKept` where a value is at fault and nothing else."""

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Sequence[Any]]:
        """Return what a question comes to."""

    def change(self, *changes: Change) -> list[int]:
        """Make all of the changes or none, and return how many rows each touched."""

    def size(self) -> int:
        """Return the bytes that rows take, about."""

    def shrink(self) -> None:
        """Give back the room of what was removed."""

    def check(self) -> list[str]:
        """Return what is wrong, [] for nothing."""

    def backup(self, path: str) -> None:
        """Write a whole copy; *path* must not exist."""

    def close(self) -> None:
        """Let go."""
