"""The page of one job: each number with the line that tells it, small curves, ranks, alarms."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Union

from maple_submit_filter.answer.report import folded

from ...base import output
from ...progress.alarms import checkpoint, is_done, shown_at, silence
from ...progress.answers import fraction, shown
from ...progress.gaps import gaps
from ...progress.printed import duration, speed
from ...progress.values import Mark, Observation, Place, Progress, Run, Total
from .table import bar, bold, curve, red, step

QUOTED = 150  # characters of a line
BEFORE = "  | "  # what is quoted
MOST_RANKS = 8


def page(progress: Progress) -> list[str]:
    """Return the lines of the page, as the rows that a terminal shows."""
    return [row for line in _lines(progress) for row in output.fitted(line)]


def _lines(progress: Progress) -> list[str]:
    return [
        bold(_head(progress.run, progress.now)),
        *_alarms(progress),
        *_step(progress),
        *_total(progress),
        *_time(progress),
        *_loss(progress),
        *_speed(progress),
        *_checkpoint(progress),
        *_ranks(progress),
        *_notes(progress),
    ]


def _head(run: Run, now: float) -> str:
    job = "job %s" % run.job if run.job else "the log"
    name = " (%s)" % shown(run.name) if run.name else ""
    state = ": %s" % run.state if run.state != "unknown" else ""
    if run.started is None:
        return job + name + state
    ran = " for %s" % duration((run.ended or now) - run.started)
    return job + name + state + ran + (" of %s" % duration(run.limit) if run.limit is not None else "")


def _alarms(progress: Progress) -> Iterator[str]:
    for alarm in progress.alarms:
        yield red("alarm: ") + shown(alarm.says)
        if alarm.at is not None and alarm.at is not progress.course.last:
            yield from _quote(alarm.at)


def _step(progress: Progress) -> Iterator[str]:
    course, last = progress.course, progress.course.last
    if last is None:
        yield "no line of its logs tells how far it is"
        return
    share = fraction(progress)
    percent = " %d %%" % int(100 * share) if share is not None else ""
    done = ", done" if course.ended is not None or is_done(course) else ""
    again = ", started %d times in this log" % course.starts if course.starts > 1 else ""
    counted = "step " if last.step is not None else ""
    yield "%s%s  %s%s%s%s" % (bar(share), percent, counted, step(progress), done, again)
    yield from _quote(last)
    quiet = silence(course, progress.now)
    if quiet is not None and quiet >= 60 and not done:
        yield "  silent for %s" % duration(quiet)
    if course.busy is not None and not done:
        yield "  busy with %s" % (shown(course.busy.label) or "an evaluation")
        yield from _quote(course.busy)


def _total(progress: Progress) -> Iterator[str]:
    total = progress.course.total
    if total is not None and total.because != "printed with the step":
        yield "total %s: %s" % (format(total.steps, ","), total.because)
        yield from _quote(total)
        return
    whole, last = progress.course.epochs, progress.course.last
    if total is None and whole is not None and whole.total is not None:
        yield "total %d epochs; how many steps that is, nothing tells" % whole.total.steps
        yield from _quote(whole.total)
    elif total is None and last is not None:
        counted = "steps" if last.step is not None else "epochs"
        yield "total unknown: nothing tells how many %s the run has" % counted


def _time(progress: Progress) -> Iterator[str]:
    estimate, run = progress.estimate, progress.run
    if estimate.step_seconds:
        pauses = ", and %d pause%s" % (estimate.pauses, "" if estimate.pauses == 1 else "s") if estimate.pauses else ""
        why = " (%s)" % estimate.because if estimate.because and estimate.left is not None else ""
        yield "speed %s%s%s" % (speed(estimate.step_seconds), pauses, why)
    if estimate.epoch_seconds and progress.course.total is None:
        yield "speed %s an epoch" % duration(estimate.epoch_seconds)
    if estimate.left is None or estimate.ends_at is None or is_done(progress.course):
        return
    ends = time.strftime("%a %H:%M", time.localtime(estimate.ends_at))
    limit = ""
    if run.ends_at is not None:
        margin = run.ends_at - estimate.ends_at
        limit = ", %s %s its limit" % (duration(abs(margin)), "before" if margin >= 0 else "AFTER")
    yield "left  %s: ends %s%s" % (duration(estimate.left), ends, limit)


def _loss(progress: Progress) -> Iterator[str]:
    losses = progress.course.losses
    if not losses:
        return
    drawn = "  " + curve([loss[1] for loss in losses]) if len(losses) > 3 else ""
    first = "%.4g to " % losses[0][1] if len(losses) > 1 else ""
    yield "loss  %s%.4g%s" % (first, losses[-1][1], drawn)
    if losses[-1][2].place != (progress.course.last.place if progress.course.last else None):
        yield from _quote(losses[-1][2])


def _speed(progress: Progress) -> Iterator[str]:
    steady = [gap.steps / gap.seconds for gap in gaps(progress.course) if gap.seconds > 0]
    if len(steady) > 5:
        yield "steps/s     %s" % curve(steady)


def _checkpoint(progress: Progress) -> Iterator[str]:
    mark = checkpoint(progress.course)
    if mark is None:
        return
    step_ = " at step %s" % format(mark.step, ",") if mark.step is not None else ""
    age = ", %s ago" % duration(progress.now - mark.at) if mark.at is not None else ""
    yield "last checkpoint%s%s" % (step_, age)
    yield from _quote(mark)


def _ranks(progress: Progress) -> Iterator[str]:
    ranks = progress.course.ranks
    if len({entry[1] for entry in ranks}) < 2:
        return
    for rank, at, line in sorted(ranks, key=lambda entry: entry[1])[:MOST_RANKS]:
        yield "  rank %d: step %g  %s" % (rank, at, _where(line.place))
    if len(ranks) > MOST_RANKS:
        yield "  and %d further ranks" % (len(ranks) - MOST_RANKS)


def _notes(progress: Progress) -> Iterator[str]:
    for note in progress.notes:
        yield "note: " + shown(note)


def _quote(line: Union[Observation, Mark, Total]) -> Iterator[str]:
    text = shown(line.text)
    cut = text if len(text) <= QUOTED else text[: QUOTED - 1] + "…"
    yield "  %s" % _where(line.place)
    wide = output.width() - len(BEFORE) if output.is_bounded() else len(cut)
    yield from (BEFORE + line for line in folded(cut, wide))


def _where(place: Place) -> str:
    return shown(shown_at(Observation(place, "", "")))
