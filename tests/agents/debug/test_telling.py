"""Which line most likely tells why a job died: what is counted of a line, and of how many lines."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.rank.cause_event import MOST, candidates, seen, telling
from maple_agents.diagnose.values import Event, Place, Severity

from tests.agents.debug.test_ranking import digest, event


def features(number: int, *events: Event) -> dict[str, float]:
    return seen(events[number], digest(*events), events, None)


def none(_: str) -> None:
    """A voter that knows no line."""


def test_how_grave_a_line_is_is_counted() -> None:
    error, fatal = event(1, "a"), event(2, "b", severity=Severity.FATAL)
    assert [(features(at, error, fatal)["error"], features(at, error, fatal)["fatal"]) for at in (0, 1)] == [
        (1, 0),
        (0, 1),
    ]


def test_the_first_and_the_last_error_are_known_for_what_they_are() -> None:
    """A warning before them is neither; of each rank and file there is a first one."""
    lines = (
        event(1, "w", severity=Severity.WARNING),
        event(2, "a", rank=0),
        event(3, "b", rank=1),
        event(4, "c", rank=1),
    )
    told = [features(at, *lines) for at in range(4)]
    assert [one["first error"] for one in told] == [0, 1, 0, 0]
    assert [one["first of rank"] for one in told] == [0, 1, 1, 0]
    assert [one["last error"] for one in told] == [0, 0, 0, 1]
    assert [one["late"] for one in told] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert [features(at, *lines[:2])["late"] for at in (0, 1)] == [0, 1] and features(0, lines[0])["late"] == 0


def test_an_exception_before_or_behind_is_counted() -> None:
    """Any one of them, and never the line's own."""
    lines = (event(1, "a", exception="OSError"), event(2, "b"), event(3, "c"), event(4, "d", exception="KeyError"))
    told = [features(at, *lines) for at in range(4)]
    assert [one["an exception before"] for one in told] == [0, 1, 1, 1]
    assert [one["an exception behind"] for one in told] == [1, 1, 1, 0]


@pytest.mark.parametrize(("count", "kept"), [(MOST, MOST), (MOST + 1, MOST), (3 * MOST, MOST)])
def test_of_many_lines_the_first_and_the_last_are_looked_at(count: int, kept: int) -> None:
    """A log may have thousands of them."""
    lines = [event(number, "line %d" % number) for number in range(count)]
    rows = candidates(digest(*lines), none, {"late": 1.0})
    assert len(rows) == kept
    assert rows[0].event is lines[-1] and sum(row.share for row in rows) == pytest.approx(1.0)
    halves = {row.event.place.line for row in rows}
    assert halves == {*range(kept // 2), *range(count - kept // 2, count)}


def test_what_is_known_not_to_tell_and_what_is_no_warning_is_left_out() -> None:
    lines = (event(1, "a"), event(2, "b"), event(3, "c", severity=Severity(Severity.WARNING - 1)))
    rows = candidates(digest(*lines), none, {}, frozenset({Place(lines[0].place.file, 1)}))
    assert [row.event.place.line for row in rows] == [2]


def test_without_weights_or_others_the_first_error_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (event(1, "w", severity=Severity.WARNING), event(2, "a"), event(3, "b"))
    monkeypatch.setattr("maple_agents.diagnose.rank.cause_event.weights_in_force", dict)
    assert telling(digest(*lines), ()) is lines[1]
    assert telling(digest(lines[0]), ()) is None
    monkeypatch.setattr("maple_agents.diagnose.rank.cause_event.weights_in_force", lambda: {"last error": 9.0})
    assert telling(digest(*lines), ()) is lines[2]
    assert telling(digest(*lines), (lines[2].place,)) is lines[1]


def test_a_frame_of_the_user_s_own_is_counted_and_whether_it_is_the_innermost() -> None:
    """A library's frame below it says that the user called it wrongly, perhaps."""
    lines = (
        event(1, "a", frame=("train.py", 3), innermost=("train.py", 3)),
        event(2, "b", frame=("train.py", 3), innermost=("lib.py", 9)),
        event(3, "c", innermost=("lib.py", 9)),
        event(4, "d"),
    )
    told = [features(at, *lines) for at in range(4)]
    assert [one["own frame"] for one in told] == [1, 1, 0, 0]
    assert [one["innermost own"] for one in told] == [1, 0, 0, 0]


def test_long_and_repeated_lines_count_up_to_a_bound() -> None:
    """From nothing to one."""
    short, long = event(1, "a", count=1), event(2, "b", count=10**6, unit=tuple("x" * 90), chained=1)
    low, high = features(0, short, long), features(1, short, long)
    assert (high["deep"], high["often"], high["chained"], low["chained"]) == (1.0, 1.0, 1.0, 0.0)
    assert 0 <= low["deep"] < 0.1 and 0 < low["often"] < 0.2


@pytest.mark.parametrize("much", [0, 1, 3, 40, 10**6])
def test_every_number_lies_between_minus_one_and_one(much: int) -> None:
    """However long the log, the line or the traceback: a weight would else drown all others."""
    unit = tuple("frame %d" % number for number in range(min(much, 500)))
    line = event(1, "word " * min(much, 500), behind=much, count=max(much, 1), unit=unit)
    made = features(0, line, event(2, "b"))
    assert [name for name, value in made.items() if not -1 <= value <= 1] == []
    assert (made["behind"] > 0, made["often"] > 0) == (much > 0, True)


def test_more_of_something_counts_for_more() -> None:
    """Lines behind it, times that it came, up to where it is much anyway."""
    for name, key in (("behind", "behind"), ("count", "often")):
        values = [features(0, event(1, "a", **{name: much}))[key] for much in (1, 2, 10, 100)]
        assert values == sorted(values) and len(set(values)) == 4
