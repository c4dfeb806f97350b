"""Which rank says each line of a block, and which one was heard last where: for all lines at once."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
LONGEST = 6  # digits of a rank
_NUMBERED = re.compile(rb" {0,6}\d{1,6}: ?\D")


def speakers(data: bytes, starts: Ints, ends: Ints) -> tuple[Ints | None, bool]:
    """Return the rank of each line, -1 where it bears none, and whether these are bare numbers (`3: `).

    None: the block's lines bear no labels of the two usual forms, `[rank3]` and `3: `.
    """
    if not len(starts):
        return None, False
    letters = np.frombuffer(data + b"\0" * 16, np.uint8)
    if data.startswith(b"[rank") or b"\n[rank" in data:
        return _bracketed(letters, starts, ends), False
    some = [data[starts[row] : starts[row] + 16] for row in range(0, len(starts), max(1, len(starts) // 8))]
    if 2 * sum(_NUMBERED.match(one) is not None for one in some) >= len(some):
        return _numbered(letters, starts, ends), True
    return None, False


def _bracketed(letters: NDArray[np.uint8], starts: Ints, ends: Ints) -> Ints:
    ours = ends - starts > 7
    for place, letter in enumerate(b"[rank"):
        ours &= letters[starts + place] == letter
    return _read(letters, starts + 5, ours, b"]")


def _numbered(letters: NDArray[np.uint8], starts: Ints, ends: Ints) -> Ints:
    begin = starts.copy()
    for _ in range(LONGEST):
        begin += letters[begin] == 32
    return _read(letters, begin, ends - begin > 1, b":")


def _read(letters: NDArray[np.uint8], begin: Ints, ours: NDArray[np.bool_], close: bytes) -> Ints:
    """Return the number that stands at each of *begin* before *close*; -1 for none."""
    at, number = begin.copy(), np.zeros(len(begin), np.int64)
    for _ in range(LONGEST):
        digit = letters[at].astype(np.int64) - 48
        is_digit = (digit >= 0) & (digit < 10) & ours
        number = np.where(is_digit, number * 10 + digit, number)
        at += is_digit
        ours = ours & is_digit  # behind the first letter that is none, no more are read
    good = (at > begin) & (letters[at] == close[0])
    return np.where(good, number, -1)


def last_rows(ranks: Ints) -> dict[int, int]:
    """Return the last row of each rank."""
    there, back = np.unique(ranks[::-1], return_index=True)
    rows = zip(there.tolist(), (len(ranks) - 1 - back).tolist(), strict=True)
    return {rank: row for rank, row in rows if rank >= 0}
