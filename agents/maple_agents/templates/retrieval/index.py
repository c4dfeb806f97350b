"""Passages found by words and by meaning: what the rest of Maple asks. It knows nothing of what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from .fts import Words
from .passages import Embedder, Hit, Passage, Rank, Unavailable
from .vectors import Kept, nearest, path_of

if TYPE_CHECKING:
    from .passages import Floats
import math
from typing import NamedTuple

# Several rankings made one, and how sure its first is.
#
# The order comes from the places alone (reciprocal rank fusion; Cormack, Clarke and Büttcher, SIGIR 2009), for BM25 and
# cosine have no common measure. Places cannot say "nothing fits", for something always comes first: that is said by a
# logistic curve over the values.

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


DEEP = 50  # how far each ranking is read, at least
# Set by hand, not fitted: a corpus that must say "nothing fits" brings curves that were fitted on requests to it.
CURVES = Curves(
    both=Curve({"words": 0.3, "meaning": 10.0}, -6.5),
    words=Curve({"words": 0.5}, -3.5),
)


class Index(Protocol):
    """Passages that can be found by a text in plain words."""

    @property
    def note(self) -> str:
        """What people should know of the answers: that they come from words alone, and why. "" where all is well."""

    def search(self, text: str, k: int = 5) -> list[Hit]:
        """Return at most *k* passages, the best first. What *text* holds is data: no character of it is an operator."""


class FusedIndex:
    """An `Index` by FTS5 and an embedder. Without an embedder, or where it fails, by FTS5 alone, and `note` says so."""

    def __init__(
        self,
        passages: Sequence[Passage],
        embedder: Embedder | None = None,
        *,
        note: str = "",
        curves: Curves = CURVES,
        words_file: str | None = None,
    ) -> None:
        """*words_file*: a cache file for the word index, which pays from some thousand passages on."""
        self.note = note
        self._passages = list(passages)
        self._embedder = embedder
        self._curves = curves
        self._words = Words(self._passages, words_file)
        self._rows: Floats | None = None

    def __len__(self) -> int:
        return len(self._passages)

    def search(self, text: str, k: int = 5) -> list[Hit]:
        """Return at most *k* passages, the best first."""
        if not self._passages or k < 1 or not text.strip():
            return []
        deep = max(DEEP, 4 * k)
        by_words = self._words.search(text, deep)
        by_meaning = self._meant(text, deep)
        order = fused([[number for number, _ in by_words], [number for number, _ in by_meaning]])
        words, meaning = _ranks("words", by_words), _ranks("meaning", by_meaning)
        return [self._hit(number, words.get(number), meaning.get(number)) for number in list(order)[:k]]

    def _hit(self, number: int, words: Rank | None, meaning: Rank | None) -> Hit:
        curve = self._curves.both if self._embedder else self._curves.words
        ranks = tuple(rank for rank in (words, meaning) if rank)
        score = curve.score(curve.evidence({rank.by: rank.value for rank in ranks}))
        return Hit(self._passages[number], score, ranks)

    def _meant(self, text: str, k: int) -> list[tuple[int, float]]:
        if self._embedder is None:
            return []
        try:
            if self._rows is None:
                kept = Kept(self._embedder, path_of(self._embedder))
                self._rows = kept.vectors([one.whole for one in self._passages])
            return nearest(self._rows, self._embedder.vectors([text])[0], k)
        except Unavailable as error:
            self._embedder, self.note = None, by_words_alone(error)
            return []


def by_words_alone(why: object) -> str:
    """Return the note of an index that has no embedder."""
    return "found by words alone, not by meaning: %s" % why


def installed(passages: Sequence[Passage], *, curves: Curves = CURVES, words_file: str | None = None) -> FusedIndex:
    """Return an index with the embedder that is configured and installed; where there is none, by words alone."""
    from .minilm import configured

    try:
        return FusedIndex(passages, configured(), curves=curves, words_file=words_file)
    except Unavailable as error:
        return FusedIndex(passages, note=by_words_alone(error), curves=curves, words_file=words_file)


def _ranks(by: str, found: Sequence[tuple[int, float]]) -> Mapping[int, Rank]:
    return {number: Rank(by, place, value) for place, (number, value) in enumerate(found, 1)}
