"""Number words of other languages, put together by each language's own way: "zweiunddreißig", "trentadue", "cem"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_ONES: Mapping[str, str] = {
    "German": "ein zwei drei vier fünf sechs sieben acht neun",
    "French": "un deux trois quatre cinq six sept huit neuf",
    "Spanish": "uno dos tres cuatro cinco seis siete ocho nueve",
    "Italian": "uno due tre quattro cinque sei sette otto nove",
    "Portuguese": "um dois três quatro cinco seis sete oito nove",
}
_TENS: Mapping[str, str] = {
    "German": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "French": "vingt trente quarante cinquante soixante",
    "Spanish": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "Italian": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "Portuguese": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
}
_HUNDRED: Mapping[str, str] = {
    "German": "hundert einhundert",
    "French": "cent",
    "Spanish": "cien",
    "Italian": "cento",
    "Portuguese": "cem",
}
_JOINED: Mapping[str, str] = {
    "German": "{one}und{ten}",
    "French": "{ten}-{one}",
    "Spanish": "{ten} y {one}",
    "Italian": "{ten}{one}",
    "Portuguese": "{ten} e {one}",
}


def numerals(language: str) -> dict[str, str]:
    """Return the words for twenty to a hundred, and two hundred to nine hundred in German, with their digits."""
    return dict(_numerals(language)) if language in _TENS else {}


def _numerals(language: str) -> Iterator[tuple[str, str]]:
    ones, tens = _ONES[language].split(), _TENS[language].split()
    for word in _HUNDRED[language].split():
        yield word, "100"
    for at, ten in enumerate(tens, 2):
        yield from ((spelt, str(10 * at)) for spelt in _spellings(ten))
        for one, name in enumerate(ones, 1):
            stem = ten[:-1] if language == "Italian" and name[0] in "uo" else ten  # ventuno, trentotto
            for spelt in _spellings(_JOINED[language].format(one=name, ten=stem)):
                yield spelt, str(10 * at + one)
    if language == "German":
        yield from ((name + "hundert", str(100 * one)) for one, name in enumerate(ones[1:], 2))


def _spellings(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((word, word.replace("ß", "ss"), word.replace("ü", "ue"))))
