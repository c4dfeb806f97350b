"""The second voter and the ranker of telling lines, made from labelled lines and cases, and measured.

`python -m tests.agents.debug.voter` prints how well each does on threads that it was not made from; `--record` writes
`templates/knowledge/lines.idx` and `templates/knowledge/telling.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy
from maple_agents.diagnose.rank.telling import FILE as TELLING
from maple_agents.diagnose.rank.telling import seen
from maple_agents.diagnose.recognise.neighbours import FILE, Index, Vote, indexed, packed
from maple_agents.diagnose.values import Event, Severity

from tests.agents.debug.corpus import ROOT, Known, known_cases, material
from tests.agents.debug.labelled_lines import all_lines, thread

DATA = ROOT / "templates/knowledge"
PARTS = 5  # threads are left out a fifth at a time
STEPS, RATE, SHRINK = 1500, 0.5, 0.002


@cache
def index() -> Index:
    """Return the index of all labelled lines."""
    return indexed([(one.text, one.cause) for one in all_lines()])


def without(threads: set[str], entries: set[str] = frozenset()) -> Callable[[str], Vote | None]:  # type: ignore[assignment]
    """Return the voter without the lines of *threads*, and without the texts that *entries* are tried on."""
    out = threads | {"entry " + name for name in entries}
    counts = [one.thread not in out for one in all_lines()]
    return lambda text: index().vote(text, lambda line: counts[line])


Group = tuple[str, list[dict[str, float]], list[int]]  # thread, features of each event, which of them tell


@cache
def groups() -> tuple[Group, ...]:
    """Return the logs of failures whose telling line is among several events."""
    return tuple(row for case in known_cases() if case.kind == "failed" for row in _group(case))


def _group(case: Known) -> Iterator[Group]:
    digest, vote = material(case)[1], without({thread(case)})
    events = [one for one in digest.events if one.severity >= Severity.WARNING]
    telling = [at for at, one in enumerate(events) if tells(case, one)]
    if 0 < len(telling) < len(events):
        yield thread(case), [seen(one, digest, events, vote(one.text)) for one in events], telling


def tells(case: Known, event: Event) -> bool:
    """Return whether *event*'s telling line proves the cause."""
    return (event.place.file.rsplit("/", 1)[-1], event.place.line) in case.evidence


def fitted(rows: Sequence[Group]) -> dict[str, float]:
    """Return the weights by which the telling events of *rows* are the likeliest ones of their logs."""
    names = sorted({name for _, events, _ in rows for one in events for name in one})
    tables = [numpy.array([[one.get(name, 0.0) for name in names] for one in events]) for _, events, _ in rows]
    weights = numpy.zeros(len(names))
    for _ in range(STEPS):
        slope = -SHRINK * len(rows) * weights
        for table, (_, _, telling) in zip(tables, rows, strict=True):
            share = numpy.exp(table @ weights - (table @ weights).max())
            share /= share.sum()
            mine = share[telling] / share[telling].sum()
            slope += mine @ table[telling] - share @ table
        weights += RATE * slope / len(rows)
    return {name: round(float(value), 3) for name, value in zip(names, weights, strict=True)}


def best(weights: dict[str, float], events: Sequence[dict[str, float]]) -> int:
    """Return which of *events* the weights choose."""
    values = [sum(weights.get(name, 0.0) * value for name, value in one.items()) for one in events]
    return max(range(len(values)), key=values.__getitem__)


def measured() -> Iterator[str]:
    """Yield how often the ranker's first event tells the cause, of threads that it was not fitted on."""
    rows = groups()
    threads = sorted({one for one, _, _ in rows})
    right = first = 0
    for part in range(PARTS):
        out = set(threads[part::PARTS])
        weights = fitted([row for row in rows if row[0] not in out])
        for name, events, telling in rows:
            if name in out:
                right += best(weights, events) in telling
                first += next((at for at, one in enumerate(events) if one["error"] or one["fatal"]), 0) in telling
    yield "telling line among several events, threads left out: %d of %d; the first error: %d" % (
        right,
        len(rows),
        first,
    )


def record() -> None:
    """Write the data of both."""
    (DATA / FILE).write_bytes(packed(index()))
    (DATA / TELLING).write_text(json.dumps({"weights": fitted(groups())}, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    print(*measured(), sep="\n")
    if "--record" in sys.argv[1:]:
        record()
