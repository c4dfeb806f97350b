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
    """Return the words for twenty to a hundred, and two hundred to nine hundred in German, with their digits.

    Where a number and what it counts are one, "두 시간", that in English.
    """
    if language in _COUNTERS:
        return dict(_counted(language))
    return dict(_numerals(language)) if language in _TENS else {}


_COUNTERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Korean": (
        "한 두 세 네 다섯 여섯 일곱 여덟 아홉 열 열한 열두",
        {"시간": "hours", "노드": "nodes", "개 노드": "nodes", "장": "GPUs", "대": "nodes", "개의 노드": "nodes"},
    ),
    "Japanese": (
        "一 二 三 四 五 六 七 八 九 十 十一 十二",
        {"時間": "hours", "ノード": "nodes", "枚": "GPUs", "日間": "days", "台": "nodes"},
    ),
}


def _counted(language: str) -> Iterator[tuple[str, str]]:
    words, counters = _COUNTERS[language]
    for number, word in enumerate(words.split(), 1):
        for counter, counts in counters.items():
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
