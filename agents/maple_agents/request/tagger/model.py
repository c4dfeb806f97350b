"""The weights, and the best labelling of a request by them.

The file is a line of JSON, then, compressed, a row of bytes for each feature and one for each label before (the chain);
a byte is a weight plus 128. A row is one long integer while it is summed up, so that all labels are added at once.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .pieces import Piece, features, pieces

FILE = Path(__file__).with_name("weights.bin")
OTHER = "O"
ASIDE = "X"  # of an earlier job, another machine, what is denied
ZERO = 128
_LIKELY = 7  # labels of a piece that are tried
_MOST = 600  # pieces


class Tagged(NamedTuple):
    """A piece with its label. *margin*: by how much any labelling that gives it another label is worse."""

    piece: Piece
    label: str
    margin: float


class Weights(NamedTuple):
    """*labels* in the order of a row's bytes; *scale*: what a byte counts; *rows*, *chain*: see the module."""

    labels: tuple[str, ...]
    scale: float
    rows: bytes
    chain: tuple[tuple[int, ...], ...]


@cache
def weights() -> Weights:
    """Return the weights that are shipped. Raises `OSError` where they are not there, `ValueError` if not whole."""
    head, _, packed = FILE.read_bytes().partition(b"\n")
    about = json.loads(head)
    try:
        labels, data = tuple(about["labels"]), zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError("%s: %s" % (FILE.name, error)) from error
    size = len(labels)
    chain = data[-size * size :]
    steps = tuple(tuple(step - ZERO for step in chain[at * size : (at + 1) * size]) for at in range(size))
    return Weights(labels, about["scale"], data[: -size * size], steps)


def tag(text: str) -> list[Tagged]:
    """Return the pieces of *text* with the labels that fit best together; nothing of a text that is too long."""
    parts = pieces(text)
    if not parts or len(parts) > _MOST:
        return []
    known = weights()
    scores = [_scores(rows, known) for rows in features(parts)]
    likely = [_likely(each) for each in scores]
    ahead = _best(scores, likely, known.chain)
    back = [dict(each) for each in reversed(_best(scores[::-1], likely[::-1], tuple(zip(*known.chain, strict=True))))]
    return [
        _tagged(piece, {label: before[label] + back[at][label] - scores[at][label] for label in before}, known)
        for at, (piece, before) in enumerate(zip(parts, ahead, strict=True))
    ]


def _scores(rows: Sequence[int], known: Weights) -> list[int]:
    """Return the sum of the rows for each label; even and odd bytes apart, so that no sum runs over."""
    size, data = len(known.labels), known.rows
    even = odd = 0
    mask = int.from_bytes(b"\xff\x00" * ((size + 1) // 2), "little")
    for row in rows:
        whole = int.from_bytes(data[row * size : (row + 1) * size], "little")
        even += whole & mask
        odd += whole >> 8 & mask
    sums = [0] * (size + size % 2)
    width = 2 * ((size + 1) // 2)
    sums[0::2] = struct.unpack("<%dH" % (width // 2), even.to_bytes(width, "little"))
    sums[1::2] = struct.unpack("<%dH" % (width // 2), odd.to_bytes(width, "little"))
    zero = ZERO * len(rows)
    return [total - zero for total in sums[:size]]


def _likely(scores: Sequence[int]) -> list[int]:
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:_LIKELY]


def _best(
    scores: Sequence[Sequence[int]], likely: Sequence[Sequence[int]], chain: Sequence[Sequence[int]]
) -> list[dict[int, int]]:
    """Return for each piece what the best labelling up to it is worth, by its label."""
    columns: list[dict[int, int]] = []
    for own, labels in zip(scores, likely, strict=True):
        if not columns:
            columns.append({label: own[label] for label in labels})
            continue
        before = columns[-1].items()
        columns.append(
            {label: own[label] + max(worth + chain[last][label] for last, worth in before) for label in labels}
        )
    return columns


def _tagged(piece: Piece, worth: dict[int, int], known: Weights) -> Tagged:
    best, *others = sorted(worth, key=worth.__getitem__, reverse=True)
    margin = (worth[best] - worth[others[0]]) * known.scale if others else 0.0
    return Tagged(piece, known.labels[best], margin)
