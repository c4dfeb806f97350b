"""What the C library and bash say, in the languages that a user's locale may choose: `sentences.txt`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

# bash of a process; elsewhere these are words of every day
KILLED = ("Getötet", "Processus arrêté", "Terminado (killed)", "Ucciso", "Morto", "Geëlimineerd", "強制終了", "已杀死")
ABORTED = ("Abgebrochen", "Abandon", "Abortado", "Annullato", "Afgebroken", "中止", "已放弃")


@cache
def english_of() -> Mapping[str, str]:
    """Return the English of each form of each sentence."""
    return {form: own for own, one in _pairs() for form in forms(one)}


def literals() -> Iterator[bytes]:
    """Yield the sentences, and the words for a death, as they stand in a log in UTF-8, in Latin-1 and in ASCII."""
    for one in (*(one for _, one in _pairs()), *KILLED, *ABORTED):
        yield one.encode()
        if not one.isascii() and _is_latin(one):
            yield one.encode("latin-1")
            yield one.encode("ascii", "replace")


def forms(text: str) -> set[str]:
    """Return *text*, and how it is read where it stands in Latin-1, or its letters became question marks."""
    odd = ("\ufffd", "?") if _is_latin(text) else ()
    return {text, *("".join(letter if letter.isascii() else one for letter in text) for one in odd)}


def _is_latin(text: str) -> bool:
    return max(text) <= "\xff"


def _pairs() -> Iterator[tuple[str, str]]:
    own = ""
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            yield own, line.strip()
        elif line and not line.startswith("#"):
            own = line
