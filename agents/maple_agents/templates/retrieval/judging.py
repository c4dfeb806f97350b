"""How well each paradigm fits a text: what every ranking says of it, weighed.

Two indexes are asked, one of whole descriptions and one of their sentences and phrases, each by words and by meaning. A
paradigm has of each ranking the value of its best passage. A third has what other requests are about: what is more like
those describes no paradigm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from ..paradigms import Paradigm
from . import described
from .embedder import Embedder
from .fusing import Curve, Curves
from .index import FusedIndex
from .passages import Passage
from .vectors import Recent

By = Literal["words", "words and meaning"]
RANKINGS = ("meaning of parts", "meaning of all", "words of parts", "words of all")
OTHERS = ("meaning of others", "words of others")

# Fitted by tests/bench/retrieval_curves.py on one half of tests/cases/retrieval; the other half judges the fit.
CURVES = Curves(
    both=Curve(
        dict(zip(RANKINGS, (17.3, 13.5, 0.49, 0.754))), -5.04, 0.514, 0.131, against=dict(zip(OTHERS, (7.66, 0.349)))
    ),
    words=Curve(dict(zip(RANKINGS[2:], (0.794, 0.669))), -3.72, 0.88, -0.212, against={OTHERS[1]: 0.58}),
)


class Judged(NamedTuple):
    """The paradigms, the best first, and how sure the best is. *passage*: what spoke most for it; None: nothing."""

    order: tuple[str, ...]
    score: float
    passage: Passage | None
    by: By


class Judge:
    """The descriptions of some paradigms, ready to be searched."""

    def __init__(self, every: Mapping[str, Paradigm], embedder: Embedder | None = None, note: str = "") -> None:
        """*note*: why there is no embedder."""
        passages = {"parts": described.parts(every), "all": described.whole(every), "others": described.others()}
        self._names = tuple(every)
        self._words = {of: FusedIndex(some, note=note) for of, some in passages.items()}
        recent = Recent(embedder) if embedder else None
        self._both = {of: FusedIndex(some, recent) for of, some in passages.items()} if recent else self._words

    @property
    def note(self) -> str:
        """What limits the judgement, "" where nothing does."""
        return next((index.note for index in self._both.values() if index.note), "")

    def judged(self, text: str, *, meaning: bool = True) -> Judged:
        """Return how well every paradigm fits. *meaning* False: by words alone, for which nothing is loaded."""
        found = list(self._found(text, meaning))
        whole = meaning and not self.note
        curve = CURVES.both if whole else CURVES.words
        values = _values(found)
        evidence = {name: curve.evidence(values.get(name, {})) for name in self._names}
        order = sorted(self._names, key=lambda name: -evidence[name])
        first, second = [*(evidence[name] for name in order), 0.0, 0.0][:2]
        others = values.get("", {})
        of_best = [one for one in found if order and described.paradigm_of(one[1]) == order[0]]
        spoke = max(of_best, key=lambda one: curve.evidence({one[0]: one[2]}), default=None)
        by: By = "words and meaning" if whole else "words"
        return Judged(tuple(order), curve.score(first, second, others), spoke[1] if spoke else None, by)

    def values(self, text: str, *, meaning: bool = True) -> dict[str, dict[str, float]]:
        """Return by paradigm the value of its best passage in each of `RANKINGS`; under "" that in each of `OTHERS`."""
        return _values(self._found(text, meaning))

    def _found(self, text: str, meaning: bool) -> Iterator[tuple[str, Passage, float]]:
        """Yield the ranking, the passage and its value there, for every passage that was found."""
        for of, index in (self._both if meaning else self._words).items():
            for hit in index.search(text, len(index)):
                yield from (("%s of %s" % (rank.by, of), hit.passage, rank.value) for rank in hit.ranks)


def _values(found: Iterable[tuple[str, Passage, float]]) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    for ranking, passage, value in found:
        of = values.setdefault(described.paradigm_of(passage), {})
        of[ranking] = max(value, of.get(ranking, value))
    return values
