"""Which rank says a line, by the two usual labels at its beginning, and which rank was heard last where in a block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

NEAR = 400  # lines at the end of a block that are looked at one by one
LABEL = 16  # bytes that a label may have
_NUMBERED = re.compile(rb" {0,6}(\d{1,6}): ?(?:\D|$)")
Speaker = Callable[[bytes], int | None]


def bracketed(line: bytes) -> int | None:
    """Return the rank of `[rank3]: …`."""
    if line[:5] != b"[rank":
        return None
    number = line[5 : line.find(b"]", 5, 13)]
    return int(number) if number.isdigit() else None


def numbered(line: bytes) -> int | None:
    """Return the number of `3: …`, `  12: …`."""
    found = _NUMBERED.match(line)
    return int(found[1]) if found else None


def speaker(data: bytes, lines: Sequence[bytes]) -> Speaker | None:
    """Return what reads the labels of a block, None where its lines bear none of these two."""
    if data.startswith(b"[rank") or b"\n[rank" in data:
        return bracketed
    some = lines[:: max(1, len(lines) // 8)]
    return numbered if some and 2 * sum(numbered(one) is not None for one in some) >= len(some) else None


def ranks(lines: Iterable[bytes], rank_of: Speaker) -> set[int]:
    """Return all ranks that say one of *lines*."""
    return {rank for one in {line[:LABEL] for line in lines} if (rank := rank_of(one)) is not None}


def last_rows(lines: Sequence[bytes], rank_of: Speaker) -> dict[int, int]:
    """Return the last row of each rank that speaks in a block.

    Lines are looked at from the end; all of them only where a rank is silent there.
    """
    found: dict[int, int] = {}
    begin = max(0, len(lines) - NEAR)
    _listen(lines, rank_of, found, len(lines), begin)
    if ranks(lines, rank_of) - found.keys():
        _listen(lines, rank_of, found, begin, 0)
    return found


def _listen(lines: Sequence[bytes], rank_of: Speaker, found: dict[int, int], end: int, begin: int) -> None:
    for row in range(end - 1, begin - 1, -1):
        rank = rank_of(lines[row])
        if rank is not None and rank not in found:
            found[rank] = row
