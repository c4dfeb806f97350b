"""What is shown beside the line that an entry knew: what began it, what it led to, and the rest of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from maple_agents.diagnose.rank.proof import KNOWN, shown, telling_lines
from maple_agents.diagnose.rank.ranking import Ranked
from maple_agents.diagnose.recognise.matches import Match
from maple_agents.diagnose.recognise.neighbours import Vote
from maple_agents.diagnose.values import Digest, Event, Evidence, Place, Severity

LOG = "/x/slurm-1.out"


def event(line: int, text: str, **more: object) -> Event:
    given = {"place": Place(LOG, line), "text": text, "severity": Severity.ERROR, "unit": (text,), "unit_at": (line,)}
    return Event(**{**given, **more})  # type: ignore[arg-type]


def lines(
    first: Event, *others: Event, quiet: tuple[int, ...] = (), vote: Callable[[str], Vote | None] = lambda _: None
):
    """Return the numbers of the lines that are shown where an entry knew the telling line of *first*."""
    match = Match("known", first, 0, Evidence(LOG, first.place.line, first.text))
    digest = Digest(events=(first, *others))
    places = [Place(LOG, line) for line in quiet]
    return [one.line for one in shown(Ranked("known", "container_error", "cause", 6.0, (match,)), digest, places, vote)]


def test_the_exception_that_began_the_chain_is_shown():
    """Not one in its middle, nor the first of another chain."""
    first, middle = event(3, "E: a", exception="E"), event(6, "F: b", exception="F", chained=1)
    assert lines(event(9, "G: c", exception="G", chained=2), first, middle) == [9, 3]
    assert lines(event(9, "G: c", exception="G"), first, middle) == [9]
    other = event(4, "H: d", exception="H"), event(5, "I: e", exception="I", chained=1)
    assert (
        lines(event(9, "G: c", exception="G", chained=2), first, *other, middle)
        == [9, 4]
        == lines(event(9, "G: c", exception="G", chained=2), *other, first, middle, event(12, "J: f", exception="J"))
    )
    elsewhere = event(8, "K: g", exception="K", place=Place("/x/other.out", 8))
    assert lines(event(9, "G: c", exception="G", chained=2), first, elsewhere) == [9, 3]


def test_of_a_complaint_the_death_behind_it_is_shown():
    """Not where that only followed, or life went on behind it."""
    warning, death = event(3, "no driver", severity=Severity.WARNING), event(9, "RuntimeError: no GPU", exception="R")
    assert lines(warning, death) == [3, 9]
    assert lines(warning, death, quiet=(9,)) == [3] == lines(warning, event(9, "R: no", exception="R", behind=99))
    assert lines(event(3, "no driver", exception="E"), death) == [3]
    whole = event(9, "R: no", exception="R", unit=("R: no", "no GPU", "more"), unit_at=(9, 10, 11))
    assert lines(event(3, "no driver"), whole) == [3, 9, 10] == lines(event(3, "no driver"), whole, death)


@pytest.mark.parametrize(
    ("cause", "at", "found"), [("container_error", 5, [3, 5]), ("gpu_oom", 5, [3]), ("container_error", 50, [3])]
)
def test_of_a_report_the_line_that_the_labelled_lines_know_best_is_shown(cause, at, found):
    """For the same cause, and near."""
    report = [event(at, "mkdir: cannot create /run/x"), event(6, "printing the log")]
    known = {
        "mkdir: cannot create /run/x": Vote(cause, 0.9, 1.0),
        "printing the log": Vote("container_error", 0.3, 1.0),
    }
    assert lines(event(3, "pyxis: container start failed"), *report, vote=known.get) == found


def test_of_a_report_the_line_with_the_reason_is_shown_too():
    """The best known line says that it failed, another one why, in the system's own words."""
    known = {
        "child 5 failed": Vote("container_error", 0.9, 1.0),
        "mkdir: /run/x: Permission denied": Vote("container_error", 0.6, 1.0),
        "cannot go on": Vote("container_error", 0.7, 1.0),
    }
    report = [event(5 + at, text) for at, text in enumerate(known)]
    assert lines(event(4, "pyxis: start failed"), *report, vote=known.get) == [4, 5, 6]
    assert lines(event(4, "start failed: No such file"), *report, vote=known.get) == [4, 5]


