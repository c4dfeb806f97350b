"""Lines of programs that no format knows: keys and values, of which one counts steps and another is a loss.

Such a counter is believed once it rose, and only beside a loss. A total counts only where it stands right behind its
own counter, always the same one, where the counter never falls, and in a log that has no word of epochs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..diagnose.read.units.clocks import Clock
from . import printed
from .recognition import MOST, printed_time, seconds_of
from .tails import Piece
from .values import Observation, Place, Scope, Speed

FORMAT = "keys and values"
_COUNT = r"\d{1,3}(?:,\d{3})+|\d{1,15}"
_WORDS = (  # what counts the whole run before what may count a part of it
    ("global_step", "global step", "num_updates", "globalstep"),
    ("step", "steps", "schritt", "update", "updates", "up", "paso", "étape"),
    ("iteration", "iterations", "iter", "iters", "it"),
    ("batch", "batches", "minibatch"),
)
_RANKS = {word: at for at, words in enumerate(_WORDS) for word in words}
_BATCH = len(_WORDS) - 1
_KEYS = "|".join(sorted(_RANKS, key=len, reverse=True))
_AHEAD = re.compile(
    r"(?<![\w/.-])[\"']?(?P<key>%s)[\"']?[ :=#.\[(]{1,4}(?P<step>%s)(?:\s*(?:/|of|von|de|sur)\s*(?P<total>%s))?"
    r"(?!\w|[.,]\d|\s?%%|\s*/\s*\d)" % (_KEYS, _COUNT, _COUNT),
    re.I,
)
_BEHIND = re.compile(
    r"(?<![\w./,-])(?:\d{1,15}-)?(?P<step>\d{1,15}(?:\.\d{1,15})?k|%s)\s?(?P<key>%s)\b(?:/(?P<total>\d{1,15}(?:\.\d{1,15})?k|%s)(?P=key)\b)?"
    r"(?!\s*/)" % (_COUNT, _KEYS, _COUNT),
    re.I,
)
_EPOCH = re.compile(r"(?<![a-z])(?:epoche?|ep\.)[\"']?[ :=#\[]*(\d+)|(?<![\w.])(\d+)(?:/\d+)?\s?epoch", re.I)
_EPOCHS = re.compile(r"[eé]po(?:ch|c[ah]|qu)|\bep\.|\brunde|\bdurchlauf|\bpass\b", re.I)
_ELSE = re.compile(
    r"\b(?:val(?:id(?:ation|ating)?)?|eval(?:uation|uating)?|test(?:ing)?|dev|token\w*ing|download\w*|prepar\w*|micro|inner|accum\w*|warm-?up)\b",
    re.I,
)
_VALUE = r"[-+]?\d[\d,]{0,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?"
_LOSS = re.compile(
    r"(?<![\w/])(?<!val )(?<!valid )(?<!eval )(?<!test )(?<!validation )[\"']?(?:train(?:ing)?[_/ ])?(?:total_)?"
    r"(?:[a-z]*loss|cost|xent|verlust|perte)[\"']?\s*[:=]?\s*(%s|nan|[-+]?inf)(?![\w%%])" % _VALUE,
    re.I,
)
_THINGS = (
    r"(?P<of>it|iters?|steps?|schritte?|updates?|words|tok(?:en)?s?|samples|examples|sequences|sentences|images|img)"
)
_RATES = (
    re.compile(r"(?<![\w./,])(?P<value>%s)\s?%s/s(?:ec)?\b" % (_VALUE, _THINGS), re.I),
    re.compile(r"(?<![a-z])%s(?:/|_per_)s(?:ec(?:ond)?)?[\"']?[ :=]+(?P<value>%s)" % (_THINGS, _VALUE), re.I),
)
_EACH = re.compile(r"(?<![\w.,])(?P<value>%s)\s?(?P<unit>m?s/(?:it|iter|step))\b" % _VALUE, re.I)
_COMMA = re.compile(r"(?<![\w.,])(?:0,\d+|\d+,\d{1,2})(?![\w,.\])])")
_POINT = re.compile(r"(?<![\w.,])\d+\.(?:\d{1,2}|\d{4,})(?![\w.])")


@dataclass(slots=True)
class _Line:
    """A line with a counter. *counters*: step and total of each key."""

    seen: Observation
    counters: dict[str, tuple[int, int | None]]


@dataclass(slots=True)
class _Log:
    """What a log tells. *of_epochs*: whether any line has a word of epochs, so that no counter's total is the run's."""

    lines: list[_Line]
    of_epochs: bool = False


def observations(pieces: Iterable[Piece], file: str, modified: float) -> list[Observation]:
    """Return what *pieces*, in their order, tell of steps; nothing where no counter rose, or none stands by a loss."""
    log = _log(pieces, file, Clock(modified))
    keys = sorted({key for line in log.lines for key in line.counters}, key=lambda key: _RANKS[key])
    for key in keys:
        own = [line for line in log.lines if key in line.counters and line.seen.loss is not None]
        steps = [line.counters[key][0] for line in own]
        if any(before < step for before, step in zip(steps, steps[1:])):
            return _counted(own, key, steps, log.of_epochs)
    return []


def _counted(lines: Sequence[_Line], key: str, steps: Sequence[int], of_epochs: bool) -> list[Observation]:
    """Return lines whose counter is that of *key*; what falls, or counts batches, is an epoch's."""
    falls = any(step < before for before, step in zip(steps, steps[1:]))
    totals = {line.counters[key][1] for line in lines}
    is_run = _RANKS[key] != _BATCH and (not falls or _RANKS[key] == 0)
    total = totals.pop() if len(totals) == 1 and is_run and not falls and not of_epochs else None
    total = total if total is not None and max(steps) <= total else None
    scope: Scope = "run" if is_run else "epoch"
    return [replace(line.seen, step=line.counters[key][0], steps=total, scope=scope) for line in lines]


