"""How often the diagnosis is right: `make bench-diagnosis`, on the cases of `tests/cases/diagnosis/`.

As a program: `--record` writes what is not right yet to figures.toml, `--fit` prints the steps of a calibrated
confidence, fitted on one half of the groups of cases and shown on the other.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from maple_agents.diagnose.rank.ranking import STEPS  # noqa: E402
from maple_agents.diagnose.values import Diagnosis  # noqa: E402
from maple_agents.templates.knowledge import entries  # noqa: E402

from tests.agents.debug.corpus import (  # noqa: E402
    FOLDER,
    VERDICTS,
    Known,
    diagnosed,
    known_cases,
    proven,
    verdict,
    without,
)

Rows = Sequence[tuple[Known, Diagnosis]]
LEASTS = (0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)  # where a step of the confidence may begin


def answers(cases: Iterable[Known]) -> Rows:
    """Return every case with what is said of it."""
    return [(one, diagnosed(one, entries())) for one in cases]


def test_diagnosis() -> None:
    """Print all tables; nothing is asserted here."""
    rows = answers(known_cases())
    for line in (*by_class(rows), "", *in_all(rows), "", *left_out(rows), "", *reliability(rows, _given)):
        print(line)


def by_class(rows: Rows) -> Iterable[str]:
    """Yield a line for each class: right first, in three, unknown, wrong, and the line that proves it shown."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for one, told in rows:
        name = one.cause if one.kind == "failed" else "(%s)" % one.kind
        word = verdict(one, told)
        table[name][word] += 1
        table[name]["proven"] += word == "right" and proven(one, told)
    yield "%-50s %6s %6s %8s %8s %6s %7s" % ("class", "cases", "right", "in three", "unknown", "wrong", "proven")
    for name, count in sorted(table.items()):
        words = [count[word] for word in reversed(VERDICTS)]
        right, third, unknown, wrong = words
        yield "%-50s %6d %6d %8d %8d %6d %7d" % (
            name, sum(words), right, right + third, unknown, wrong, count["proven"]
        )  # fmt: skip


def in_all(rows: Rows) -> Iterable[str]:
    """Yield the sums by kind of case, and the good runs that are accused of something."""
    for kind in ("failed", "hang", "unknown", "good"):
        words = Counter(verdict(one, told) for one, told in rows if one.kind == kind)
        told_all = ", ".join("%s %d" % (word, words[word]) for word in reversed(VERDICTS) if words[word])
        yield "%-8s %4d cases: %s (%.1f %% right)" % (kind, words.total(), told_all, _percent(words))
    accused = [one.name for one, told in rows if one.kind == "good" and verdict(one, told) == "wrong"]
    yield "false alarms: %d %s" % (len(accused), " ".join(accused))


def _percent(words: Counter[str]) -> float:
    return 100 * words["right"] / max(1, words.total())


def left_out(rows: Rows) -> Iterable[str]:
    """Yield what is said of the cases of a class once all entries of that class are gone: "unknown" is right."""
    said: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for one, _ in rows:
        if one.kind not in ("failed", "hang"):
            continue
        cause = diagnosed(one, without(one.cause)).causes[0].cause
        said["unknown" if cause == "unknown" else "none" if cause == "none" else "another"] += 1
        if cause not in ("unknown", "none"):
            others["%s, said %s" % (one.cause, cause)] += 1
    yield "class left out: unknown %d, another class %d, none %d" % (said["unknown"], said["another"], said["none"])
    for line, count in others.most_common():
        yield "  %2d %s" % (count, line)


def _given(told: Diagnosis) -> float:
    return told.causes[0].confidence


