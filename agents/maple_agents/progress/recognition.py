"""What one piece of a log tells: steps, marks, totals, by the formats that are known.

When a line was printed, by the time that it tells itself, wherever near its beginning that stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Union

from ..diagnose.read.units.clocks import Clock
from . import printed
from .formats import Bar, Formats, Known
from .tails import Piece
from .values import Announced, Mark, Observation, Place, Role, Scope, Speed

_NEAR = 120  # characters in which a time is looked for
_DATED = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[ T_]|\d\d/\d\d/\d{4}[ T_]")
_GLOG = re.compile(r"\b[IWEF](?P<day>\d{4}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)")
_AT = re.compile(r"\bat (?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def printed_time(text: str, clock: Clock) -> float | None:
    """Return the time with its day that *text* tells, seconds since 1970; None where it tells none."""
    near = text[:_NEAR]
    match = _DATED.search(near)
    if match:
        moment, _ = clock.read(near, match.start())
        return moment.at if moment is not None and moment.dated else None
    glog = _GLOG.search(near)
    if glog:
        stamp = clock.month_day(glog["day"], glog["clock"])
        return stamp.at if stamp is not None and stamp.dated else None
    return None


Sign = Union[Observation, Mark, Announced]
MOST = 4096  # characters of a piece that are looked at
_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
_LOSS = re.compile(
    r"(?<![A-Za-z_/])(?:(?:reduced_)?train(?:ing)?[_/]|avr?g?_)?(?:step[_/])?(?:loss/)?(?:train/)?(?:loss|(?<=train/)total)(?:[_/]step)?\s?[=:]\s?'?([-+]?[\d.]+(?:e[-+]?\d+)?|nan|inf|-inf)",
    re.I,
)
_OF_STEPS = re.compile(r"(?:it|iters?|iterations?|steps?|batch(?:es)?|updates?)")
_PER_STEP = {"s/step": 1.0, "ms/step": 1e-3, "us/step": 1e-6}


class Lines:
    """Reads the pieces of one file. *file*: how it is called; *modified*: when it was last written."""

    def __init__(self, file: str, modified: float, formats: Formats) -> None:
        self._file, self._clock, self._formats = file, Clock(modified), formats

    def signs(self, piece: Piece) -> Iterator[Sign]:
        """Yield what a piece tells. One that is not closed may be torn: only what ends with its own sign counts."""
        text = piece.raw[: 4 * MOST].decode("utf-8", "replace")
        if "\x1b" in text:
            text = _ESCAPES.sub("", text)
        text, place = text[:MOST], Place(self._file, piece.line, piece.byte)
        at = 0
        while at < len(text):
            hit = self._first(text, at, piece.closed)
            if hit is None:
                return
            known, match = hit
            line = self._made(known, match, text, place)
            if line is not None:
                yield line
            also = _announced(match.groupdict(), place, text) if isinstance(line, Mark) else None
            if also is not None:
                yield also
            if not known.form.open or match.end() <= at:
                return
            at = match.end()

    def _first(self, text: str, at: int, closed: bool) -> tuple[Known, re.Match[str]] | None:
        for known in self._candidates(text):
            if closed or known.form.open:
                match = known.pattern.search(text, at)
                if match:
                    return self._glued(text, at, match.start()) or (known, match)
        return None

    def _candidates(self, text: str) -> list[Known]:
        """Return the kinds of which a word stands in *text*, in their order."""
        places = {at for word, places in self._formats.words if word in text for at in places}
        return [self._formats.known[at] for at in sorted(places)]

    def _glued(self, text: str, at: int, end: int) -> tuple[Known, re.Match[str]] | None:
        """Return the bar to which something was glued that stands at *end*: a bar has no line end."""
        for known in self._candidates(text) if end - at > 12 else ():
            if known.form.open:
                match = known.pattern.search(text, at, end)
                if match:
                    return known, match
        return None

    def _made(self, known: Known, match: re.Match[str], text: str, place: Place) -> Sign | None:
        groups = match.groupdict()
        for pattern in known.also:
            more = pattern.search(text)
            groups.update({name: value for name, value in more.groupdict().items() if value} if more else {})
        form = known.form
        if form.kind == "step":
            return self._step(known, groups, text, place)
        if form.kind == "epoch":
            return self._epoch(known, groups, text, place)
        if form.kind == "steps":
            return _announced(groups, place, text)
        return Mark(form.kind, place, text, printed.whole(groups.get("step")), printed_time(text, self._clock))

    def _epoch(self, known: Known, groups: dict[str, str | None], text: str, place: Place) -> Observation:
        """Return a line that tells of an epoch alone, such as `Epoch 3/10` in front of a bar."""
        return Observation(
            place, text, known.format, role=known.form.role, scope="epoch", epoch=printed.number(groups.get("epoch")),
            epochs=printed.number(groups.get("epochs")), epoch_base=known.form.epoch_base,
            loss=printed.number(groups.get("loss")), at=printed_time(text, self._clock),
        )  # fmt: skip

    def _step(self, known: Known, groups: dict[str, str | None], text: str, place: Place) -> Observation | None:
        form = known.form
        observation = Observation(
            place, text, known.format, role=form.role, scope="unknown" if form.counts == "bar" else form.counts,
            step=_count(groups.get("step")), steps=_count(groups.get("total")),
            epoch=printed.number(groups.get("epoch")), epochs=printed.number(groups.get("epochs")),
            epoch_base=form.epoch_base, loss=_loss(groups, text), speed=_speed(groups, form.unit),
            elapsed=printed.seconds(groups.get("elapsed")), left=printed.seconds(groups.get("left")),
            at=printed_time(text, self._clock),
        )  # fmt: skip
        observation = replace(observation, step_seconds=_step_seconds(groups, observation.speed))
        if form.mean and observation.step and observation.step_seconds and (groups.get("ms") or groups.get("us")):
            observation = replace(observation, elapsed=observation.step * observation.step_seconds)
        last = printed.whole(groups.get("last_epoch"))
        observation = replace(observation, epochs=float(last + 1)) if last is not None else observation
        if form.counts == "bar":
            return _as_bar(observation, groups, self._formats)
        if observation.step is None and observation.epoch is None and observation.loss is None:
            return None
        return observation


def _count(text: str | None) -> int | None:
    """Return a count as a bar prints it; one in thousands (8.89G) is of bytes or the like, and near enough."""
    value = printed.number(text)
    return int(value) if value is not None and math.isfinite(value) and 0 <= value < 1e15 else None


def _announced(groups: dict[str, str | None], place: Place, text: str) -> Announced | None:
    for name in ("total", "epochs"):
        value = printed.whole(groups.get(name))
        if value:
            return Announced("steps" if name == "total" else "epochs", value, place, text)
    return None


def _loss(groups: dict[str, str | None], text: str) -> float | None:
    if groups.get("loss"):
        return printed.number(groups["loss"])
    behind = groups.get("postfix") or groups.get("description")
    match = _LOSS.search(behind) if behind else None
    return printed.number(match[1]) if match else None


def _speed(groups: dict[str, str | None], unit: str) -> Speed | None:
    """Return the speed that is printed, in the unit that is printed, else in the format's own."""
    rate = printed.number(groups.get("rate")) if groups.get("rate") else None
    if rate is not None and groups.get("unit"):
        return Speed(rate, (groups["unit"] or "").strip())
    for name, known in (("step_seconds", "s/step"), ("ms", "ms/step"), ("us", "us/step"), ("speed", unit)):
        value = printed.number(groups.get(name)) if groups.get(name) else None
        if value is not None and math.isfinite(value):
            return Speed(value, known)
    return None