@pytest.mark.parametrize(("strength", "more"), [(KNOWN - 0.01, []), (KNOWN, [5]), (KNOWN + 0.01, [5])])
def test_a_line_is_shown_from_a_strength_on(strength, more):
    """Near, and as the first of the file."""
    near, known = event(5, "mkdir: cannot create"), event(30, "start failed")
    vote = {near.text: Vote("container_error", strength, 1.0)}.get
    assert lines(event(4, "start failed"), near, vote=vote) == [4, *more]
    match = Match("known", known, 1, Evidence(LOG, 30, known.text))
    rows = shown(Ranked("known", "container_error", "cause", 6.0, (match,)), Digest(events=(near, known)), (), vote)
    assert [row.line for row in rows] == [30, *more]


def test_a_report_is_that_of_errors_of_one_file_beside_the_known_line():
    """Not that line itself, however well it is known; nor a warning, nor what another file says."""
    best = {text: Vote("container_error", strength, 1.0) for text, strength in (("failed", 0.9), ("mkdir", 0.5))}
    assert lines(event(3, "failed"), event(5, "mkdir"), vote=best.get) == [3, 5]
    for other in ({"severity": Severity.WARNING}, {"place": Place("/x/other.out", 5)}):
        assert lines(event(3, "failed"), event(5, "mkdir", **other), vote=best.get) == [3]
    whole = event(3, "failed", unit=("failed", "mkdir"), unit_at=(3, 4))
    assert lines(whole, vote=best.get) == [3, 4]
    assert lines(replace(whole, exception="E"), vote=best.get) == [3]


def test_of_a_message_what_it_announces_is_shown_and_of_others_the_known_line_alone():
    """What stands below the known line of an exception belongs to its message; without a voter that is all."""
    unit = {"unit": ("R: no", "one", "two", "three"), "unit_at": (9, 10, 11, 12)}
    assert lines(event(9, "R: no", exception="R", **unit)) == [9]
    said = event(9, "R: one of these:", exception="R", **unit)
    assert lines(said) == [9, 10, 11]
    for exception, shown_too in (("R", [10, 9, 11, 12]), ("", [10])):
        whole = event(9, "R: no", exception=exception, **unit)
        assert [row.line for row in telling_lines(Match("known", whole, 0, Evidence(LOG, 10, "one")))] == shown_too
    match = Match("known", said, 0, Evidence(LOG, 9, said.text))
    begun = event(3, "E: a", exception="E")
    digest = Digest(events=(begun, replace(said, chained=1)))
    assert [row.line for row in shown(Ranked("k", "c", "cause", 6.0, (match,)), digest, (), None)] == [9, 10, 11]


@pytest.mark.parametrize(("cause", "found"), [("container_error", [40, 2]), ("gpu_oom", [40])])
def test_the_first_error_of_the_file_is_shown_where_it_is_known_for_the_same_cause(cause, found):
    """However far above the line that the entry knows."""
    first, known = event(2, "OPAL ERROR: file x at line 1"), event(40, "It looks like init failed")
    match = Match("known", known, 1, Evidence(LOG, 40, known.text))
    rows = shown(
        Ranked("known", "container_error", "cause", 6.0, (match,)),
        Digest(events=(first, known)),
        (),
        {first.text: Vote(cause, 0.9, 1.0)}.get,
    )
    assert [row.line for row in rows] == found


def test_a_sentence_is_shown_from_its_beginning():
    """Over two lines of a paragraph; a line that begins a sentence of its own stands alone."""
    unit = ("The application was launched with srun,", "but it was not built with support for PMI")
    whole = event(8, unit[1], unit=unit, unit_at=(7, 8))
    assert lines(whole) == [8, 7]
    assert lines(event(8, unit[1], unit=("It ended.", unit[1]), unit_at=(7, 8))) == [8]
