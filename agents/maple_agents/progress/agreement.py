"""What several lines of one kind agree on beyond their format: which counter is the run's, whether a time is a step's.

A format knows the lines of a program as its author prints them; what else they tell stands there in keys and values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import key_values
from .printed import Pace, paces, throughput
from .values import Announced, Mark, Observation, Place, Scope

_NEXT = 20  # characters in front of an epoch in which a word says what the line is of
_LAST = 400  # lines of a kind that are looked at
_STEPWISE = re.compile(r"\beta\b|\bdata(?:_time)?\b|\bmax mem|\bmemory\b", re.I)  # beside the time of one step
_OF_RUN = 1  # how sure the names are that count steps of the optimizer
_LOOPS = "plain"  # the format of loops that print by themselves, whatever they call their lines
_UNNAMED = 9  # how sure a counter without a name is


def completed(
    rows: Sequence[Observation | Mark | Announced], below: Callable[[Place], str]
) -> list[Observation | Mark | Announced]:
    """Return *rows* in which the lines of a training tell what their format left out. *below*: what stands indented
    below a line.
    """
    kinds: dict[tuple[object, ...], list[int]] = {}
    rows = [_meant(row) for row in rows]
    for at, row in enumerate(rows):
        if isinstance(row, Observation) and row.role == "training" and row.scope != "unknown":
            heads = row.step is None and row.loss is None  # the heading of an epoch
            kinds.setdefault((row.format, row.scope, row.label, row.step is None, heads), []).append(at)
    out = list(rows)
    for places in kinds.values():
        last = places[-_LAST:]
        lines = [row for row in (rows[at] for at in last) if isinstance(row, Observation)]
        if lines[-1].elapsed is None:  # no bar
            for at, line in zip(last, _agreed(lines, below)):
                out[at] = line
    return out


def _meant(row: Observation | Mark | Announced) -> Observation | Mark | Announced:
    """Return a line of a loop as one of an evaluation where words in front of its step, or of its epoch, say so."""
    if not isinstance(row, Observation) or row.format != _LOOPS:
        return row
    if row.step is None:
        before = max(0, row.text.lower().find("epoch"))
        aside = key_values.is_aside(row.text[max(0, before - _NEXT) : before])
        return replace(row, role="evaluation", scope="part") if aside else row
    before = max(0, row.text.find(str(row.step)))
    return replace(row, role="evaluation", scope="part") if key_values.is_aside(row.text[:before]) else row


def _agreed(lines: Sequence[Observation], below: Callable[[Place], str]) -> list[Observation]:
    texts = [
        line.text + "\n" + below(line.place) if line.speed is None or line.loss is None else line.text for line in lines
    ]
    lines = _promoted(lines, texts)
    rates = [paces(text) for text in texts]
    doubt = _is_each(lines, rates, texts)
    return [_filled(line, own, doubt, text) for line, own, text in zip(lines, rates, texts)]


def _filled(line: Observation, rates: Sequence[Pace], doubt: bool, text: str) -> Observation:
    """Return a line with the speed and the loss that its text tells."""
    sure = [pace for pace in rates if doubt or not pace.doubtful]
    if line.speed is None or line.step_seconds is not None:  # else it is the throughput itself
        line = replace(line, throughput=throughput(rates))
    if sure and line.speed is None:
        pace = next((pace for pace in sure if pace.seconds is not None), sure[0])
        line = replace(line, speed=pace.speed, step_seconds=line.step_seconds or pace.seconds)
    return line if line.loss is not None else replace(line, loss=key_values.loss_in(text))


def _is_each(lines: Sequence[Observation], rates: Sequence[Sequence[Pace]], texts: Sequence[str]) -> bool:
    """Return whether what is called "time" alone is that of one step, not that since the start or the line before.

    The clock of the lines decides where they have one; else words that stand beside the time of a step.
    """
    times = [
        (line.step or 0, pace.seconds or 0.0, line.at)
        for line, own in zip(lines, rates)
        if line.speed is None
        for pace in own[:3]
        if pace.doubtful
    ]
    if not times:
        return False
    (first, early, begun), (last, late, ended) = times[0], times[-1]
    if last > first and late - early >= 1e-3 * (last - first) and _rise([time for _, time, _ in times]):
        return False
    if last > first and begun is not None and ended is not None and ended > begun:
        ratio = (ended - begun) / ((last - first) * late)
        if 0.3 < ratio < 3:
            return True
    return _STEPWISE.search(texts[-1]) is not None


def _rise(values: Sequence[float]) -> bool:
    return len(values) > 1 and all(before < value for before, value in zip(values, values[1:]))


def _promoted(lines: Sequence[Observation], texts: Sequence[str]) -> list[Observation]:
    """Return lines with the step of a surer counter, where all of them name one that never falls: `num_updates` beside
    the place in an epoch, `step` beside `iter`, which counts more often.
    """
    counters = [key_values.counters(text) for text in texts]
    names = [_surer(line, named) for line, named in zip(lines, counters)]
    if not names or not names[0] or set(names) != {names[0]}:
        return list(lines)
    counts = [named[names[0]] for named in counters]
    if any(step < before for (before, _), (step, _) in zip(counts, counts[1:])):
        return list(lines)
    rank, scope = key_values.rank(names[0]), lines[0].scope
    counted: Scope = "run" if rank <= _OF_RUN else scope
    return [
        replace(line, step=step, steps=_total(line, total, rank), scope=counted, step_seconds=None)
        if line.step != step
        else line
        for line, (step, total) in zip(lines, counts)
    ]


def _total(line: Observation, total: int | None, rank: int) -> int | None:
    """Return the total that stands behind a surer counter; beside an epoch it may be that of one."""
    return total if rank == 0 or line.epoch is None else None


def _surer(line: Observation, named: dict[str, tuple[int, int | None]]) -> str:
    """Return the name of a counter that is surer than the one that was taken, "" where that is the surest."""
    own = min((key_values.rank(key) for key, (step, _) in named.items() if step == line.step), default=_UNNAMED)
    best = min(named, key=key_values.rank, default="")
    if not best or key_values.rank(best) >= own:
        return ""
    if line.step is None or key_values.rank(best) == 0:
        return best
    less = own < _UNNAMED and named[best][0] <= line.step
    return best if less and key_values.rank(best) <= _OF_RUN else ""
