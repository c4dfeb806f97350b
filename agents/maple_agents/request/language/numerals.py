"""Number words of other languages, put together by each language's own way: "zweiunddreißig", "trentadue", "cem"."""

from __future__ import annotations

from collections.abc import Iterator

from .vocabulary import table, texts

_WORDS = texts("numerals")
_ONES, _TENS, _HUNDRED, _JOINED, _COUNTED = (
    {name: words.strip() for name, words in (line.split(":", 1) for line in _WORDS[key].strip().splitlines())}
    for key in ("ones", "tens", "hundred", "joined", "counted")
)


def numerals(language: str) -> dict[str, str]:
    """Return the words for twenty to a hundred, and two hundred to nine hundred in German, with their digits.

    Where a number and what it counts are one, "두 시간", that in English.
    """
    if language in _COUNTED:
        return dict(_counted(language))
    return dict(_numerals(language)) if language in _TENS else {}


def _counted(language: str) -> Iterator[tuple[str, str]]:
    for number, word in enumerate(_COUNTED[language].split(), 1):
        for counter, counts in table(_WORDS[language]).items():
            yield word + counter, "%d %s" % (number, counts)
            yield "%s %s" % (word, counter), "%d %s" % (number, counts)


def _numerals(language: str) -> Iterator[tuple[str, str]]:
    ones, tens = _ONES[language].split(), _TENS[language].split()
    for word in _HUNDRED[language].split():
        yield word, "100"
    for at, ten in enumerate(tens, 2):
        yield from ((spelt, str(10 * at)) for spelt in _spellings(ten))
        for digit, name in enumerate(ones, 1):
            stem = ten[:-1] if language == "Italian" and name[0] in "uo" else ten  # ventuno, trentotto
            for spelt in _spellings(_JOINED[language].format(one=name, ten=stem)):
                yield spelt, str(10 * at + digit)
    if language == "German":
        yield from ((name + "hundert", str(100 * digit)) for digit, name in enumerate(ones[1:], 2))


def _spellings(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((word, word.replace("ß", "ss"), word.replace("ü", "ue"))))
