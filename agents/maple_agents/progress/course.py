"""From lines to a course: steps over the whole run, the clock behind them, the last start, the total."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from . import key_values
from .series import Series, leading, resolved, series
from .values import Announced, Course, Mark, Observation, Place, Point, Reading, Total

MOST_POINTS = 4000
MOST_LOSSES = 600
_ZONE = 900.0  # seconds: zones differ by quarters of an hour
_FOLLOWING = 3  # lines that must go on from a lower step before it counts as a new start


def course(readings: Sequence[Reading], hints: Sequence[Total | Announced] = ()) -> Course:
    """Return the course that *readings* tell; *hints*: totals and epochs from arguments and configs, the best first."""
    clear = resolved(readings)
    heard = series(clear)
    lead = leading(heard)
    marks = tuple(mark for reading in clear for mark in reading.marks)
    if lead is None:
        return Course(total=_told(clear, hints), marks=marks, ended=_ended(marks, None, clear))
    total = _total(lead, clear, hints)
    runs = _starts(
        _steps(lead, clear), [mark.place for mark in lead.reading.marks if mark.kind in ("start", "resumed")]
    )
    points = _clocked(runs[-1][-MOST_POINTS:] if runs else [])
    last = points[-1].at if points else lead.last
    step = points[-1].step if points else None
    if total is not None and step is not None and step > total.steps:
        total = None
    shift = _zone(lead, last)
    return Course(
        last=last, step=step, total=total, points=tuple(points), began=_began(points, marks, lead),
        starts=max(1, len(runs)), marks=tuple(_timed(mark, points, shift) for mark in marks),
        losses=tuple(_losses(heard, points, _steps_of_epoch(clear, total))), ranks=tuple(_ranks(heard, lead)),
        last_at=_last_at(lead, last, shift), alive_at=_alive_at(clear, lead, last, shift),
        ended=_ended(marks, last, clear), busy=_busy(lead, last, step, total),
        epochs=_in_epochs(heard, clear, hints),
    )  # fmt: skip


# Epochs beside the steps.


def _in_epochs(heard: Sequence[Series], clear: Sequence[Reading], hints: Sequence[Total | Announced]) -> Course | None:
    """Return the course of lines that count epochs alone: whole ones, and with the Trainer of transformers shares."""
    counted = [series for series in heard if series.last.step is None and series.last.epoch is not None]
    if not counted:
        return None
    lead = max(counted, key=lambda series: (len(series.lines), series.last.place.byte))
    first = min((line.epoch for line in lead.lines if line.epoch is not None), default=0.0)
    runs = _starts([(_done(line, first), replace(line, step_seconds=None)) for line in lead.lines], ())
    points = _clocked(runs[-1][-MOST_POINTS:])
    epochs = _epochs(lead.last, clear, hints)
    total = Total(epochs.value, "%d epochs" % epochs.value, epochs.place, epochs.text, epochs.value) if epochs else None
    return Course(
        last=points[-1].at, step=points[-1].step, total=total, points=tuple(points), began=points[0].step,
        starts=len(runs), last_at=_last_at(lead, lead.last, _zone(lead, lead.last)),
    )  # fmt: skip


def _done(line: Observation, first: float) -> float:
    """Return how many epochs are done at a line: one that tells a loss stands behind its epoch, a heading before it.

    *first*: what the lowest epoch is called that was seen; a program that counts from 0 shows it there, or nowhere.
    """
    epoch = line.epoch or 0.0
    if line.scope == "run" or epoch != int(epoch):  # a share, as the Trainer of transformers tells it
        return epoch
    base = 0 if line.epoch_base == 0 or first == 0 else 1
    return epoch - base + (1.0 if line.loss is not None else 0.0) if line.elapsed is None else epoch


# Steps: over the whole run.


def _steps(lead: Series, clear: Sequence[Reading]) -> list[tuple[float, Observation]]:
    """Return each line of the leading series with its step over the run; a line without any step is left out."""
    if lead.last.step is None:
        return []
    if lead.last.scope != "epoch":
        return [(float(observation.step), observation) for observation in lead.lines if observation.step is not None]
    size, from_zero = _epoch_size(lead), any(observation.epoch == 0 for observation in lead.lines)
    out: list[tuple[float, Observation]] = []
    for observation in lead.lines:
        if observation.step is None:
            continue
        before = (
            max(0.0, (observation.epoch or 0) - (0 if from_zero else observation.epoch_base)) * size
            if observation.epoch is not None and size
            else 0.0
        )
        out.append((before + observation.step, observation))
    return out


def _starts(steps: Sequence[tuple[float, Observation]], announced: Sequence[Place]) -> list[list[Point]]:
    """Return the points of each start; *announced*: where lines tell of one.

    Lines that several processes print at nearly the same time are one.
    """
    runs: list[list[Point]] = []
    most = -math.inf
    for at, (step, observation) in enumerate(steps):
        if step < most and not (_falls(steps, at, most) or _is_told(steps, at, announced)):
            continue
        if step < most or not runs:
            runs.append([])
            most = -math.inf
        if step > most:
            runs[-1].append(Point(step, None, observation.loss, observation))
            most = step
        elif step == runs[-1][-1].step:
            runs[-1][-1] = _both(runs[-1][-1], observation)
    return runs


def _both(point: Point, observation: Observation) -> Point:
    """Return a point that two lines tell of: the later one, and what the first alone told; the time is the first's.

    Of a bar that is full it is the later: an evaluation behind its last step has no line of its own.
    """
    before = point.at
    is_full = observation.step == observation.steps and observation.elapsed is not None
    both = replace(
        observation,
        epoch=observation.epoch if observation.epoch is not None else before.epoch,
        speed=observation.speed or before.speed,
        steps=observation.steps or before.steps,
        step_seconds=observation.step_seconds or before.step_seconds,
        loss=observation.loss if observation.loss is not None else before.loss,
        at=before.at,
        elapsed=observation.elapsed if is_full else before.elapsed,
    )
    return replace(point, at=both, loss=both.loss)


def _is_told(steps: Sequence[tuple[float, Observation]], at: int, announced: Sequence[Place]) -> bool:
    """Return whether a line tells of a start between a step and the one before it."""
    before, place = steps[at - 1][1].place, steps[at][1].place
    return any(before.byte < start.byte <= place.byte for start in announced)


def _falls(steps: Sequence[tuple[float, Observation]], at: int, most: float) -> bool:
    """Return whether the lines go on from the lower step: a new start, no rank that is a line late."""
    following = [step for step, _ in steps[at : at + _FOLLOWING + 1]]
    return max(following) < most and (len(following) > 1 or following[0] < 0.9 * most - 1)


# The clock: times that lines tell, else the bar's own time, else the printed time of steps.


def _clocked(points: Sequence[Point]) -> list[Point]:
    timed = sum(point.at.at is not None for point in points)
    if points and timed == len(points):
        return [replace(point, clock=point.at.at) for point in points]
    if points and all(point.at.elapsed is not None for point in points):
        return _by_elapsed(points)
    if points and all(point.at.step_seconds is not None for point in points):
        return _by_steps(points)
    if timed >= 3:
        return [replace(point, clock=point.at.at) for point in points if point.at.at is not None] + [
            point for point in points[-1:] if point.at.at is None
        ]
    return list(points)


def _by_elapsed(points: Sequence[Point]) -> list[Point]:
    """Return points on the clock of their bars; one that begins anew goes on where the last one stopped."""
    out: list[Point] = []
    base, before = 0.0, 0.0
    for point in points:
        elapsed = point.at.elapsed or 0.0
        if elapsed < 0.5 * before:
            base += before
        elif elapsed < before:  # a mean that was rounded
            elapsed = before
        before = elapsed
        out.append(replace(point, clock=base + elapsed))
    return out


def _by_steps(points: Sequence[Point]) -> list[Point]:
    out: list[Point] = []
    clock, before = 0.0, points[0].step
    for point in points:
        clock += (point.at.step_seconds or 0.0) * (point.step - before)
        before = point.step
        out.append(replace(point, clock=clock))
    return out


def _zone(lead: Series, last: Observation) -> float:
    """Return how many seconds the clock of the log is behind ours: containers often tell UTC.

    Known only where the file was last written right after its last line, or the line would lie in the future.
    """
    if last.at is None or not lead.reading.modified:
        return 0.0
    off = lead.reading.modified - last.at
    whole = round(off / _ZONE) * _ZONE
    is_last = lead.reading.bytes - last.place.byte < 8192
    return whole if (off < -60 or is_last) and abs(off - whole) < 20 and whole and abs(whole) <= 14 * 3600 else 0.0


def _last_at(lead: Series, last: Observation, shift: float) -> float | None:
    if last.at is not None:
        return last.at + shift
    return lead.reading.modified or None


def _alive_at(clear: Sequence[Reading], lead: Series, last: Observation, shift: float) -> float | None:
    """Return when anything at all went on that is progress: a step of any rank, an evaluation's bar, a checkpoint."""
    known = _last_at(lead, last, shift)
    times = [known] if known is not None else []
    for reading in clear:
        if reading.file != lead.reading.file and lead.last.rank is not None:
            continue
        tells: list[Observation | Mark] = [*reading.observations, *reading.marks]
        times += [line.at + shift for line in tells if line.at is not None]
        newest = sorted(tells, key=lambda line: line.place.byte)[-1:]
        if newest and newest[0].at is None and reading.modified:
            times.append(reading.modified)
    return max(times, default=None)


