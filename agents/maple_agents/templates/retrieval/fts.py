"""Passages found by their words: SQLite FTS5, ranked by BM25. In memory, or in a cache file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
from collections.abc import Sequence

from .passages import Passage, digest

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
        found = self._rows.execute(
            "SELECT rowid, bm25(passages, ?, 1.0) AS value FROM passages WHERE passages MATCH ?"
            " ORDER BY value, rowid LIMIT ?",
            (TITLE_WEIGHT, asked, k),
        )
        return [(number, -value) for number, value in found if number < self._size]

    def holding(self, word: str) -> set[int]:
        """Return the numbers of the passages that hold a word, in any of its forms."""
        asked = match(word)
        if not asked:
            return set()
        found = self._rows.execute("SELECT rowid FROM passages WHERE passages MATCH ?", (asked,))
        return {number for (number,) in found}


def words(text: str) -> list[str]:
    """Return the words of a query that tell passages apart, each once, in their order."""
    found = (word for word in _WORD.findall(text[:LONGEST].casefold()) if word not in STOP)
    return list(dict.fromkeys(found))[:MOST_WORDS]


def match(text: str) -> str:
    """Return the FTS5 expression that asks for any word of *text*, "" where it has none.

    Every word is a quoted string without quotes in it: nothing that a text holds is an operator of FTS5.
    """
    return " OR ".join('"%s"' % word for word in words(text))


def _built(passages: Sequence[Passage], path: str) -> sqlite3.Connection:
    rows = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    rows.execute("PRAGMA synchronous=OFF")
    rows.execute("BEGIN")
    rows.execute("CREATE VIRTUAL TABLE passages USING fts5(title, text, tokenize='%s')" % TOKENIZER)
    rows.executemany(
        "INSERT INTO passages(rowid, title, text) VALUES (?, ?, ?)",
        ((number, _plain(one.title), _plain(one.text)) for number, one in enumerate(passages)),
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
    found = hashlib.sha256(TOKENIZER.encode())
    for one in passages:
        found.update(digest(one.title) + digest(one.text))
    return found.digest()


def _plain(text: str) -> str:
    """Return text as SQLite takes it: no lone surrogates."""
    return text.encode("utf-8", "replace").decode()
