"""Which rank says a line, by the two usual labels at its beginning, and which rank was heard last where in a block."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter

NEAR = 400  # lines at the end of a block that are looked at one by one before others are
LABEL = 16  # bytes that a label may have
HEAD = itemgetter(slice(0, 9))  # bytes that tell most labels: what follows differs from line to line
_NUMBERED = re.compile(rb" {0,6}(\d{1,6}): ?(?:\D|$)")
Speaker = Callable[[bytes], int | None]


def bracketed(line: bytes) -> int | None:
    """Return the rank of `[rank3]: …`."""
    end = line.find(b"]", 5, 12) if line[:5] == b"[rank" else -1
    number = line[5 : max(5, end)]
    return int(number) if number.isdigit() else None


def numbered(line: bytes) -> int | None:
    """Return the number of `3: …`, `  12: …`."""
    found = _NUMBERED.match(line)
    return int(found[1]) if found else None


def speaker(data: bytes, lines: Sequence[bytes]) -> Speaker | None:
    """Return what reads the labels of a block, None where its lines bear none of these two."""
    labelled = b"[" in data and b"[rank" in data  # mostly no, and the shorter one is found sooner
    if labelled and (data.startswith(b"[rank") or b"\n[rank" in data):
        return bracketed
    some = lines[:: max(1, len(lines) // 8)]
    return numbered if some and 2 * sum(numbered(one) is not None for one in some) >= len(some) else None


def ranks(lines: Sequence[bytes], rank_of: Speaker) -> set[int]:
    """Return all ranks that say one of *lines*."""
    heads = set(map(HEAD, lines))
    unsure = {head for head in heads if _unsure(head)}
    labels = heads - unsure
    if unsure:
        labels |= {line[:LABEL] for line in lines if HEAD(line) in unsure}
    return {rank for one in labels if (rank := rank_of(one)) is not None}


def _unsure(head: bytes) -> bool:
    """Return whether a label may go on behind *head*."""
    return head[:5] == b"[rank" and b"]" not in head or not head.strip(b" 0123456789:")


def last_rows(lines: Sequence[bytes], rank_of: Speaker) -> dict[int, int]:
    """Return the last row of each rank that speaks in a block.

    Lines are looked at from the end; all of them only where a rank is silent from there on.
    """
    found: dict[int, int] = {}
    heard, end, near = ranks(lines, rank_of), len(lines), NEAR
    while len(found) < len(heard) and end:
        begin = max(0, end - near)
        _listen(lines, rank_of, found, end, begin)
        end, near = begin, near * 4
    return found


def _listen(lines: Sequence[bytes], rank_of: Speaker, found: dict[int, int], end: int, begin: int) -> None:
    for row in range(end - 1, begin - 1, -1):
        rank = rank_of(lines[row])
        if rank is not None and rank not in found:
            found[rank] = row
