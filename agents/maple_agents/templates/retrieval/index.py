"""Passages found by words and by meaning: what the rest of Maple asks. It knows nothing of what they are about.

Passages found by their words: SQLite FTS5, ranked by BM25. In memory, or in a cache file.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .passages import Embedder, Hit, Passage, Rank, Unavailable, digest
from .vectors import Kept, nearest, path_of

if TYPE_CHECKING:
    from .passages import Floats

TOKENIZER = "porter unicode61 remove_diacritics 2"  # "sharded" and "sharding" are one word
MOST_WORDS = 64  # words of a query that count; a pasted log would cost seconds otherwise
LONGEST = 20_000  # characters of a query that are looked at
TITLE_WEIGHT = 2.0  # a word in the title says more than one in the text
_WORD = re.compile(r"\w+")

# Words that tell nothing apart; in an index of a hundred passages BM25 does not notice that by itself.
STOP = frozenset(
    _WORD.findall(
        """
        a about all also am an and any are as at be been but by can could did do does each for from had has
        have how i if in into is it its just like may me more my need no not of on one only or our out over
        please should so some such than that the their them then there these they this to up us use used
        using want was we what when where which while who will with would you your
        """
    )
)

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
        for place, number in enumerate(ranking, 1):
            sums[number] = sums.get(number, 0.0) + 1 / (CONSTANT + place)
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
                self._rows = kept.vectors([passage.whole for passage in self._passages])
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


def _ranks(by: str, places: Sequence[tuple[int, float]]) -> Mapping[int, Rank]:
    return {number: Rank(by, place, value) for place, (number, value) in enumerate(places, 1)}


class Words:
    """An index over the words of some passages. With a *path* it is kept there for the next process.

    A file that is damaged, or of other passages, is made anew; where it cannot be written the index lies in memory.
    """

    def __init__(self, passages: Sequence[Passage], path: str | None = None) -> None:
        self._size = len(passages)
        self._rows = _opened(passages, path) if path else _built(passages, ":memory:")

    def search(self, text: str, k: int) -> list[tuple[int, float]]:
        """Return the best *k* passages by number, each with its BM25 (above 0, larger is better)."""
        asked = match(text)
        if not asked or k < 1:
            return []
        rows = self._rows.execute(
            "SELECT rowid, bm25(passages, ?, 1.0) AS value FROM passages WHERE passages MATCH ?"
            " ORDER BY value, rowid LIMIT ?",
            (TITLE_WEIGHT, asked, k),
        )
        return [(number, -value) for number, value in rows if number < self._size]

    def holding(self, word: str) -> set[int]:
        """Return the numbers of the passages that hold a word, in any of its forms."""
        asked = match(word)
        if not asked:
            return set()
        rows = self._rows.execute("SELECT rowid FROM passages WHERE passages MATCH ?", (asked,))
        return {number for (number,) in rows}


def search_words(text: str) -> list[str]:
    """Return the words of a query that tell passages apart, each once, in their order: no number, no single letter."""
    words = (word for word in _WORD.findall(text[:LONGEST].casefold()) if word not in STOP)
    words = (word for word in words if len(word) > 1 and not word.isdigit())
    return list(dict.fromkeys(words))[:MOST_WORDS]


def match(text: str) -> str:
    """Return the FTS5 expression that asks for any word of *text*, "" where it has none.

    Every word is a quoted string without quotes in it: nothing that a text holds is an operator of FTS5.
    """
    return " OR ".join('"%s"' % word for word in search_words(text))


def _built(passages: Sequence[Passage], path: str) -> sqlite3.Connection:
    rows = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    rows.execute("PRAGMA synchronous=OFF")
    rows.execute("BEGIN")
    rows.execute("CREATE VIRTUAL TABLE passages USING fts5(title, text, tokenize='%s')" % TOKENIZER)
    rows.executemany(
        "INSERT INTO passages(rowid, title, text) VALUES (?, ?, ?)",
        ((number, _plain(passage.title), _plain(passage.text)) for number, passage in enumerate(passages)),
    )
    rows.execute("CREATE TABLE made (state BLOB NOT NULL)")
    rows.execute("INSERT INTO made VALUES (?)", (_state(passages),))
    rows.execute("COMMIT")
    return rows


def _opened(passages: Sequence[Passage], path: str) -> sqlite3.Connection:
    """Return the index in the file, made anew unless it is of these passages."""
    with contextlib.suppress(sqlite3.Error):
        return _read(path, _state(passages))
    new = "%s.%s" % (path, os.urandom(4).hex())
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _built(passages, new).close()
        os.rename(new, path)  # whole or not at all; who has the old one open keeps it
        return _read(path, _state(passages))
    except (OSError, sqlite3.Error):
        with contextlib.suppress(OSError):
            os.unlink(new)
        return _built(passages, ":memory:")


def _read(path: str, state: bytes) -> sqlite3.Connection:
    """Raise `sqlite3.Error` where the file is missing, damaged or of other passages."""
    rows = sqlite3.connect("file:%s?mode=ro&immutable=1" % _escaped(path), uri=True, check_same_thread=False)
    try:
        if rows.execute("SELECT state FROM made").fetchall() != [(state,)]:
            raise sqlite3.DatabaseError("of other passages")
        if rows.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise sqlite3.DatabaseError("damaged")
        rows.execute("SELECT rowid FROM passages WHERE passages MATCH '\"a\"' LIMIT 1").fetchall()
    except BaseException:
        rows.close()
        raise
    return rows


def _escaped(path: str) -> str:
    """Return a path as a part of SQLite's URI."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _state(passages: Sequence[Passage]) -> bytes:
    state = hashlib.sha256(TOKENIZER.encode())
    for passage in passages:
        state.update(digest(passage.title) + digest(passage.text))
    return state.digest()


def _plain(text: str) -> str:
    """Return text as SQLite takes it: no lone surrogates."""
    return text.encode("utf-8", "replace").decode()