# What else is known.


def _total(lead: Series, clear: Sequence[Reading], hints: Sequence[Total | Announced]) -> Total | None:
    """Return the steps of the whole run where something tells them."""
    last = next((observation for observation in reversed(lead.lines) if observation.steps), lead.last)
    if last.scope == "run" and last.steps:
        return Total(last.steps, "printed with the step", last.place, last.text)
    own = [total for total in lead.reading.announced if total.name == "steps"] or [
        total for reading in clear for total in reading.announced if total.name == "steps"
    ]
    if last.scope == "run" and own and not _counts_other(own[-1], last):
        return Total(own[-1].value, "told before the first step", own[-1].place, own[-1].text)
    if last.scope == "run":
        return next((hint for hint in hints if isinstance(hint, Total)), None)
    return _of_epochs(lead, last, clear, hints)


def _told(clear: Sequence[Reading], hints: Sequence[Total | Announced]) -> Total | None:
    """Return the total of a run that has told no step yet."""
    totals = [total for reading in clear for total in reading.announced if total.name == "steps"]
    if totals:
        return Total(totals[-1].value, "told before the first step", totals[-1].place, totals[-1].text)
    return next((hint for hint in hints if isinstance(hint, Total)), None)


def _counts_other(total: Announced, last: Observation) -> bool:
    """Return whether a total of iterations was told beside a line that counts them and steps, as litgpt does."""
    counts = key_values.counters(last.text)
    ahead = total.text[: total.text.rfind(str(total.value))]
    return "iter" in counts and counts["iter"][0] != last.step and "iter" in ahead[-30:].lower()


