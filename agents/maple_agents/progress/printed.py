"""Numbers and times as progress lines print them: `11.5K`, `1,234`, `'0.13'`, `1:22:40`, `2d22h37m`, `nan`.

The fields of a line in anybody's style: numbers, each with what is written before and behind it, and the speeds among
them: `"train_speed(iter/s)": 0.31`, `elapsed time per iteration (ms): 140.6`, `Tokens/s/device: 8437.1`, `3,280.26/s`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .values import Speed

OF_DEVICE = " of one device"  # behind the unit of a throughput
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12, "p": 1e15}
_NUMBER = re.compile(r"([-+]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)([kKMGBTP]?)")
_CLOCK = re.compile(r"(?:(\d{1,4}) days?, |(\d{1,4})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d\d(?:\.\d+)?)")
_WORDS = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?:in)?)?(?:(\d{1,9}(?:\.\d+)?)s)?")
_BEYOND = ("nan", "inf", "-inf", "+inf", "infinity", "-infinity", "-nan")


def number(text: str | None) -> float | None:
    """Return a number with its thousands, its K, M, G or B; nan and inf too; None for anything else."""
    text = (text or "").strip().strip("'\"")
    if text.lower() in _BEYOND:
        return float(text.lower())
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    return float(match[1].replace(",", "").replace("_", "")) * _SCALES[match[2].lower()]


def whole(text: str | None) -> int | None:
    """Return a whole number below 10¹⁵, None for anything else; 1.2K is 1200."""
    value = number(text)
    return int(value) if value is not None and value == value and 0 <= value < 1e15 and value == int(value) else None


def seconds(text: str | None) -> float | None:
    """Return the seconds of `03:23`, `1:22:40`, `1 day, 2:03:04`, `1d02h`, `3m`, `15s`; None for anything else."""
    text = (text or "").strip().replace(" ", "") if "day" not in (text or "") else (text or "").strip()
    match = _CLOCK.fullmatch(text)
    if match:
        days, hours = int(match[1] or match[2] or 0), int(match[3] or 0)
        return ((days * 24 + hours) * 60 + int(match[4])) * 60 + float(match[5])
    named = _WORDS.fullmatch(text)
    if not text or named is None:
        return None
    days, hours, minutes = (int(part or 0) for part in named.groups()[:3])
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(named[4] or 0)


def duration(seconds: float) -> str:
    """Return seconds as people say them: `45 s`, `12 min`, `3:05 h`, `2 d 4 h`."""
    seconds = max(0.0, seconds)
    if seconds < 99.5:
        return "%.0f s" % seconds
    minutes = round(seconds / 60)
    if minutes < 120:
        return "%d min" % minutes
    if minutes < 48 * 60:
        return "%d:%02d h" % divmod(minutes, 60)
    return "%d d %d h" % divmod(round(minutes / 60), 24)


def speed(step_seconds: float) -> str:
    """Return the time of a step as tqdm would: `1.10 s/step`, `229 steps/s`."""
    if step_seconds >= 0.995:  # else it would be 1 steps
        return "%.3g s/step" % step_seconds if step_seconds < 1000 else duration(step_seconds) + "/step"
    return "%.3g steps/s" % (1 / step_seconds) if step_seconds > 0 else "?"


# The fields of a line, and the speeds that they tell.

_WITH_UNIT = re.compile(
    r"(?<![\w.,/-])(?<!\d:)(?P<value>[-+]?\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?(?:[KMGB](?![A-Za-z]))?)"
    r"(?:\s?(?P<behind>(?:[A-Za-z]{1,12})?/(?:[A-Za-z]{1,12})|[mu]?s|sec)(?!\w|[\"']?\s?[=:]\s?[\d.])|(?P<other>[A-Za-z%]{1,12}))?(?![\w.]*\w|[:/-]\d)"
)
_BEFORE = re.compile(r"[|,;\t\[\]{}<>]|\s-\s|\s{3,}|INFO|>>")  # what parts a field from the one before it
_KEY = re.compile(
    r"(?P<key>[^\W\d][\w./@ -]{0,60}?)\s*(?:\((?P<unit>[a-z/ ]{1,24})\))?[\"']?\s*[:=(]{0,2}\s*[\"']?\Z", re.I
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
_OF_DEVICE = re.compile(r"(?:/|_per_)(?:gpu|device|chip|card)s?(?![a-z])|(?<![a-z])device/|^tgs$")
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
    rf"^(?:.*/)?(?:(?:train|elapsed|global|avg|mean|median)_)?(?:{_STEP}s?_?(?:time|timing|dt|duration|secs?|seconds)"
    rf"|time_per_{_STEP}|dt|(?:ms|s|sec|secs|seconds)(?:/|_per_){_STEP}|batch_t)$"
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
    """A speed as it is printed, and the seconds of a step where it tells them. *doubtful*: it may be a time so far.

    *of_device*: it is that of one GPU.
    """

    speed: Speed
    seconds: float | None
    doubtful: bool = False
    of_device: bool = False


def fields(text: str) -> Iterator[Field]:
    """Yield the numbers of a line with what names them; a number without a name has the key ""."""
    end = 0
    for match in _WITH_UNIT.finditer(text):
        value = number(match["value"].rstrip(","))
        lead = text[max(end, match.start() - _MOST) : match.start()]
        cut = max((before.end() for before in _BEFORE.finditer(lead)), default=0)
        named = _KEY.search(lead[cut:].lstrip(" '\"(:="))
        end = match.end()
        if value is not None:
            key = re.sub(r"[ -]+", "_", named["key"].strip().lower()) if named else ""
            behind = match["behind"] or match["other"] or ""
            yield Field(key, value, (named["unit"] or "").lower() if named else "", behind.lower())


def paces(text: str) -> list[Pace]:
    """Return what a line tells of speed: what is counted by the second first, then the time of a step."""
    rates = [
        pace._replace(of_device=_OF_DEVICE.search(field.key + field.unit) is not None)
        for field in fields(text)
        for pace in [_pace(field, text)]
        if pace is not None
    ]
    return sorted(rates, key=lambda pace: _order(pace))


def throughput(rates: Sequence[Pace]) -> Speed | None:
    """Return the samples or tokens a second among the speeds of a line: of all ranks, else of one device, as its unit
    says then.
    """
    counted = [pace for pace in rates if pace.seconds is None and not pace.doubtful]
    first = next((pace for pace in counted if not pace.of_device), counted[0] if counted else None)
    if first is None or not first.of_device:
        return first.speed if first is not None else None
    return Speed(first.speed.value, first.speed.unit + OF_DEVICE)


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
    named = re.fullmatch(r"(?P<key>.*?)(?:_in)?(?:_(?P<unit>ms|us|s|sec))?", field.key)
    key, own = (named["key"], named["unit"] or "") if named else (field.key, "")
    unit = field.behind or field.unit or own
    key += "_t" if field.unit == "t" else ""
    unit = "ms" if key.startswith("ms") else "" if field.unit == "t" else unit
    sure = _EACH.search(key) is not None
    if unit not in _UNITS or not (sure or _TIME.match(key)):
        return None
    name, factor = _UNITS[unit]
    if not _LEAST <= field.value * factor <= _MOST_SECONDS:
        return None
    return Pace(Speed(field.value, name), field.value * factor, not sure)
