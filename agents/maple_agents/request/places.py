"""Where a job goes and who pays: partition, queue, QOS, account; each from its key word and the name beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .language.lexemes import NAMED, OPEN, SAID, WEAK, Line, Reading
from .language.vocabulary import either, listed, texts
from .language.words import NAME, WORD, Token

_WORDS = texts("places")
_SLOTS = {
    "account": "account",
    "project": "account",
    "allocation": "account",
    "partition": "partition",
    "queue": "queue",
    "qos": "qos",
}
_VALUE = re.compile(r"[\"'`*_(<\[]*(?P<value>(?:[\w][\w.+-]*[\w]|\w)(?:@[a-z]\w{2,7}(?!\.?[\w@]))?)")
_HOSTILE = re.compile(r"[\"'`(<\[]*[^\s,]*(?:[$`|&<>\\{}]|;\S|\.\./)")
_LINK = re.compile(
    r"(?:[ \t]+(?:with|for|of|that has)(?:[ \t]+[\w-]+){1,3}(?=[ \t]+is[ \t]+(?:called|named)\b))?"  # "with GPUs"
    r"[\"'*_)]*(?:[ \t]*(?P<sign>:=|=>|=|:|->|#)[\"'*_]*|[ \t]+(?:(?P<is>is|called|named|will "
    r"be|should be|must be|would be)(?![\w-])|"
    r"(?:name|number|code|id|string|of|to (?:use|charge|bill)|to|under|the|for (?:this|the "
    r"job|it))(?![\w-]))){0,8}[ \t]*",
    re.I,
)
_NAMES_IT = re.compile(r"\b(?:name|number|code|id|to (?:use|charge|bill))\b", re.I)
_TWO_WORDS = re.compile(r"[a-z]+-[a-z]+(?<!ed|.y)(?<!full|long)")  # "is debug-scaling", not "is over-loaded"
_AMOUNT = re.compile(r"\d+(?:h|hrs?|hours?|m|mins?|minutes?|d|days?|n|nodes?|gpus?|ppn)", re.I)  # "gpu partition 3h"
_STOP = listed(_WORDS["stop"])
_COMMON_BEFORE = listed(_WORDS["common_before"])


_USES = listed(_WORDS["uses"])
_TELLS = listed(_WORDS["tells"]) | {""}


def read(line: Line, text: str) -> Iterator[Reading]:
    """Yield the places of a request. *text* as written: names keep their case."""
    for match in line.find(
        r"(?:account|project|allocation|partition|queue|qos|quality of service|charge|bill"
        r"|budget|books of|paid (?:by|from|with|out of)|funded by)"
    ):
        word = line.words[match.first]
        key = "qos" if word.lex == "quality" else word.lex
        if key not in _SLOTS:
            yield from _charged(line, text, match.last, key != "budget")
            continue
        used = match.first > 0 and line.words[match.first - 1].lex in _USES
        behind = _behind(line, text, match.last, key, used)
        if behind is not None:
            yield behind._replace(start=min(word.start, behind.start))
            continue
        ahead = _ahead(line, match.first, _SLOTS[key], key, text)
        if ahead is not None:
            yield ahead
    yield from _parts(line, text)


_SEPARATES = frozenset((",", ";", "|", "(", ")", ".", "", "\n"))


def _parts(line: Line, text: str) -> Iterator[Reading]:
    """Yield the partition of "1 gpu each, part gpu, 4h": the short word counts as an item of a list alone."""
    for at, word in enumerate(line.words):
        around = [line.words[place].text if 0 <= place < len(line.words) else "" for place in (at - 1, at + 2)]
        if word.text.lower() == "part" and _SEPARATES.issuperset(around):
            behind = _behind(line, text, at, "partition", False)
            if behind is not None:
                yield behind._replace(start=min(word.start, behind.start))


def _behind(line: Line, text: str, at: int, key: str, used: bool) -> Reading | None:
    """Return the name behind a key word: "account abc", "queue: debug", "partition is called gpu"."""
    word, slot = line.words[at], _SLOTS[key]
    link = _LINK.match(text, word.end)
    start = link.end() if link else word.end
    named = bool(link and (link.group("sign") or link.group("is")))
    signed = bool(link and link.group("sign"))
    if start == word.end and not text[start : start + 1].isspace():
        return None
    quoted = text[start : start + 1] in "\"'`" and text[start : start + 1] != ""
    match = _VALUE.match(text, start)
    closed = quoted and match is not None and text[match.end() : match.end() + 1] == text[start]
    if not match or not closed and _HOSTILE.match(text, start):
        if _HOSTILE.match(text, start) and (signed or quoted) and slot == "account":
            return Reading(
                OPEN, "no %s is called %r" % (key, text[start : start + 30].split("\n")[0]), word.start, start + 1
            )
        return None
    value, end = match.group("value"), match.end("value")
    stops = value.lower() in _STOP and not (value.lower() == "gpu" and slot in ("partition", "queue"))
    if not (signed or quoted) and line.words[line.word_at(match.start("value"))].lex in _VALUES:
        return None
    stops = stops and not (signed and start == word.end + 1)  # "qos=long"
    if value.isdigit() and re.match(r"[ \t]*(?:[x×*]|-?[ \t]?[A-Za-z]{3})", text[end : end + 8]):
        return None  # "gpu partition: 2 nodes"
    if "\n" in text[word.end : start] or (stops or _AMOUNT.fullmatch(value) and not signed) and not quoted:
        return None
    if text[end : end + 1] == "/" or re.match(r"\.\w+\(|\(", text[end : end + 3]):
        return None
    is_told = used and slot == "account" or _is_told(link, key) or _is_item(line, at) and not named
    ends = _ends(text, end) or _value_follows(line, end)
    if not (signed or quoted or _shaped(value, key, ends, is_told)):
        return None
    return Reading(slot, value, match.start("value"), end, NAMED if named and signed else SAID)


def _is_told(link: re.Match[str] | None, key: str) -> bool:
    """Tell whether what links a key word to a name says that it is one; a project "is" many things ("is late")."""
    says = (link.group("is") or "").lower() if link else ""
    if key == "queue" and says in ("called", "named"):
        return False  # as sure as "queue abc"
    named = bool(link and _NAMES_IT.search(link.group()))  # "the allocation to charge is", "the project's code is"
    return bool(says) and (key not in ("project", "allocation") or says != "is" or named)


def _is_item(line: Line, at: int) -> bool:
    """Tell whether "project" begins an item of a list: "2 nodes, project abc, queue prod"."""
    return line.words[at].lex in ("project", "allocation") and (at == 0 or line.words[at - 1].lex in _ITEM_BEGINS)


def _value_follows(line: Line, end: int) -> bool:
    """Tell whether the word behind a name is a value, or the key, of another slot: "partition ai SITE"."""
    at = line.word_at(end) + 1
    return at < len(line.words) and (line.words[at].lex in _VALUES or line.words[at].lex in _OTHER_KEYS)


_VALUES = ("SITE", "PARADIGM", "MODEL", "LAUNCHER", "DUR", "§")
_OTHER_KEYS = ("filesystem", "file", "walltime", "container", "image", "conda", "env", "program")
_ITEM_BEGINS = listed(_WORDS["item_begins"])


def _shaped(value: str, key: str, ends: bool, is_told: bool) -> bool:
    """Tell whether a bare word behind a key word is its name: a project needs a digit, a dash or capitals.

    *ends*: the clause ends with it. *is_told*: words around it say that it is a name.
    """
    mixed = (
        bool(re.search(r"\d", value) and re.search(r"[A-Za-z]", value))
        or bool(re.search(r"\w[_-]\w", value))
        and not re.fullmatch(r"[a-z]+-[a-z]+", value)
    )
    if key in ("project", "allocation"):
        capitals = (
            value.isupper()
            and len(value) >= 3
            and value.isalpha()
            or bool(re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", value))
        )
        return mixed or capitals or is_told and value.isascii() and ends and not value.endswith("ing")
    if key == "account":
        return mixed or value.isdigit() and len(value) > 2 or value.isascii() and ends
    if value.isdigit():
        return False
    sure = key != "queue" or not is_told or bool(_TWO_WORDS.fullmatch(value))  # a queue "is" many things, too
    return mixed or ends and sure or value.lower() in _WELL_KNOWN


_WELL_KNOWN = listed(_WORDS["well_known"])
_BEHIND_A_NAME = either(_WORDS["behind_a_name"])


def _ends(text: str, end: int) -> bool:
    """Tell whether the clause ends behind a name, or goes on with a word that cannot belong to it."""
    return bool(
        re.match(
            r"[\"'`*)\]>]*(?:\s*$|\s*[,.;:!?)\n]|\s+(?:%s)(?![\w-]))" % _BEHIND_A_NAME,
            text[end : end + 60],
            re.I,
        )
    ) or bool(re.match(r" -| [A-Za-z]*\d", text[end : end + 12]))


def _ahead(line: Line, at: int, slot: str, key: str, text: str) -> Reading | None:
    """Return the name before a key word: "the debug queue", "our m1234 allocation"."""
    if at == 0:
        return None
    word = line.words[at - 1]
    is_said = at > 2 and line.words[at - 2].lex == "is" and word.lex in ("the", "my", "our")  # "X is the project"
    if is_said or word.lex in ("'", '"', "`") and at > 2:
        word = line.words[at - 3 if is_said else at - 2]
    value = text[word.start : word.end]
    no_name = (
        value.lower() in _COMMON_BEFORE
        or value.lower() in _STOP
        and value.lower() not in ("gpu", "long", "short", "free")
    )
    if not re.fullmatch(r"[\w][\w.+-]+", value) or no_name:
        return None
    if line.words[at].glued and text[word.end : word.end + 1] == "-":
        return None
    if slot == "account":
        whole, start = _dashed(text, word)
        code = re.search(r"\d", whole) and re.search(r"[A-Za-z]", whole) and (word.kind == NAME or whole != value)
        camel = re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", whole)
        mixed = code or camel or key == "account" and whole.count("-") > 1 or is_said and re.search("_|[A-Z]", whole)
        return Reading(slot, whole, start, line.words[at].end) if mixed else None
    if word.kind in ("number", "DUR", "clock") or word.lex in ("SIZE", "MODEL", "PARADIGM", "DUR", "§"):
        return None
    if line.words[at].text in ("queues", "partitions"):
        return None
    before = line.words[at - 2].lex if at > 1 else ""
    whole, start = _dashed(text, word)
    is_told = before in _TELLS or word.kind == NAME or whole != value or at > 1 and line.words[at - 2].kind != WORD
    return Reading(slot, whole, start, line.words[at].end, SAID if is_told else WEAK) if is_told else None


def _dashed(text: str, word: Token) -> tuple[str, int]:
    """Return the whole name that ends with *word*, where dashes had taken it apart ("gpu-debug")."""
    start = word.start
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "-_."):
        start -= 1
    return text[start : word.end].lstrip("-._"), start + len(text[start : word.end]) - len(
        text[start : word.end].lstrip("-._")
    )


def _is_code(value: str, text: str, end: int) -> bool:
    """Tell whether a word right behind "charge" is whom to charge: by its shape, or because the clause ends with it."""
    if value.lower() in _STOP or value.lower() in _COMMON_BEFORE or value.lower() in ("against", "us", "back", "up"):
        return False
    return bool(re.search(r"\d|[A-Za-z][_-][A-Za-z]", value) or re.match(r"\s*(?:$|[,;.)\n])", text[end : end + 10]))


_PAYER = re.compile(
    r"[ \t]+(?:(?:the|my|our|account|project|allocation)[ \t]+){0,2}[\"'`]?(?P<value>[\w][\w.-]*\w)[\"'`]?"
)


def _charged(line: Line, text: str, at: int, direct: bool) -> Iterator[Reading]:
    """Yield the account of "charge it to abc", and *direct*ly behind it, "paid by m1234"."""
    own = _PAYER.match(text, line.words[at].end)
    if own and direct and _is_code(own.group("value"), text, own.end("value")):
        yield Reading("account", own.group("value"), line.words[at].start, own.end("value"))
        return
    match = re.compile(
        r"(?:[ \t]+(?:%s)){0,8}?[ \t]+(?:to|against|under|on|from|account|project|allocation)(?:[ "
        r"\t]+(?:the|my|our|account|project|allocation|number|code)(?![\w.-])){0,4}[ \t]*:?[ \t]*(?:[\"'`]?)"
        r"(?P<value>[\w][\w.-]*\w)" % either(_WORDS["behind_charge"]),
        re.I,
    ).match(text, line.words[at].end)
    if match and match.group("value").lower() not in _STOP | _COMMON_BEFORE:
        value = match.group("value")
        following = text[match.end() : match.end() + 12].lower()
        if (
            re.search(r"\d|[_-]", value)
            or _ends(text, match.end())
            or re.match(r"[\"'`]? (?:account|project|allocation)", following)
        ):
            yield Reading("account", value, line.words[at].start, match.end("value"))
