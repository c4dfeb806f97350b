"""The passage of a document that speaks of a failure, or nothing; and the entries of the knowledge base that may.

Something always comes first in a ranking. What fits shares several telling words with the failure, words that few
passages have, no small part of all that it says, and some with the log itself, not only with what the rules say of it.
Where MiniLM is installed it has to agree: by meaning alone half of what it finds is wrong, but few wrong passages that
words find are near by meaning too. How much of each was set on `tests/agents/debug/handbook` and on one half of
`tests/agents/debug/sitebooks`; the other half judges it (`make bench-documents`). A wrong passage is worse than none.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.host import own_folders

from ...templates.knowledge.entries import Entry
from ...templates.retrieval.index import Words, search_words
from ...templates.retrieval.passages import Passage, Unavailable, digest
from ...templates.retrieval.vectors import Kept, path_of
from ..values import Cited, Diagnosis
from .folders import Document, every, passages
from .passages import Piece

DEEP = 12  # of the ranking by words that are weighed
ASKED = 32  # telling words of a failure that are weighed
RARE = 10  # of them, the rarest, by which passages are ranked
UNITS = 1.75  # least weight of the shared words; 1 is a word that one passage alone has
SHARE = 0.17  # least share of the failure's words, likewise weighed
LOGGED = 0.85  # least weight of the words shared with the log's own lines
ALIKE = 0.3  # least cosine of MiniLM to what words found
AMONG = 2  # which it must be among, of those that are weighed, the nearest by meaning first
NEAREST = 5
SHOWN = 420  # characters of a passage
BIG = 2000  # passages from which the word index is kept in a file
# Words of every failure; an index of few passages does not know how common they are.
_COMMON = """
    error errors failed fail failure job jobs node nodes file files data run program line device rank ranks process
    processes found set use used cause causes script started start python py main module traceback call recent last
    unknown exit code exited task srun true false none home usr lib packages site
