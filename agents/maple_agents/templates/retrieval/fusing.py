"""Several rankings made one, and how sure its first is.

The order comes from the places alone (reciprocal rank fusion; Cormack, Clarke and Büttcher, SIGIR 2009), for BM25 and
cosine have no common measure. Places cannot say "nothing fits", for something always comes first: that is said by a
logistic curve over the values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

CONSTANT = 60  # of the paper: how fast a place loses weight


class Curve(NamedTuple):
    """How sure it is that the best fits, from its evidence and how far that lies above the second's.

    The evidence is the weighted sum of the values that each ranking gave; a ranking without a weight counts nothing.
    *against*: weights of what speaks for "nothing of all this".
    """

    weights: Mapping[str, float]
    bias: float
    best: float = 1.0
    ahead: float = 0.0
    against: Mapping[str, float] = {}

    def evidence(self, values: Mapping[str, float]) -> float:
        """Return what speaks for something that the rankings gave these values."""
        return sum(weight * values.get(by, 0.0) for by, weight in self.weights.items())

    def score(self, best: float, second: float = 0.0, others: Mapping[str, float] = {}) -> float:
        """Return the chance, 0 to 1, that what has the evidence *best* is right, where the next has *second*.

        *others*: the values of what is none of those that can be chosen.
        """
        against = sum(weight * others.get(by, 0.0) for by, weight in self.against.items())
        at = self.bias + self.best * best + self.ahead * (best - second) - against
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
