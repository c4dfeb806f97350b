"""Whether a text can be read as a request at all, and one in another language word by word in English.

Every character of the English keeps its place in what was written. It is no translation for people: the grammar knows
key words, and reads them whatever stands between them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .numerals import numerals
from .vocabulary import listed, pattern, table, texts

MOST = 8_000  # characters; a request is a few sentences
_FREQUENT = texts("languages")
_ENGLISH = listed(_FREQUENT["English"])
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # written without blanks, or with endings
_EDGE = re.compile(r"(?<=[\w.-])(?<!%s)(?=%s)|(?<=%s)(?=[\w.-])(?!%s)" % ((_CJK.pattern,) * 4))
_HAN, _COUNTERS = r"(?:[A-Za-z][\w-]*|[\u3040-\u30ff\u3400-\u9fff]+|[\uac00-\ud7af]+)", "개|대|장|枚|台|つ"
_COUNTED = re.compile(r"(?P<what>%s)[ \t]?(?P<n>\d+)[ \t]?(?:%s)(?:의|씩)?" % (_HAN, _COUNTERS), re.ASCII)
_WIDE = re.compile("[，。；：！？、（）「」《》“”]")
_PLAIN = (", ", ". ", "; ", ": ", "! ", "? ", ", ", " (", ") ", *'"' * 6)
_PUNCTUATION = dict(zip("，。；：！？、（）「」《》“”", _PLAIN, strict=True))
_SIGN = r"[^\s，,]"
_KEPT = re.compile(
    r"S*[/=@_$~\\]S*|S+\.\w+|(?<![\w])-{1,2}[A-Za-z]S*|`[^`]*`|S*\dS*[A-Za-z]S*|[A-Za-z]+-S*\dS*".replace("S", _SIGN)
)
_ABOUT = re.compile(r"(?i)(?:\b(?:re-?)?(?:%s))" % pattern(texts("foreign_shared")["about"]))
_UNSEEN = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


class Translated(NamedTuple):
    """*text*: in English. *places*: for each of its characters, and for its end, a character of what was written."""

    text: str
    places: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of what was written that gave those from *start* to *end*."""
        return self.places[start], self.places[max(start, end - 1)] + 1


def refusal(text: str) -> str | None:
    """Return in one line why *text* cannot be read as a request, None where its form is right. Takes bounded time."""
    if len(text) > MOST:
        return "the request has %d characters, more than %d; say it in a few sentences" % (len(text), MOST)
    if not text.strip():
        return 'the request is empty; say for example "train.py with DDP on 2 nodes, 4 hours, account abc123"'
    odd = next(
        (
            sign
            for sign in text
            if unicodedata.category(sign) in ("Cc", "Cs", "Co", "Cn") and sign not in "\t\n\r" or sign in _UNSEEN
        ),
        "",
    )
    if odd:
        return "the request holds the character U+%04X, which is no text; write it in plain words" % ord(odd)
    words = known(text) or re.search(r"[A-Za-z]", text) or unknown(text)
    return None if words else "the request holds no words; say what to run and on how many nodes"


def about_a_job(text: str) -> bool:
    """Tell whether any word of the text speaks of a job."""
    return bool(_ABOUT.search(text))


def unknown(text: str) -> str | None:
    """Return in one line that the language of a text is none that is read here, None where it is one.

    Numbers, commands and names of the site are read all the same.
    """
    letters = [sign for sign in text if sign.isalpha()]
    strange = sum(not _latin(sign) for sign in letters)
    is_strange = letters and strange * 3 > len(letters) and not known(text)
    return "the request is not in English; requests are read in English" if is_strange else None


def _latin(sign: str) -> bool:
    return sign.isascii() or "LATIN" in unicodedata.name(sign, "") or sign in "µμΩ"


def language(text: str) -> str:
    """Return the language of which a text has more words than of English, "" for English."""
    if _CJK.search(text):
        kana = re.search(r"[\u3040-\u30ff]", text)
        return "Korean" if re.search(r"[\uac00-\ud7af]", text) else "Japanese" if kana else "Chinese"
    words = _words(text)
    english = sum(word in _ENGLISH for word in words)
    most = max(_known(), key=lambda name: _hits(words, name))
    hits = _hits(words, most)
    loans = sum(word in _ENGLISH and word in _SHARED for word in words)  # "script" and "account" tell no language
    return most if hits and (hits > english or hits > max(1, english - loans)) else ""


def known(text: str) -> bool:
    """Tell whether the language of a text, other than English, has a lexicon."""
    return language(text) in texts("foreign")