def _of_epochs(
    lead: Series, last: Observation, clear: Sequence[Reading], hints: Sequence[Total | Announced]
) -> Total | None:
    """Return the total of a series that counts epochs, where their number is known."""
    size = _epoch_size(lead)
    if not size or last.epoch is None:
        return None
    epochs = _epochs(last, clear, hints)
    if epochs is None:
        return None
    words = "%d epochs of %d steps" % (epochs.value, size)
    return Total(size * epochs.value, words, epochs.place, epochs.text, epochs.value)


def _epochs(last: Observation, clear: Sequence[Reading], hints: Sequence[Total | Announced]) -> Announced | None:
    """Return how many epochs there are: beside the step, told before, on the lines of epochs, by the arguments."""
    if last.epochs:
        return Announced("epochs", int(last.epochs), last.place, last.text)
    announced = [epochs for reading in clear for epochs in reading.announced if epochs.name == "epochs"]
    if announced:
        return announced[0]
    lines = [line for reading in clear for line in reading.observations if line.scope == "epoch" and line.epochs]
    if len({line.epochs for line in lines if line.role == "training"}) == 1:
        return Announced("epochs", int(lines[-1].epochs or 0), lines[-1].place, lines[-1].text)
    return next((hint for hint in hints if isinstance(hint, Announced) and hint.name == "epochs"), None)