def reliability(rows: Rows, confidence: Callable[[Diagnosis], float]) -> Iterable[str]:
    """Yield, for each stated confidence, how many answers were right; answers that claim no cause stand apart."""
    bins: dict[float, list[bool]] = defaultdict(list)
    for one, told in rows:
        if told.causes[0].cause not in ("unknown", "none"):
            bins[confidence(told)].append(verdict(one, told) == "right")
    yield "confidence   answers   right"
    for stated, right in sorted(bins.items()):
        yield "%10.2f %9d   %5.2f" % (stated, len(right), sum(right) / len(right))
    total = sum(map(len, bins.values()))
    off = sum(abs(stated - sum(right) / len(right)) * len(right) for stated, right in bins.items()) / max(1, total)
    yield "expected calibration error %.3f over %d answers" % (off, total)


def value(told: Diagnosis) -> float:
    """Return what the confidence is a function of: score, and half of the lead over the next class up to two."""
    best, *others = told.causes
    lead = best.score - max((one.score for one in others), default=0.0)
    return best.score + min(max(0.0, lead), 2.0) / 2


def fitted(rows: Rows) -> tuple[tuple[float, float], ...]:
    """Return steps that never fall: the share of right answers from each least value on, with one wrong and one right
    answer added to each so that few cases promise little. Pools neighbours that would fall.
    """
    pools = [[least, 1.0, 2.0] for least in LEASTS]
    for one, told in rows:
        if told.causes[0].cause not in ("unknown", "none"):
            pool = next(one for one in reversed(pools) if value(told) >= one[0] or one[0] == 0.0)
            pool[1] += verdict(one, told) == "right"
            pool[2] += 1
    pools = [pool for pool in pools if pool[2] > 2.0 or pool[0] == 0.0]
    at = 1
    while at < len(pools):
        if pools[at][1] / pools[at][2] >= pools[at - 1][1] / pools[at - 1][2]:
            at += 1
            continue
        pools[at - 1] = [pools[at - 1][0], pools[at - 1][1] + pools[at][1], pools[at - 1][2] + pools[at][2]]
        del pools[at]
        at = max(1, at - 1)
    return tuple((least, round(right / count, 2)) for least, right, count in pools)


def at_step(steps: Sequence[tuple[float, float]], found: float) -> float:
    """Return the confidence that *steps* give."""
    return [share for least, share in steps if least <= found or least == 0.0][-1]


def fit(rows: Rows) -> Iterable[str]:
    """Yield the steps fitted on each half, their reliability on the other, and those of all."""
    groups = sorted({one.group for one, _ in rows})
    halves = [[row for row in rows if groups.index(row[0].group) % 2 == half] for half in (0, 1)]
    for half in (0, 1):
        steps = fitted(halves[half])
        yield "fitted on half %d: %s; on the other:" % (half + 1, steps)
        yield from reliability(halves[1 - half], lambda told, steps=steps: at_step(steps, value(told)))  # type: ignore[misc]
    yield "now in force: STEPS = %s" % (STEPS,)
    yield "of all:       STEPS = %s" % (fitted(rows),)


def record(rows: Rows) -> str:
    """Return figures.toml: what is not right, and what is right but not proven by the line that is wanted."""
    wrong: Mapping[str, str] = {one.name: verdict(one, told) for one, told in rows if verdict(one, told) != "right"}
    bare = [
        one.name
        for one, told in rows
        if one.kind == "failed" and verdict(one, told) == "right" and not proven(one, told)
    ]
    lines = ["# What is not right yet; `tests/bench/bench_diagnosis.py --record` writes it.", ""]
    lines += ["unproven = [", *('    "%s",' % name for name in bare), "]", "", "[verdict]"]
    return "\n".join([*lines, *('%s = "%s"' % row for row in sorted(wrong.items())), ""])


def main(words: Sequence[str]) -> None:
    """Do what *words* ask for."""
    rows = answers(known_cases())
    if "--record" in words:
        (FOLDER / "figures.toml").write_text(record(rows), "utf-8")
    print("\n".join(fit(rows) if "--fit" in words else [*by_class(rows), "", *in_all(rows)]))


if __name__ == "__main__":
    main(sys.argv[1:])
