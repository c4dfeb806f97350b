"""Literals that stand on very many lines that are not alike: they tell nothing any more in this file."""

from __future__ import annotations

from .literals import Found, Search, Sort

OFTEN = 20_000  # lines with one short anchor
WORN = {Sort.WORD: 800, Sort.ANCHOR: 2000, Sort.FRAME: 8000, Sort.OPENS: 8000}  # different lines with one literal
Hit = tuple[Sort, int]  # of a literal: its sort and its number


class Wearing:
    """A search that forgets the literals that are worn. *worn*: their numbers."""

    def __init__(self, search: Search) -> None:
        self.worn: set[int] = set()
        self._search = self._now = search
        self._often: dict[int, int] = {}
        self._different: dict[int, int] = {}

    def __call__(self, small: bytes) -> Found:
        return self._now(small)

    def hit(self, line: bytes) -> Hit | None:
        """Return the strongest literal of *line*."""
        return max(((self.sorts[number], number) for number, _, _ in self._now(line.lower())), default=None)

    @property
    def sorts(self) -> tuple[Sort, ...]:
        return self._search.sorts

    def wears(self, hit: Hit) -> None:
        """Count one more line unlike all others with this literal: with too many of them it is worn."""
        sort, literal = hit
        self._different[literal] = self._different.get(literal, 0) + 1
        if self._different[literal] == WORN[sort] // (4 if self._search.is_short(literal) else 1):
            self._forget(literal)

    def is_everyday(self, literal: int, count: int) -> bool:
        """Count *count* lines more; return whether a short anchor is but a word of every day by them, as "loss"."""
        if not self._search.is_short(literal):
            return False
        self._often[literal] = self._often.get(literal, 0) + count
        if self._often[literal] < OFTEN:
            return False
        self._forget(literal)
        return True

    def _forget(self, literal: int) -> None:
        self.worn |= self._search.inside(literal)
        self._now = self._search.without(self.worn)