def _epoch_size(lead: Series) -> int:
    """Return the steps of an epoch, as the last line tells them."""
    return next((observation.steps for observation in reversed(lead.lines) if observation.steps), 0)


def _began(points: Sequence[Point], marks: Sequence[Mark], lead: Series) -> float | None:
    """Return the step at which the last start took the run up."""
    if not points:
        return None
    resumed = [
        mark for mark in marks if mark.kind == "resumed" and mark.step is not None and mark.step <= points[0].step
    ]
    return float(resumed[-1].step or 0) if resumed else points[0].step


def _timed(mark: Mark, points: Sequence[Point], shift: float) -> Mark:
    """Return a mark with the time of the line before it, where its own is not told, and the step."""
    at = mark.at + shift if mark.at is not None else None
    before = [
        point for point in points if point.at.place.file == mark.place.file and point.at.place.byte <= mark.place.byte
    ]
    step = mark.step if mark.step is not None else int(before[-1].step) if before else None
    if at is None and before and before[-1].at.at is not None:
        at = before[-1].at.at + shift
    return replace(mark, at=at, step=step)


def _steps_of_epoch(clear: Sequence[Reading], total: Total | None) -> float | None:
    """Return how many steps of the whole run an epoch has, where their number was told."""
    epochs = [hint.value for reading in clear for hint in reading.announced if hint.name == "epochs"]
    return total.steps / epochs[-1] if epochs and total is not None else None


def _losses(
    series: Sequence[Series], points: Sequence[Point], size: float | None
) -> list[tuple[float, float, Observation]]:
    """Return step and loss of the leading series, or where it tells none, of the series that tells most."""
    own = [(point.step, point.loss, point.at) for point in points if point.loss is not None]
    if len(own) >= 2:
        return own[-MOST_LOSSES:]
    best = max(series, key=lambda series: sum(line.loss is not None for line in series.lines))
    lines = [line for line in best.lines if line.loss is not None][-MOST_LOSSES:]
    return [(_step_of(line, points, size), line.loss or 0.0, line) for line in lines]


def _step_of(line: Observation, points: Sequence[Point], size: float | None) -> float:
    """Return the step of a line of another series: its own, that of the last point before it, or what its fraction of
    an epoch means; nan where that is not known.
    """
    if line.step is not None and line.scope == "run":
        return float(line.step)
    place = line.place
    before = [point.step for point in points if point.at.place.file == place.file and point.at.place.byte <= place.byte]
    if before:
        return before[-1]
    return line.epoch * size if line.epoch is not None and size is not None else math.nan


def _ranks(heard: Sequence[Series], lead: Series) -> Iterable[tuple[int, float, Observation]]:
    """Yield the last step of each rank that prints lines like those of the leading series."""
    same = [series for series in heard if series.last.rank is not None and series.last.format == lead.last.format
            and series.last.step is not None and series.last.scope == lead.last.scope]  # fmt: skip
    out: dict[int, tuple[int, float, Observation]] = {}
    for other in same:
        steps = _steps(other, ())
        if steps and other.last.rank is not None:
            out[other.last.rank] = (other.last.rank, steps[-1][0], other.last)
    return [out[rank] for rank in sorted(out)] if len(out) > 1 else []


def _ended(marks: Sequence[Mark], last: Observation | None, clear: Sequence[Reading]) -> Mark | None:
    """Return the line that says that all is done, where no step came behind it."""
    endings = [mark for mark in marks if mark.kind == "ended"]
    if not endings:
        return None
    end = endings[-1]
    behind = last is not None and last.place.file == end.place.file and last.place.byte > end.place.byte + 4096
    return None if behind else end


def _busy(lead: Series, last: Observation, step: float | None, total: Total | None) -> Observation | None:
    """Return the bar of an evaluation or a preparation that goes on behind the last step."""
    behind = [
        observation
        for observation in lead.reading.observations
        if observation.place.byte > last.place.byte and observation.role != "training"
    ]
    going = [
        observation
        for observation in behind
        if observation.step is not None and (observation.steps is None or observation.step < observation.steps)
    ]
    return going[-1] if going else None


def median(values: Sequence[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None