def _words(text: str) -> list[str]:
    """Return the words of a text that are no commands, paths or options."""
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", re.sub(r"`[^`]*`|\S*[/=._]\S*", " ", text.lower()))


def _hits(words: Sequence[str], name: str) -> int:
    return len({word for word in words if word in _known()[name]})


@cache
def _known() -> dict[str, frozenset[str]]:
    """Return the words by which each language is recognised: frequent ones, and those of its lexicon."""
    languages = {}
    for name in (*texts("foreign"), *_FREQUENT):
        own = {phrase for phrase in table(texts("foreign").get(name, "")) if " " not in phrase and len(phrase) > 2}
        languages[name] = frozenset(own | listed(_FREQUENT.get(name, ""))) - _ENGLISH - _SHARED
    languages.pop("English")
    return languages


_SHARED = listed(texts("foreign_shared")["shared"])


def apart(text: str) -> str:
    """Return *text* with a wide comma for every sign of Chinese or Japanese; no character moves.

    So a command ends where they begin, with or without a blank.
    """
    return _WIDE.sub("，", _CJK.sub("，", _commas(text))) if _CJK.search(text) else text


_TURKISH = re.compile(r"(?<=\w)['’](?:n?[dt][ae]n?|[yn]?[aeıiuü]|n?[ıiuü]n|[yl]l?[ae])(?!\w)")  # endings of names


def _commas(text: str) -> str:
    text = re.sub(r"(?<=[\u3040-\u30ff\u3400-\u9fff]):(?=\s*\d)", "：", text)
    return re.sub(r",(?=\s*(?:\d+(?:\.\d+)?\s*)?[\u3040-\u30ff\u3400-\u9fff])", "，", text)


def english(text: str, kept: Sequence[tuple[int, int]]) -> Translated | None:
    """Return *text* in English; None where it is, or where no lexicon knows its language.

    *kept*: characters that stay as they are (commands, options).
    """
    name = language(text)
    foreign = name in texts("foreign")
    text = _commas(text) if foreign else text
    text = _TURKISH.sub(lambda ending: " " * len(ending[0]), text) if name == "Turkish" else text
    replaced = _with_borrowed(text, _replacements(text, name, kept) if foreign else [])
    if not foreign and not replaced:
        return None
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for start, end, words in replaced:
        parts += [text[at:start], words]
        places += [*range(at, start), *_spread(start, end, len(words))]
        at = end
    parts.append(text[at:])
    places += range(at, len(text) + 1)
    return Translated("".join(parts), tuple(places))


def _spread(start: int, end: int, size: int) -> list[int]:
    """Return places for *size* characters that stand for those from *start* to *end*."""
    return [start] * (size // 2) + [end - 1] * (size - size // 2)


def _replacements(text: str, name: str, kept: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
    pattern, phrases = _lexicon(name)
    fixed = sorted([*kept, *(match.span() for match in _KEPT.finditer(apart(text)))])
    replaced = list(_counted(text, phrases))
    fixed += [(start, end) for start, end, _ in replaced]
    for match in pattern.finditer(text):
        start, end = match.span()
        if any(begin < end and start < stop for begin, stop in fixed):
            continue
        wide = _PUNCTUATION.get(match.group())
        words = wide if wide is not None else phrases[" ".join(match.group().lower().split())].strip("-")
        replaced.append((start, end, words if wide is not None or not _CJK.match(match.group()) else " %s " % words))
    edges = (match.start() for match in _EDGE.finditer(text))  # "1GPUだけ": a name ends where such signs begin
    replaced += [(at, at, " ") for at in edges if not any(start <= at <= end for start, end, _ in replaced)]
    return sorted(replaced)


def _with_borrowed(text: str, replaced: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return *replaced* and the units behind a number that are of another language than the text: "4 heures"."""
    pattern, units = _units()
    borrowed = [(*match.span(), " %s" % units[match["unit"].lower()]) for match in pattern.finditer(text)]
    free = [own for own in borrowed if not any(start < own[1] and own[0] < end for start, end, _ in replaced)]
    return sorted([*replaced, *free])


@cache
def _units() -> tuple[re.Pattern[str], dict[str, str]]:
    units = {
        phrase: words
        for name in texts("foreign")
        for phrase, words in table(texts("foreign")[name].lower()).items()
        if words in _OF_A_NUMBER and len(phrase) > 2 and phrase.isalpha() and not _CJK.search(phrase)
    }
    longest = sorted({*units} - _ENGLISH - _SHARED - _OF_A_NUMBER, key=len, reverse=True)
    return re.compile(r"(?i)(?<=\d)[ \t\u00a0]?(?P<unit>%s)(?![\w'-])" % "|".join(longest)), units


_OF_A_NUMBER = frozenset(("node", "nodes", "hour", "hours", "minute", "minutes", "day", "days", "week", "weeks"))


def _counted(text: str, phrases: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Yield what is counted behind its name, "노드 2개", as English counts it."""
    for match in _COUNTED.finditer(text):
        what = match["what"] if match["what"].isascii() else phrases.get(match["what"], "")
        if what:
            yield *match.span(), " %s %s " % (match["n"], what)


@cache
def _lexicon(name: str) -> tuple[re.Pattern[str], dict[str, str]]:
    phrases = table(texts("foreign")[name].lower() if name != "Chinese" else texts("foreign")[name])
    phrases = {**numerals(name), **phrases}
    longest = sorted(phrases, key=len, reverse=True)
    each = [
        re.escape(phrase) if _CJK.search(phrase) else r"(?<![\w'-])%s(?![\w'-])" % re.escape(phrase)
        for phrase in longest
    ]
    each = [
        phrase.replace(r"(?![\w'-])", "") if phrase.endswith(r"'(?![\w'-])") or r"\.(?!" in phrase else phrase
        for phrase in each
    ]
    each = [phrase.replace(r"\ ", r"[ \t]+") for phrase in each]
    return re.compile("|".join([*each, _WIDE.pattern]), re.IGNORECASE), phrases
