"""Several rankings made one, and how sure its first is.

The order comes from the places alone (reciprocal rank fusion; Cormack, Clarke and Büttcher, SIGIR 2009), for BM25 and
cosine have no common measure. Places cannot say "nothing fits", for something always comes first: that is said by a
logistic curve over the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CONSTANT = 60  # of the paper: how fast a place loses weight


class Curve(NamedTuple):
    """The chance that a passage fits: 1 / (1 + exp(-(bias + words·BM25/(BM25 + half) + meaning·cosine))).

    *half*: the BM25 that counts half of what any could.
    """

    bias: float
    words: float
    meaning: float
    half: float = 4.0

    def score(self, bm25: float, cosine: float) -> float:
        """Return a value between 0 and 1."""
        at = self.bias + self.words * bm25 / (bm25 + self.half) + self.meaning * cosine
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, at))))


class Curves(NamedTuple):
    """One curve for words and meaning together, one for where there are words alone."""

    both: Curve
    words: Curve


def fused(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return the sum of 1 / (60 + place) of everything that stands in any ranking, the best first.

    Where two have the same sum, the one that stands first in the last ranking goes first.
    """
    sums: dict[int, float] = {}
    for ranking in reversed(rankings):
        for place, one in enumerate(ranking, 1):
            sums[one] = sums.get(one, 0.0) + 1 / (CONSTANT + place)
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
