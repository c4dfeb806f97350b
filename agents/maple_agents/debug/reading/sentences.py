"""What the C library and bash say, in the languages that a user's locale may choose: `sentences.txt`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

# bash of a process; elsewhere these are words of every day
KILLED = ("Getötet", "Processus arrêté", "Terminado (killed)", "Ucciso", "Morto", "Geëlimineerd", "強制終了")
ABORTED = ("Abgebrochen", "Abandon", "Abortado", "Annullato", "Afgebroken", "中止")


@cache
def english_of() -> Mapping[str, str]:
    """Return the English of each sentence; also of one whose letters could not be read, as of a log in Latin-1."""
    return {form: own for own, one in _pairs() for form in (one, *([unread(one)] if _is_latin(one) else []))}


def literals() -> Iterator[bytes]:
    """Yield the sentences, and the words for a death, as they stand in a log in UTF-8 and in Latin-1."""
    for one in (*(one for _, one in _pairs()), *KILLED, *ABORTED):
        yield one.encode()
        if not one.isascii() and _is_latin(one):
            yield one.encode("latin-1")


def unread(text: str) -> str:
    """Return *text* as it is read where it stands in Latin-1."""
    return "".join(letter if letter.isascii() else "\ufffd" for letter in text)


def _is_latin(text: str) -> bool:
    return max(text) <= "\xff"


def _pairs() -> Iterator[tuple[str, str]]:
    own = ""
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            yield own, line.strip()
        elif line and not line.startswith("#"):
            own = line
