"""What sounds like a death and is none accuses no good run; what sounds like a good end acquits no failure."""

from __future__ import annotations

from collections import Counter

from tests.agents.debug import false_alarms


def test_no_good_run_is_accused_for_frightening_words() -> None:
    """At any place where they may stand, and in other clothes; the seed is fixed, other seeds are for the tool."""
    rows = [*false_alarms.alarms(seed=7, each=1)]
    assert min(Counter(row.place for row in rows).values()) > 20
    assert [(row.name, row.words, row.answer) for row in rows if false_alarms.accused(row)] == []


def test_no_failure_is_a_success_because_its_script_says_done() -> None:
    """A script says so whatever became of its program."""
    rows = [*false_alarms.successes(seed=7, each=6)]
    assert len(rows) > 60
    assert [(row.name, row.words, row.plain) for row in rows if false_alarms.acquitted(row)] == []


def test_a_good_run_is_not_only_unknown() -> None:
    """Silence would accuse nobody either: nearly all good runs are called that, whatever words are in them."""
    rows = [row for row in false_alarms.alarms(seed=8, each=1) if row.plain == "none"]
    assert sum(row.answer == "none" for row in rows) >= 0.9 * len(rows)