"""
COMMON = frozenset(_COMMON.split())


class Weighed(NamedTuple):
    """A passage by its number; *units*, *share*: see above."""

    number: int
    units: float
    share: float

    @property
    def fit(self) -> float:
        """Return how well it fits; 1 is just enough."""
        return min(self.units / UNITS, self.share / SHARE)


class Library:
    """Passages that can be asked about failures."""

    def __init__(self, passages: Sequence[tuple[Document, Piece]], words_file: str | None = None) -> None:
        self._found = list(passages)
        texts = [Passage(str(at), piece.heading, piece.text, "document", document.source)
                 for at, (document, piece) in enumerate(self._found)]  # fmt: skip
        self._texts = texts
        self._words = Words(texts, words_file)

    def __len__(self) -> int:
        return len(self._found)

    def search(self, text: str, k: int = 5) -> list[tuple[Document, Piece, float]]:
        """Return the passages that share most telling words with *text*, the best first, each with how well it fits."""
        return [(*self._found[weighed.number], weighed.fit) for weighed in self.weighed(text)[:k]]

    def fitting(self, text: str, quote: str | None = None) -> tuple[Document, Piece] | None:
        """Return the passage that speaks of what *text* says, None where none does.

        *quote*: the part of it that the log says; None: all.
        """
        weighed = self.weighed(text)
        if not weighed or weighed[0].fit < 1 or self.logged(weighed[0], text if quote is None else quote) < LOGGED:
            return None
        return self._found[weighed[0].number] if self._agreed(text, [passage.number for passage in weighed]) else None

    def weighed(self, text: str) -> list[Weighed]:
        """Return the passages that share most telling words with *text*, the best first."""
        return sorted(self._weighed(text), key=lambda fitting: -fitting.fit)

    def logged(self, weighed: Weighed, text: str) -> float:
        """Return the weight of the telling words that a passage shares with *text*."""
        among = [(word, self._words.holding(word)) for word in _telling(text)]
        return sum(self._weight(len(numbers)) for _, numbers in among if weighed.number in numbers)

    def _weighed(self, text: str) -> list[Weighed]:
        asked = _telling(text)
        holding = {word: self._words.holding(word) for word in asked}
        rare = sorted((word for word in asked if holding[word]), key=lambda word: len(holding[word]))[:RARE]
        among = [number for number, _ in self._words.search(" ".join(rare), DEEP)]
        if not among:
            return []
        weights = {word: self._weight(len(holding[word])) for word in asked}
        total = sum(weights.values())
        sums = [(number, sum(weights[word] for word in asked if number in holding[word])) for number in among]
        return [Weighed(number, value, value / total) for number, value in sums]

    def _weight(self, passages: int) -> float:
        """Return what a word tells that so many passages have."""
        most = len(self._texts) + 1
        return math.log(most / (passages + 0.5)) / math.log(most)

    def _agreed(self, text: str, among: Sequence[int]) -> bool:
        """Return whether the first of *among* is near by meaning too; yes where no embedder is installed."""
        from ...templates.retrieval.minilm import configured

        try:
            embedder = configured()
            rows = Kept(embedder, path_of(embedder)).vectors([self._texts[number].whole for number in among])
            values = rows @ embedder.vectors([text])[0]
        except Unavailable:
            return True
        return near([float(value) for value in values])


def near(cosines: Sequence[float]) -> bool:
    """Return whether the first of these passages is one of the nearest, and near enough."""
    return cosines[0] >= ALIKE and sum(cosine > cosines[0] for cosine in cosines) < AMONG


def _telling(text: str) -> list[str]:
    words = [word for word in search_words(text) if word not in COMMON]
    return words[:ASKED]


def installed(documents: Sequence[Document] | None = None) -> Library:
    """Return the library of the documents that were added, by default of all that this user may see."""
    pieces = passages(every() if documents is None else documents)
    return Library(pieces, _words_file(pieces) if len(pieces) >= BIG else None)


def cited(diagnosis: Diagnosis, library: Library | None = None) -> tuple[Cited, ...]:
    """Return what documents say of the first cause, () where none speaks of it. By default of those that were added."""
    if diagnosis.causes[0].cause == "none":
        return ()
    library = installed() if library is None else library
    passage = library.fitting(question(diagnosis), " ".join(_log_words(diagnosis))) if len(library) else None
    return (_cited(*passage),) if passage is not None else ()


def question(diagnosis: Diagnosis) -> str:
    """Return what is searched: the cause, and what the log said of it."""
    first, lines = diagnosis.causes[0], _log_words(diagnosis)
    return " ".join([first.cause.replace("_", " "), first.says, *lines] if first.cause != "unknown" else lines)


def _log_words(diagnosis: Diagnosis) -> list[str]:
    return [evidence.text[:200] for evidence in (diagnosis.causes[0].evidence or diagnosis.excerpt)[:3]]


def _cited(document: Document, piece: Piece) -> Cited:
    text = piece.text if len(piece.text) <= SHOWN else piece.text[: SHOWN - 1].rsplit(" ", 1)[0] + "…"
    return Cited(document.source, piece.line, piece.heading, text)


def _words_file(passages: Sequence[tuple[Document, Piece]]) -> str | None:
    cache = own_folders.cache()
    name = digest("\n".join(dict.fromkeys(document.kept for document, _ in passages))).hex()[:16]
    return os.path.join(cache, "documents-%s.sqlite" % name) if cache else None


def nearest(diagnosis: Diagnosis, known: Mapping[str, Entry]) -> tuple[str, ...]:
    """Return the entries whose words are most like what the log says: candidates for a model, proofs of nothing."""
    causes = [name for name, entry in known.items() if entry.role in ("cause", "symptom")]
    texts = [_of_entry(name, known[name]) for name in causes]
    text = " ".join(evidence.text[:300] for evidence in (*diagnosis.excerpt, *diagnosis.causes[0].evidence))
    return tuple(causes[number] for number, _ in Words(texts).search(text, NEAREST))


def _of_entry(name: str, entry: Entry) -> Passage:
    words = " ".join([entry.says, entry.why, *entry.match])
    return Passage(name, entry.cause.replace("_", " "), words, "entry", "")