def _log(pieces: Iterable[Piece], file: str, clock: Clock) -> _Log:
    """Return each line with a counter; a speed on a line of its own holds on, a loss on an indented one is of the
    counter above it.
    """
    log = _Log([])
    speed: Speed | None = None
    for piece in pieces:
        text = _whole(piece)
        plain = _with_points(text)
        log.of_epochs = log.of_epochs or _EPOCHS.search(text) is not None
        counters = _counters(plain)
        loss, own = _loss(plain), speed_in(plain)
        if counters:
            place = Place(file, piece.line, piece.byte)
            log.lines.append(_Line(_seen(place, text, plain, loss, own or speed, clock), counters))
        elif own is not None or (loss is not None and text[:1].isspace()):
            speed = own or speed
            _complete(log.lines, loss if text[:1].isspace() else None, own)
    return log


def _seen(
    place: Place, text: str, plain: str, loss: float | None, speed: Speed | None, clock: Clock
) -> Observation:  # fmt: skip
    epoch = _EPOCH.search(plain)
    number = printed.number(epoch[1] or epoch[2]) if epoch else None
    at = printed_time(text, clock)
    return Observation(place, text, FORMAT, epoch=number, loss=loss, speed=speed, step_seconds=seconds_of(speed), at=at)


def _complete(lines: Sequence[_Line], loss: float | None, speed: Speed | None) -> None:
    """Give the last line with a counter what a line behind it tells."""
    if not lines:
        return
    seen = lines[-1].seen
    loss = seen.loss if seen.loss is not None else loss
    speed = speed or seen.speed
    lines[-1].seen = replace(seen, loss=loss, speed=speed, step_seconds=seconds_of(speed))


def _whole(piece: Piece) -> str:
    """Return the text of a piece; of one that may be torn what stands before its last blank."""
    text = piece.raw[: 4 * MOST].decode("utf-8", "replace")[:MOST]
    return text if piece.closed else text[: text.rfind(" ") + 1]


def _with_points(text: str) -> str:
    """Return a line of a language whose numbers have a decimal comma (`3.400`, `0,41`) with points."""
    if not _COMMA.search(text) or _POINT.search(text):
        return text
    text = re.sub(r"(?<![\w.,])\d{1,3}(?:\.\d{3})+(?![\w.])", lambda match: match[0].replace(".", ""), text)
    return re.sub(r"(?<![\w.,])(\d+),(\d+)(?![\w,.])", r"\1.\2", text)


def _counters(text: str) -> dict[str, tuple[int, int | None]]:
    counters: dict[str, tuple[int, int | None]] = {}
    for pattern in (_AHEAD, _BEHIND):
        for match in pattern.finditer(text):
            step = printed.whole(match["step"])
            if step is not None and not _ELSE.search(text, 0, match.start()):
                counters.setdefault(match["key"].lower(), (step, printed.whole(match["total"])))
    return counters


def _loss(text: str) -> float | None:
    match = _LOSS.search(text)
    return printed.number(match[1].rstrip(",")) if match else None


def speed_in(text: str) -> Speed | None:
    """Return the speed that a line tells with its unit."""
    each = _EACH.search(text)
    if each:
        value = printed.number(each["value"])
        return Speed(value, each["unit"].lower()) if value is not None else None
    for pattern in _RATES:
        match = pattern.search(text)
        value = printed.number(match["value"].rstrip(",")) if match else None
        if match and value is not None:
            return Speed(value, "%s/s" % _thing(match["of"].lower()))
    return None


def _thing(word: str) -> str:
    if word.startswith("tok"):
        return "tokens"
    return "steps" if word.startswith("schritt") or word == "step" else word
