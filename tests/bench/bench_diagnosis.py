"""How often the diagnosis is right: `make bench-diagnosis`, on the cases of `tests/cases/diagnosis/`.

As a program: `--record` writes what is not right yet to figures.toml, with both voters as they are in force. In the
tables the second voter never knows the lines of the thread that it judges. The weights behind the confidence are made
by `python -m tests.agents.debug.voter --record`.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402
from maple_agents.diagnose.rank import judges  # noqa: E402
from maple_agents.diagnose.values import Diagnosis  # noqa: E402
from maple_agents.templates.knowledge import entries  # noqa: E402

from tests.agents.debug import voter  # noqa: E402
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
from tests.agents.debug.labelled_lines import thread  # noqa: E402

Rows = Sequence[tuple[Known, Diagnosis]]
BOUNDS = (0.0, 0.66, 0.8, 0.9, 0.95, 0.98, 1.01)  # of the rows of the table by confidence


def answers(cases: Iterable[Known]) -> Rows:
    """Return every case with what is said of it."""
    return [(one, diagnosed(one, entries(), voter.without(thread(one)))) for one in cases]


def unseen(rows: Rows) -> Rows:
    """Return every failure with what is said of it once the entry that knows it is gone, from both voters."""
    made = []
    for one, told in rows:
        entry = told.causes[0].entry
        if entry and one.kind in ("failed", "hang"):
            fewer = {name: known for name, known in entries().items() if name != entry}
            made.append((one, diagnosed(one, fewer, voter.without(thread(one), entry=entry))))
    return made


@pytest.mark.timeout(1200)
def test_diagnosis() -> None:
    """Print all tables; nothing is asserted here."""
    rows = answers(known_cases())
    print(*by_class(rows), "", *in_all(rows), "", *left_out(rows), sep="\n")
    print("", "threads left out:", *reliability(rows), sep="\n")
    print("", "the entry that knows it left out as well:", *reliability(unseen(rows)), sep="\n")
    print("", *abstaining(rows), sep="\n")


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
    """Yield what is said of the cases of a class once neither voter knows that class: "unknown" is right."""
    said: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for one, _ in rows:
        if one.kind not in ("failed", "hang"):
            continue
        first = _left_out(one).causes[0]
        word = {"unknown": "unknown", "none": "none"}.get(first.cause, "likely another" if first.likely else "another")
        said[word] += 1
        others["%s, said %s%s" % (one.cause, "likely " if first.likely else "", first.cause)] += "another" in word
    total = said.total() or 1
    yield "class left out: " + ", ".join(
        "%s %d (%.1f %%)" % (word, n, 100 * n / total) for word, n in said.most_common()
    )
    for line, count in others.most_common():
        yield from ["  %2d %s" % (count, line)] if count else []


def _left_out(one: Known) -> Diagnosis:
    """Return what is said of a case where neither voter knows its class, and no sentence has that meaning."""
    with patch.object(judges, "reading", voter.without_reading(one.cause)):
        return diagnosed(one, without(one.cause), voter.without(thread(one), cause=one.cause))


def abstaining(rows: Rows) -> Iterable[str]:
    """Yield, for each confidence from which a cause would be named at all, what is named rightly and wrongly: with the
    thread left out, with the entry that knew it as well, and with its whole class, where every name is wrong.
    """
    failed = [(one, found) for one, found in rows if one.kind in ("failed", "hang")]
    less = [(one, _left_out(one)) for one, _ in failed]
    fewer = unseen(rows)
    yield "named from %8s %8s %8s %8s %10s" % ("right", "wrong", "right", "wrong", "wrong")
    yield "confidence %17s %17s %10s" % ("thread out", "entry out", "class out")
    for least in (*BOUNDS[:-1], 0.975):
        counts = [_named(part, least) for part in (failed, fewer, less)]
        yield "%10.3f %8.1f %8.1f %8.1f %8.1f %8.1f %%" % (least, *counts[0], *counts[1], counts[2][1])


def _named(rows: Rows, least: float) -> tuple[float, float]:
    """Return the percentages of *rows* whose cause is named, and so sure, rightly and wrongly."""
    named = [
        verdict(one, found) == "right"
        for one, found in rows
        if found.causes[0].cause not in ("unknown", "none") and found.causes[0].confidence >= least
    ]
    total = len(rows) or 1
    return 100 * sum(named) / total, 100 * (len(named) - sum(named)) / total


def reliability(rows: Rows) -> Iterable[str]:
    """Yield, for each range of stated confidence, how many answers were right; silence stands apart."""
    told = [(one, found.causes[0], verdict(one, found) == "right") for one, found in rows]
    for word in ("sure", "likely"):
        some = [row for row in told if row[1].cause not in ("unknown", "none") and row[1].likely == (word == "likely")]
        yield "  %-14s %8s %6s %6s" % (word, "answers", "said", "right")
        for least, most in zip(BOUNDS, BOUNDS[1:]):
            part = [(first.confidence, right) for _, first, right in some if least <= first.confidence < most]
            yield from (
                ["  %4.2f to %4.2f %10d %6.3f %6.3f" % (least, min(most, 1.0), len(part), *_means(part))]
                if part
                else []
            )
        yield "  all %s %18d %6.3f %6.3f" % (
            word,
            len(some),
            *_means([(first.confidence, right) for _, first, right in some]),
        )
    silent = [one for one, first, _ in told if first.cause == "unknown" and one.kind in ("failed", "hang")]
    yield "  unknown, where there is a cause: %d" % len(silent)


def _means(rows: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    return (sum(row[0] for row in rows) / len(rows), sum(row[1] for row in rows) / len(rows)) if rows else (0.0, 0.0)


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
    rows = [(one, diagnosed(one, entries())) for one in known_cases()]
    if "--record" in words:
        (FOLDER / "figures.toml").write_text(record(rows), "utf-8")
    print(*by_class(rows), "", *in_all(rows), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
