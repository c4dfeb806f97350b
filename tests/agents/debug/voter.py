"""The second voter, the ranker of telling lines and how sure both voters are, made from labelled lines and cases.

`python -m tests.agents.debug.voter` prints how well each does on threads that it was not made from; `--record` writes
`lines.idx`, `telling.json` and `sureness.json` of `templates/knowledge/`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple
from unittest.mock import patch

import numpy
from maple_agents.diagnose import diagnosis
from maple_agents.diagnose.rank import judges
from maple_agents.diagnose.rank.cause_event import FILE as TELLING
from maple_agents.diagnose.rank.cause_event import Candidate, seen
from maple_agents.diagnose.recognise.complaint_sentences import Reading, reading
from maple_agents.diagnose.recognise.neighbours import FILE, FOLLOWS, Index, Vote, indexed, packed
from maple_agents.diagnose.values import Diagnosis, Digest, Event, Severity
from maple_agents.templates.knowledge import Entry, entries

from tests.agents.debug.blind_logs import FOLDER
from tests.agents.debug.corpus import ROOT, Known, diagnosed, known_cases, material
from tests.agents.debug.labelled_lines import all_lines, thread

DATA = ROOT / "templates/knowledge"
PARTS = 5  # threads are left out a fifth at a time
STEPS, RATE, SHRINK = 1500, 0.5, 0.002
CLIMB, RIDGE = 3000, 0.5


@cache
def index() -> Index:
    """Return the index of all labelled lines."""
    return indexed([(one.text, one.cause) for one in all_lines()])


def without(*threads: str, entry: str = "", cause: str = "") -> Callable[[str], Vote | None]:
    """Return the voter without the lines of *threads*, without those that *entry* is tried on, and without a class."""
    out = {*threads, "entry " + entry}
    counts = [one.thread not in out and one.cause != cause for one in all_lines()]
    return lambda text: index().vote(text, lambda line: counts[line])


Group = tuple[str, list[dict[str, float]], list[int]]  # thread, features of each event, which of them tell


@cache
def groups() -> tuple[Group, ...]:
    """Return the logs of failures whose telling line is among several events."""
    return tuple(row for case in known_cases() if case.kind == "failed" for row in _group(case))


def _group(case: Known) -> Iterator[Group]:
    digest, vote = material(case)[1], without(thread(case))
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


# How sure both voters are: answers on threads left out, and again without the entry that knew the cause, as on a log
# whose words no entry was made from. Those count a third: so mixed, answers are as often right as those on the blind
# sets were at their first runs (138 of 143 claims).

UNSEEN = 1 / 3

# What was seen of each answer on sets that nobody had seen, asked with what was known before (`first_asked.py`). By
# weights that a set has no part in 0.949 is said of 497 answers of entries and 0.960 true; of 283 claims that are more
# than likely 280 are right.
FIRST = FOLDER / "first-answers.jsonl"
FIRST_COUNTS = 3.0


def without_reading(cause: str) -> Callable[[str], Reading | None]:
    """Return what a sentence says for whom there is no class *cause*."""

    def other(text: str) -> Reading | None:
        said = reading(text)
        return said if said is not None and said.cause != cause else None

    return other


def often_right() -> dict[str, float]:
    """Return the share of labelled lines that each reading of a sentence had right; one right and one wrong are added.

    Lines that follow and those of good runs don't count: no sentence is read of what is known to be one.
    """
    read, right = Counter[str](), Counter[str]()
    for line in all_lines():
        said = reading(line.text) if line.cause not in (FOLLOWS, "none") else None
        if said is not None:
            read[said.name] += 1
            right[said.name] += said.cause == line.cause
    return {name: round((right[name] + 1) / (count + 2), 3) for name, count in read.items()}


class Answer(NamedTuple):
    """What was seen of an answer of "entries" or "lines", whether it was right, and how much it counts."""

    thread: str
    voter: str
    seen: dict[str, float]
    right: bool
    counts: float


@cache
def cases_answered() -> tuple[Answer, ...]:
    """Return the answers on all cases."""
    return tuple(row for case in known_cases() for row in _answers(case))


def _answers(case: Known) -> Iterator[Answer]:
    entry, rows = _asked(case, entries(), without(thread(case)))
    yield from (Answer(thread(case), *row, 1.0) for row in rows)
    if entry and case.kind in ("failed", "hang"):
        fewer = {name: one for name, one in entries().items() if name != entry}
        yield from (
            Answer(thread(case), *row, UNSEEN) for row in _asked(case, fewer, without(thread(case), entry=entry))[1]
        )


def _asked(
    case: Known, known: Mapping[str, Entry], voter: Callable[[str], Vote | None]
) -> tuple[str, list[tuple[str, dict[str, float], bool]]]:
    """Return the entry of the first cause, and what a diagnosis asks the judges, with whether that is right."""
    told, claims = with_claims(lambda: diagnosed(case, known, voter))
    rows = [(voter_, seen, cause == case.cause) for voter_, seen, cause in claims]
    return told.causes[0].entry, rows if told.causes[0].cause != "none" else []


Claims = list[tuple[str, dict[str, float], str]]  # who names a cause, what is seen of that, and the cause


def with_claims(asked: Callable[[], Diagnosis]) -> tuple[Diagnosis, Claims]:
    """Return a diagnosis, and what it asked the judges, who say yes to entries and nothing of lines: what they have
    learnt so far has no say in what they learn.
    """
    claims: Claims = []

    def of_entry(
        entry: Entry, score: float, lead: float, votes: Sequence[Vote | None], said: Collection[str] = ()
    ) -> judges.Judgement:
        claims[:] = [("entries", judges.seen_by_both(entry, score, lead, votes, said), entry.cause)]
        return judges.Judgement(1.0, False, ("entries",))

    def by_lines(rows: Sequence[Candidate], digest: Digest, also: Collection[str] = ()) -> None:
        claims[:] = [
            ("lines", judges.seen_by_lines(row), row.vote.cause)
            for row in rows[:1]
            if row.vote is not None and judges.deadly(row.event, digest) and row.vote.cause not in judges.NO_CLASS
        ]

    with patch.object(diagnosis, "of_entry", of_entry), patch.object(diagnosis, "by_lines", by_lines):
        return asked(), claims


def first_answers() -> Iterator[Answer]:
    """Yield the answers of the first runs."""
    for line in FIRST.read_text("utf-8").splitlines():
        row = json.loads(line)
        own = {"code": float(row.get("said") == judges.OWN_CODE)} if row["voter"] == "entries" else {}
        yield Answer(row["case"], row["voter"], {**row["seen"], **own}, row["right"], FIRST_COUNTS)


def fitted_sureness(rows: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """Return the weights by which answers like those of *rows* are as often right as is said, for each voter."""
    return {voter: _logistic([row for row in rows if row.voter == voter]) for voter in ("entries", "lines")}


# What may only speak for an answer, and what only against it, whatever the answers at hand would have.
FOR = frozenset(("score", "lead", "agree", "agrees", "facts", "sentence", "strength", "likeness", "telling"))
AGAINST = frozenset(("symptom", "not strong", "against", "alike, of no class", "code", "other sentence"))


def _logistic(rows: Sequence[Answer]) -> dict[str, float]:
    """Return the weights of the likeliest logistic model whose signs are right, by accelerated projected steps."""
    names = sorted({name for row in rows for name in row.seen})
    table = numpy.array([[row.seen.get(name, 0.0) for name in names] for row in rows])
    right, counts = (numpy.array([float(getattr(row, key)) for row in rows]) for key in ("right", "counts"))
    low = numpy.array([0.0 if name in FOR else -numpy.inf for name in names])
    high = numpy.array([0.0 if name in AGAINST else numpy.inf for name in names])
    step = 1 / (float(numpy.linalg.eigvalsh((table.T * counts) @ table)[-1]) / 4 + RIDGE)
    weights = ahead = numpy.zeros(len(names))
    for turn in range(CLIMB):
        share = 1 / (1 + numpy.exp(-table @ ahead))
        slope = table.T @ (counts * (right - share)) - RIDGE * ahead
        before, weights = weights, numpy.clip(ahead + step * slope, low, high)
        ahead = weights + turn / (turn + 3) * (weights - before)
    return {name: round(float(value), 3) for name, value in zip(names, weights, strict=True)}


def record() -> None:
    """Write the data of all three."""
    (DATA / FILE).write_bytes(packed(index()))
    _write(TELLING, {"weights": fitted(groups())})
    _write(judges.FILE, {**fitted_sureness([*cases_answered(), *first_answers()]), "sentences": often_right()})


def _write(name: str, data: object) -> None:
    (DATA / name).write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    print(*measured(), sep="\n")
    if "--record" in sys.argv[1:]:
        record()
