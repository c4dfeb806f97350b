"""The fields of a line in anybody's style: numbers, each with what is written before it and behind it.

`"iter": "270/3761"`, `time: 0.6120`, `elapsed time per iteration (ms): 140.6`, `Tokens/s/device: 8437.1`, `3,280.26/s`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from . import printed
from .values import Speed

_NUMBER = re.compile(
    r"(?<![\w.,/-])(?<!\d:)(?P<value>[-+]?\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?(?:[KMGB](?![A-Za-z]))?)"
    r"(?:\s?(?P<behind>(?:[A-Za-z]{1,12})?/(?:[A-Za-z]{1,12})|[mu]?s|sec)(?!\w)|(?P<other>[A-Za-z%]{1,12}))?(?![\w.]*\w|[:/-]\d)"
)
_BEFORE = re.compile(r"[|,;\t\[\]{}<>]|\s-\s|\s{3,}|INFO|>>")  # what parts a field from the one before it
_KEY = re.compile(
    r"(?P<key>[^\W\d][\w./@ -]{0,60}?)\s*(?:\((?P<unit>[a-z/ ]{1,12})\))?[\"']?\s*[:=(]{0,2}\s*[\"']?\Z", re.I
)
_MOST = 60  # characters of a key
_LEAST, _MOST_SECONDS = 5e-4, 1e5  # seconds that a step may take
_THINGS = {
    "samples": r"samples?|examples?|sequences?|seqs?|sentences?|imgs?|images?|clips?|graphs?|structures?|utts?|rows?",
    "tokens": r"tok(?:en)?s?",
    "words": r"words?",
    "frames": r"frames?",
    "it": r"it|iters?|iterations?|steps?|schritte?|updates?|batch(?:es)?",
}
_ANY = "|".join(_THINGS.values())
_STEP = r"(?:it|iter|iteration|step|batch|update)"
_PER_SECOND = re.compile(rf"(?:^|[^a-z])(?P<of>{_ANY})(?:/|_?per_?|_)s(?:ec(?:ond)?s?)?(?![a-z])")
_SHORT = {
    "tps": "tokens",
    "wps": "tokens",
    "tgs": "tokens",
    "ups": "it",
    "ips": "samples",
    "sps": "samples",
    "fps": "frames",
}
_EACH = re.compile(
    rf"^(?:.*/)?(?:(?:train|elapsed|global|avg|mean|median)_)?(?:{_STEP}s?_?(?:time|dt|duration|secs?|seconds)"
    rf"|time_per_{_STEP}|dt|(?:s|sec|secs|seconds)(?:/|_per_){_STEP}|batch_t)$"
)
_TIME = re.compile(r"^(?:time|seconds|sec|elapsed)$")
_BEHIND_EACH = re.compile(rf"(?P<unit>m?s)(?:ec)?/{_STEP}", re.I)
_BEHIND_RATE = re.compile(rf"(?P<of>{_ANY})/s(?:ec)?", re.I)
_LOADING = re.compile(r"data|load|eval|val|test|gen|save|ckpt|checkpoint|total|max|warm")
_UNITS = {
    "ms": ("ms/step", 1e-3),
    "us": ("us/step", 1e-6),
    "s": ("s/step", 1.0),
    "sec": ("s/step", 1.0),
    "": ("s/step", 1.0),
}


class Field(NamedTuple):
    """*key*: in small letters, with underscores. *unit*: in brackets behind the key. *behind*: behind the number."""

    key: str
    value: float
    unit: str
    behind: str


class Pace(NamedTuple):
    """A speed as it is printed, and the seconds of a step where it tells them. *doubtful*: it may be a time so far."""

    speed: Speed
    seconds: float | None
    doubtful: bool = False


def fields(text: str) -> Iterator[Field]:
    """Yield the numbers of a line with what names them; a number without a name has the key ""."""
    end = 0
    for match in _NUMBER.finditer(text):
        value = printed.number(match["value"].rstrip(","))
        lead = text[max(end, match.start() - _MOST) : match.start()]
        cut = max((one.end() for one in _BEFORE.finditer(lead)), default=0)
        named = _KEY.search(lead[cut:].lstrip(" '\"(:="))
        end = match.end()
        if value is not None:
            key = re.sub(r"[ -]+", "_", named["key"].strip().lower()) if named else ""
            behind = match["behind"] or match["other"] or ""
            yield Field(key, value, (named["unit"] or "").lower() if named else "", behind.lower())


def paces(text: str) -> list[Pace]:
    """Return what a line tells of speed: what is counted by the second first, then the time of a step."""
    found = [pace for field in fields(text) for pace in [_pace(field, text)] if pace is not None]
    return sorted(found, key=lambda pace: _order(pace))


def _order(pace: Pace) -> int:
    return 2 if pace.doubtful else 1 if pace.seconds is not None else 0


def _pace(field: Field, text: str) -> Pace | None:
    """Return the speed that a field tells, None where it tells another thing."""
    if field.value <= 0 or (
        field.key and _LOADING.search(field.key.replace("update", "")) and not _PER_SECOND.search(field.key)
    ):
        return None
    each, rate = _BEHIND_EACH.fullmatch(field.behind), _BEHIND_RATE.fullmatch(field.behind)
    if each:
        unit = each["unit"].lower()
        return Pace(Speed(field.value, unit + "/step"), field.value * _UNITS[unit][1])
    if rate:
        return _rate(field.value, rate["of"])
    if field.behind in ("/s", "/sec") or field.unit in ("iter/s", "it/s", "steps/s", "step/s"):
        return Pace(Speed(field.value, "samples/s"), None) if field.behind else _rate(field.value, "it")
    per = _PER_SECOND.search(field.key)
    if per:
        return _rate(field.value, per["of"])
    short = _SHORT.get(field.key)
    if short:
        words = field.key == "wps" and re.search(r"\bwpb\b|\bups\b", text) is not None
        return _rate(field.value, "words" if words else short)
    return _time(field)


def _rate(value: float, of: str) -> Pace:
    """Return a speed by the second of what a word calls."""
    thing = next(name for name, words in _THINGS.items() if re.fullmatch(words, of.lower()))
    return Pace(Speed(value, thing + "/s"), 1 / value if thing == "it" else None)


def _time(field: Field) -> Pace | None:
    """Return the time of a step, by what is called so; one that is called "time" alone is doubtful."""
    key = re.sub(r"_(ms|us|s|sec)$", "", field.key)
    unit = field.behind or field.unit or field.key[len(key) + 1 :]
    key += "_t" if field.unit == "t" else ""
    unit = "" if field.unit == "t" else unit
    sure = _EACH.search(key) is not None
    if unit not in _UNITS or not (sure or _TIME.match(key)):
        return None
    name, factor = _UNITS[unit]
    if not _LEAST <= field.value * factor <= _MOST_SECONDS:
        return None
    return Pace(Speed(field.value, name), field.value * factor, not sure)