def _step_seconds(groups: dict[str, str | None], speed: Speed | None) -> float | None:
    """Return the seconds of a step where anything on the line tells them."""
    for name, factor in (("step_seconds", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        value = printed.number(groups.get(name)) if groups.get(name) else None
        if value is not None and math.isfinite(value) and value > 0:
            return value * factor
    return seconds_of(speed)


def seconds_of(speed: Speed | None) -> float | None:
    """Return the seconds of one step that a speed means; None where it counts something else than steps."""
    if speed is None or not math.isfinite(speed.value) or speed.value <= 0:
        return None
    if speed.unit in _PER_STEP:
        return speed.value * _PER_STEP[speed.unit]
    above, _, below = speed.unit.partition("/")
    if below in ("s", "sec") and _OF_STEPS.fullmatch(above):
        return 1 / speed.value
    return speed.value if above == "s" and _OF_STEPS.fullmatch(below) else None


# What a bar counts: by its description, its unit, and what stands behind its time.


def _as_bar(observation: Observation, groups: dict[str, str | None], formats: Formats) -> Observation:
    label = (groups.get("description") or "").strip(" :\t-")
    unit = _unit(groups)
    postfix = groups.get("postfix") or ""
    if observation.speed is None and postfix:
        observation = _paced(observation, postfix)
    for bar, described, holds in formats.bars:
        match = described.search(label) if described else None
        if (described and not match) or (bar.unit and not re.fullmatch(bar.unit, unit)):
            continue
        if holds and not (holds.search(postfix) or holds.search(label)):
            continue
        return _meant(replace(observation, label=label), bar, match)
    return replace(observation, label=label, scope="unknown", role="training" if not label else "preparation")


def _paced(observation: Observation, postfix: str) -> Observation:
    """Return a bar without a speed of its own with the time of a step that stands behind its time."""
    pace = next((pace for pace in printed.paces(postfix) if pace.seconds is not None and not pace.doubtful), None)
    return replace(observation, speed=pace.speed, step_seconds=pace.seconds) if pace is not None else observation


def _unit(groups: dict[str, str | None]) -> str:
    """Return what a bar counts: "it" of `it/s` and of `s/it`."""
    above, _, below = (groups.get("unit") or "").strip().partition("/")
    return (below if above == "s" else above).strip() or (groups.get("things") or "").strip() or "it"


_MEANS: dict[str, tuple[Role, Scope]] = {
    "run": ("training", "run"),
    "epoch": ("training", "epoch"),
    "evaluation": ("evaluation", "part"),
    "preparation": ("preparation", "part"),
}


def _meant(observation: Observation, bar: Bar, match: re.Match[str] | None) -> Observation:
    """Return what a bar tells that counts as *bar* says; the description may name the epoch, and the run's step."""
    role, scope = _MEANS.get(bar.is_, ("training", "epoch"))
    groups = match.groupdict() if match else {}
    epoch, epochs = printed.number(groups.get("epoch")), printed.number(groups.get("epochs"))
    over_epochs = epochs is not None and (observation.step, observation.steps) == (epoch, epochs) and epochs > 1
    if bar.is_ == "epochs" or over_epochs:
        epoch = None if observation.step is None else float(observation.step)
        return replace(
            observation,
            scope="epoch",
            epoch=epoch,
            epochs=observation.steps,
            epoch_base=0,
            step=None,
            steps=None,
            step_seconds=None,
        )
    base = 0 if epochs is None else 1
    step = printed.whole(groups.get("step"))
    if step is not None:  # the bar is the epoch's, the step in its description the run's
        return replace(observation, role=role, scope="run", step=step, steps=None, epoch=epoch, epoch_base=base)
    return replace(observation, role=role, scope=scope, epoch=epoch, epochs=epochs, epoch_base=base)
