"""Progress as JSON, whole or as the answer to one of a fixed set of questions. The shape is stable: see docs/json.md.

Whatever stands in a log is shown with its secrets masked and nothing that a terminal would obey.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Union

from ..diagnose.read.clean_lines import cleaned
from .alarms import age_at_limit, checkpoint, is_done, silence
from .printed import OF_DEVICE
from .values import Announced, Mark, Observation, Progress, Reading, Speed, Total

if TYPE_CHECKING:
    from . import shapes  # what is made is checked against it, and a page for people starts without it

VERSION: Literal[1] = 1
QUESTIONS = ("speed", "progress", "eta", "loss", "checkpoint", "throughput", "failures")
MOST_LOSSES = 60
_THROUGHPUTS = ("samples/s", "tokens/s", "words/s", "frames/s")


def shown(text: str) -> str:
    """Return a line of a log as it may be shown."""
    return cleaned(text.encode("utf-8", "surrogateescape")).strip()


def whole(state: Progress) -> shapes.Whole:
    """Return all that is known."""
    run = state.run
    return {
        "version": VERSION,
        "at": state.now,
        "job": {
            "id": run.job or None,
            "name": shown(run.name) or None,
            "state": run.state,
            "started": run.started,
            "limit": run.limit,
            "ends_at": run.ends_at,
            "restarts": run.restarts,
            "nodes": list(run.nodes),
        },
        "progress": progress(state),
        "speed": speed(state),
        "left": eta(state),
        "loss": loss(state),
        "checkpoint": last_checkpoint(state),
        "throughput": throughput(state),
        "failures": failures(state),
        "silent": silence(state.course, state.now),
        "ranks": [{"rank": rank, "step": step, "quote": quote(at)} for rank, step, at in state.course.ranks],
        "alarms": alarms(state),
        "done": is_done(state.course) or state.course.ended is not None,
        "files": [_file(reading) for reading in state.readings],
        "notes": [shown(note) for note in state.notes],
    }


def _file(reading: Reading) -> shapes.File:
    file, modified, wrong = shown(reading.file), reading.modified or None, reading.wrong or None
    return {"file": file, "bytes": reading.bytes, "modified": modified, "wrong": wrong}


def answer(state: Progress, question: str) -> shapes.Answered:
    """Return the answer to one of `QUESTIONS`."""
    questions: dict[str, Callable[[Progress], shapes.Answer]] = {
        "speed": speed, "progress": progress, "eta": eta, "loss": loss, "checkpoint": last_checkpoint,
        "throughput": throughput, "failures": failures,
    }  # fmt: skip
    job = state.run.job or None
    return {"version": VERSION, "at": state.now, "job": job, "question": question, "answer": questions[question](state)}


def progress(state: Progress) -> shapes.Steps:
    """Return how far it is: what the line prints, and what that means over the whole run."""
    course, last, total = state.course, state.course.last, state.course.total
    if last is None:
        return {
            "step": None, "total": total.steps if total else None, "fraction": None, "epoch": None,
            "overall": _overall(state), "format": None, "started_at_step": None, "starts": None, "quote": None,
        }  # fmt: skip
    of_epoch, whole = last.scope == "epoch", course.epochs
    at = last.epoch if last.epoch is not None or whole is None or whole.last is None else whole.last.epoch
    epochs = whole.total.steps if whole is not None and whole.total is not None else None
    return {
        "step": last.step,
        "total": total.steps if total is not None and not of_epoch else None,
        "fraction": fraction(state),
        "epoch": {
            "at": at,
            "of": last.epochs or epochs,
            "first": last.epoch_base,
            "step": last.step if of_epoch else None,
            "steps": last.steps if of_epoch else None,
        },
        "overall": _overall(state),
        "format": last.format,
        "started_at_step": course.began,
        "starts": course.starts,
        "quote": quote(last),
    }


def _overall(state: Progress) -> shapes.Overall | None:
    step, total = state.course.step, state.course.total
    if state.course.last is None and total is None:
        return None
    return {
        "step": step,
        "total": total.steps if total else None,
        "because": total.because if total else None,
        "quote": quote(total) if total else None,
    }


def fraction(progress: Progress) -> float | None:
    """Return the done share of the run, None where no total is known."""
    course = progress.course
    course = course.epochs if course.total is None and course.epochs is not None else course
    if course.total is None or course.step is None or not course.total.steps:
        return None
    return min(1.0, course.step / course.total.steps)


def speed(progress: Progress) -> shapes.Speed:
    """Return how fast it is: as printed, and as measured."""
    last, estimate = progress.course.last, progress.estimate
    printed = last.speed if last is not None else None
    return {
        "step_seconds": estimate.step_seconds,
        "steps_per_second": 1 / estimate.step_seconds if estimate.step_seconds else None,
        "printed": {"value": _finite(printed.value), "unit": printed.unit} if printed is not None else None,
        "because": estimate.because or None,
        "pauses": estimate.pauses,
        "pause_seconds_per_step": estimate.pause_seconds,
        "quote": quote(last),
    }


def eta(progress: Progress) -> shapes.Left:
    """Return how much time is left, and whether the limit allows it."""
    estimate, end = progress.estimate, progress.run.ends_at
    margin = end - estimate.ends_at if end is not None and estimate.ends_at is not None else None
    return {
        "seconds": estimate.left,
        "ends_at": estimate.ends_at,
        "limit_at": end,
        "before_limit": margin,
        "in_time": margin >= 0 if margin is not None else None,
        "because": estimate.because or None,
        "quote": quote(progress.course.last),
    }


def loss(progress: Progress) -> shapes.Loss:
    """Return the last loss, and some of those before; what is not finite is told as a word."""
    losses = progress.course.losses
    if not losses:
        return {"value": None, "step": None, "curve": None, "quote": None}
    step, value, at = losses[-1]
    return {
        "value": _finite(value),
        "step": _known(step),
        "curve": [[_known(point[0]), _finite(point[1])] for point in thinned(list(losses), MOST_LOSSES)],
        "quote": quote(at),
    }


def last_checkpoint(progress: Progress) -> shapes.Checkpoint:
    """Return the last checkpoint that the log tells of, and how old one will be at the limit."""
    mark, end = checkpoint(progress.course), progress.run.ends_at
    if mark is None:
        return {"step": None, "at": None, "age": None, "age_at_limit": None, "quote": None}
    return {
        "step": mark.step,
        "at": mark.at,
        "age": progress.now - mark.at if mark.at is not None else None,
        "age_at_limit": age_at_limit(progress.course, progress.estimate, end) if end is not None else None,
        "quote": quote(mark),
    }


def throughput(progress: Progress) -> shapes.Throughput:
    """Return samples or tokens a second, as printed; for each GPU where their number is known."""
    seen = [point.at for point in progress.course.points] or ([progress.course.last] if progress.course.last else [])
    rates = [(line, rate) for line in reversed(seen) for rate in [_rate(line)] if rate is not None]
    if not rates:
        return {"value": None, "unit": None, "per_gpu": None, "gpus": None, "quote": None}
    last, rate = rates[0]
    of_device = rate.unit.endswith(OF_DEVICE)
    gpus = progress.run.gpus
    return {
        "value": _finite(rate.value),
        "unit": rate.unit,
        "per_gpu": _finite(rate.value) if of_device else _finite(rate.value / gpus) if gpus else None,
        "gpus": gpus,
        "quote": quote(last),
    }


def _rate(line: Observation) -> Speed | None:
    """Return the samples or tokens a second that a line tells."""
    if line.throughput is not None:
        return line.throughput
    if line.speed is None or line.speed.unit not in _THROUGHPUTS:
        return None
    return replace(line.speed, unit=line.speed.unit + OF_DEVICE) if line.format == "torchtitan" else line.speed


def failures(progress: Progress) -> shapes.Failures:
    """Return how often it was started anew, and what is odd now."""
    restarts = progress.run.restarts
    return {"starts_in_log": progress.course.starts, "restarts": restarts, "alarms": alarms(progress)}


def alarms(progress: Progress) -> list[shapes.Alarm]:
    """Return what is odd now."""
    return [{"kind": alarm.kind, "says": alarm.says, "quote": quote(alarm.at)} for alarm in progress.alarms]


def quote(line: Union[Observation, Mark, Total, Announced, None]) -> shapes.Quote | None:
    """Return a line with its place, as it may be shown; its number is null where the file is too long to be counted."""
    if line is None:
        return None
    place = line.place
    return {"file": shown(place.file), "line": place.line or None, "byte": place.byte, "text": shown(line.text)}


def thinned(values: list[Any], most: int) -> list[Any]:
    """Return at most *most* of the values, evenly, the last among them."""
    if len(values) <= most:
        return values
    return [values[round(at * (len(values) - 1) / (most - 1))] for at in range(most)]


def _finite(value: float) -> float | str:
    """Return a number as JSON can hold it: "nan" and "inf" are no numbers there."""
    return value if math.isfinite(value) else str(value)


def _known(value: float) -> float | None:
    """Return a step, null where it is not known."""
    return value if math.isfinite(value) else None
