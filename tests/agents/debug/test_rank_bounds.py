"""What is seen of an event and of a vote is a number within its bounds, and each threshold holds to the step."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from maple_agents.diagnose.rank import cause_event, judges
from maple_agents.diagnose.rank.cause_event import _shares, candidates, seen
from maple_agents.diagnose.rank.judges import (
    AGREED,
    ALONE,
    DISPUTED,
    OUTVOTED,
    agrees,
    by_lines,
    deadly,
    likeliest,
    seen_by_both,
)
from maple_agents.diagnose.rank.ranking import MANY, SOME, of_earlier_run, survived
from maple_agents.diagnose.recognise.neighbours import FOLLOWS, Vote
from maple_agents.diagnose.values import Digest, Event, Place, Severity

from tests.agents.debug.test_ranking import entry

FILE = "a"
OOM, DISK = "gpu_oom", "disk_quota_or_full"


def event(line: int, text: str = "it failed", **more: object) -> Event:
    return Event(**{"place": Place(FILE, line), "text": text, "severity": Severity.ERROR, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("behind", "training", "lived"),
    [(0, True, False), (SOME - 1, True, False), (SOME, True, True), (SOME, False, False), (MANY - 1, False, False),
     (MANY, False, True), (MANY + 1, False, True)],
)  # fmt: skip
def test_life_went_on_behind_some_lines_of_training_or_many_others(behind: int, training: bool, lived: bool) -> None:
    """Not behind a fatal word, nor an exception right before one; nor where the training was before, or elsewhere."""
    after = event(5, behind=behind)
    digest = Digest(events=(after,), last_progress=Place(FILE, 9) if training else None)
    assert survived(after, digest) == lived
    assert not survived(replace(after, severity=Severity.FATAL), digest)
    death = event(6, severity=Severity.FATAL)
    raised = replace(after, exception="E")
    assert survived(raised, digest) == lived == survived(after, replace(digest, events=(after, death)))
    assert not survived(raised, replace(digest, events=(raised, death)))
    for place in (Place(FILE, 5), Place(FILE, 4), Place("b", 9)):
        assert survived(after, replace(digest, last_progress=place)) == (behind >= MANY)
    assert survived(replace(after, last=Place(FILE, 9)), digest) == (behind >= MANY)
    page = event(5, "usage: train [-h]", behind=behind)
    assert survived(page, digest) == training  # whatever stands behind it is its own


def test_an_earlier_run_is_one_behind_which_its_file_has_another() -> None:
    first, second, elsewhere = event(1, run=0), event(9, run=1), event(9, run=1, place=Place("b", 9))
    assert of_earlier_run(first, Digest(events=(first, second)))
    assert not of_earlier_run(second, Digest(events=(first, second)))
    assert not of_earlier_run(first, Digest(events=(first, elsewhere, event(3, run=0))))


@pytest.mark.parametrize(
    ("name", "more", "value"),
    [
        ("long", {"text": " ".join(["word"] * 15)}, 0.5), ("long", {"text": " ".join(["word"] * 30)}, 1.0),
        ("long", {"text": " ".join(["word"] * 31)}, 1.0), ("long", {"text": "1 2 a"}, 0.0),
        ("launcher", {"text": "srun: error: gone"}, 1.0), ("launcher", {"text": "surun: gone"}, 0.0),
        ("heading", {"text": "these failed:"}, 1.0), ("heading", {"text": "these: failed"}, 0.0),
        ("name alone", {"text": "RuntimeError:"}, 1.0), ("name alone", {"text": "RuntimeError: x"}, 0.0),
        ("error", {}, 1.0), ("error", {"severity": Severity.FATAL}, 0.0), ("fatal", {}, 0.0),
        ("fatal", {"severity": Severity.FATAL}, 1.0), ("exception", {"exception": "E"}, 1.0), ("exception", {}, 0.0),
        ("chained", {"chained": 0}, 0.0), ("chained", {"chained": 1}, 1.0), ("chained", {"chained": 2}, 1.0),
        ("own frame", {"frame": ("t.py", 1)}, 1.0), ("own frame", {}, 0.0),
        ("innermost own", {"frame": ("t.py", 1), "innermost": ("t.py", 1)}, 1.0),
        ("innermost own", {"frame": ("t.py", 1), "innermost": ("u.py", 1)}, 0.0), ("innermost own", {}, 0.0),
        ("deep", {"unit": ("x",) * 20}, 0.5), ("deep", {"unit": ("x",) * 40}, 1.0),
        ("deep", {"unit": ("x",) * 41}, 1.0),
        ("often", {"count": 0}, 0.0), ("often", {"count": 3}, math.log(4) / 6), ("often", {"count": 10**9}, 1.0),
        ("behind", {"behind": 0}, 0.0), ("behind", {"behind": 3}, math.log(4) / 6), ("behind", {"behind": 10**9}, 1.0),
        ("survived", {"behind": MANY}, 1.0), ("survived", {"behind": MANY - 1}, 0.0),
    ],
)  # fmt: skip
def test_what_is_seen_of_an_event_is_a_number(name: str, more: dict[str, object], value: float) -> None:
    one = event(3, **more)
    found = seen(one, Digest(events=(one,)), [one], None)
    assert found[name] == pytest.approx(value) and all(0 <= number <= 1 for number in found.values())


def test_what_is_seen_of_a_place_is_where_it_stands_among_the_others() -> None:
    """Warnings are no errors; of a rank its own errors count."""
    warning = event(1, severity=Severity.WARNING)
    first, raised, last = event(2, rank=0), event(3, rank=1, exception="E"), event(4, rank=0)
    row = [warning, first, raised, last]
    digest = Digest(events=tuple(row))
    names = ("first error", "first of rank", "last error", "late", "an exception before", "an exception behind")
    found = [tuple(seen(one, digest, row, None)[name] for name in names) for one in row]
    assert found == [
        (0, 0, 0, 0, 0, 1),
        (1, 1, 0, pytest.approx(1 / 3), 0, 1),
        (0, 1, 0, pytest.approx(2 / 3), 0, 0),
        (0, 0, 1, 1, 1, 0),
    ]
    assert seen(first, digest, [first], None)["late"] == 0
    other = replace(last, place=Place("b", 4))
    assert seen(other, digest, [first, other], None)["first of rank"] == 1
    assert seen(first, replace(digest, events=(first, event(9, run=1))), row, None)["earlier run"] == 1


@pytest.mark.parametrize(
    ("vote", "seen_of_it"),
    [
        (None, {"unlike all": 1.0}),
        (Vote(OOM, 0.75, 0.5), {"votes cause": 0.375, "unlike all": 0.25}),
        (Vote(FOLLOWS, 0.75, 0.5), {"votes " + FOLLOWS: 0.375, "unlike all": 0.25}),
        (Vote("none", 1.0, 0.5), {"votes none": 0.5, "unlike all": 0.0}),
    ],
)
def test_what_is_seen_of_a_vote(vote: Vote | None, seen_of_it: dict[str, float]) -> None:
    one = event(3)
    found = seen(one, Digest(events=(one,)), [one], vote)
    assert {name: value for name, value in found.items() if name.startswith(("votes", "unlike"))} == seen_of_it


@pytest.mark.parametrize("many", [1, 59, 60, 61, 200])
def test_of_a_flood_the_first_and_the_last_events_are_looked_at(many: int) -> None:
    """All share one belief; notes and what is out have none; of equals the earlier stands first."""
    events = [event(at) for at in range(1, many + 1)]
    note = event(1000, severity=Severity.NOTE)
    rows = candidates(Digest(events=(*events, note)), lambda _: None, {}, frozenset())
    kept = list(range(1, many + 1)) if many <= 60 else [*range(1, 31), *range(many - 29, many + 1)]
    assert [row.event.place.line for row in rows] == kept
    assert sum(row.share for row in rows) == pytest.approx(1) and rows[0].share == pytest.approx(1 / len(kept))
    out = frozenset([Place(FILE, 1)])
    assert [row.event.place.line for row in candidates(Digest(events=tuple(events)), lambda _: None, {}, out)][:1] == (
        [2] if many > 1 else []
    )
    late = candidates(Digest(events=tuple(events)), lambda _: None, {"late": 1.0}, frozenset())
    assert late[0].event.place.line == many and late[-1].share <= late[0].share


@pytest.mark.parametrize("by", [0.0, 1.0, 1000.0, -1000.0])
def test_shares_are_of_one_whatever_the_size_of_what_they_are_made_of(by: float) -> None:
    """Only how far apart the values lie counts: no sum of weights is too large for a power."""
    assert _shares([]) == [] and _shares([by]) == [1.0]
    assert _shares([by, by]) == [0.5, 0.5] and _shares([by + 1000, by]) == [1.0, 0.0]
    near = _shares([by, by + 1, by + 2])
    assert sum(near) == pytest.approx(1) and near[2] / near[1] == pytest.approx(near[1] / near[0]) == pytest.approx(
        math.e
    )


def voted(*votes: Vote | None, role: str = "cause", weight: str = "strong", score: float = 6.0, lead: float = 1.0):  # type: ignore[no-untyped-def]
    return seen_by_both(entry("full", DISK, role=role, weight=weight), score, lead, votes)


def test_what_both_voters_say_is_a_number() -> None:
    """The best vote for the class, else the best against it; what follows is against none."""
    assert voted()["facts"] == 1 and voted(None)["facts"] == 0 and voted()["one"] == 1
    for score, share in ((0.0, 0.0), (4.0, 0.5), (8.0, 1.0), (9.0, 1.0)):
        assert voted(score=score)["score"] == share
    for lead, share in ((-1.0, 0.0), (0.0, 0.0), (1.0, 0.5), (2.0, 1.0), (3.0, 1.0)):
        assert voted(lead=lead)["lead"] == share
    for role, weight, marks in (("cause", "strong", (0, 0)), ("symptom", "fair", (1, 1))):
        found = voted(role=role, weight=weight)
        assert (found["symptom"], found["not strong"]) == marks
    mine, weaker = Vote(DISK, 0.5, 1.0), Vote(DISK, 0.25, 1.0)
    against, other, follows = Vote(OOM, 1.0, 0.75), Vote("code_error", 0.5, 0.5), Vote(FOLLOWS, 0.9375, 1.0)
    found = voted(weaker, None, against, mine)
    assert [found[name] for name in ("agree", "agrees", "against", "alike, of no class")] == [0.5, 1, 0, 0]
    found = voted(other, against, None, follows)
    assert [found[name] for name in ("agree", "agrees", "against", "alike, of no class")] == [0, 0, 0.75, 1.0]
    found = voted(follows)
    assert [found[name] for name in ("agrees", "against", "alike, of no class")] == [0, 0, 0.9375]


@pytest.mark.parametrize(
    ("role", "weight", "strength", "second", "outvoted", "disputed"),
    [
        ("cause", "strong", 0.99, "", False, False), ("cause", "fair", OUTVOTED, "", True, False),
        ("symptom", "strong", OUTVOTED, "", True, False), ("cause", "fair", OUTVOTED - 0.01, "", False, False),
        ("symptom", "fair", DISPUTED, "", False, True), ("symptom", "fair", DISPUTED - 0.01, "", False, False),
        ("symptom", "fair", DISPUTED, DISK, False, False), ("symptom", "fair", OUTVOTED, "", True, True),
    ],
)  # fmt: skip
def test_lines_of_another_class_speak_against_an_entry(  # type: ignore[no-untyped-def]
    role, weight, strength, second, outvoted, disputed
) -> None:
    """From a strength on, and against words of every day or a sign alone."""
    known = entry("full", DISK, role=role, weight=weight)
    said = judges.of_entry(known, 6.0, 2.0, [Vote(OOM, 1.0, strength, second)])
    assert (said.outvoted, said.confidence == 0.0) == (outvoted, disputed)
    assert said.second == OOM and said.voters == ("entries",) and said.likely


@pytest.mark.parametrize(("strength", "voters"), [(AGREED - 0.01, ("entries",)), (AGREED, ("entries", "lines"))])
def test_a_vote_for_the_same_class_agrees_from_a_strength_on(strength: float, voters: tuple[str, ...]) -> None:
    vote = Vote(DISK, 1.0, strength)
    assert judges.of_entry(entry("full", DISK), 6.0, 2.0, [vote]).voters == voters
    assert agrees(event(1), DISK, lambda _: vote) == (len(voters) == 2)
    assert not agrees(event(1), OOM, lambda _: vote) and not agrees(event(1), DISK, lambda _: None)


def _alone(digest, voter, also):  # type: ignore[no-untyped-def]
    return by_lines(likeliest(digest, (), voter), digest, also)


@pytest.mark.parametrize(
    ("cause", "strength", "also", "named"),
    [(OOM, ALONE, (), True), (OOM, ALONE - 0.01, (), False), (OOM, OUTVOTED, (OOM,), True),
     (OOM, OUTVOTED - 0.01, (OOM,), False), (OOM, OUTVOTED, (DISK,), False), (FOLLOWS, 1.0, (), False),
     ("none", 1.0, (), False)],
)  # fmt: skip
def test_lines_alone_name_a_cause_from_a_strength_on(monkeypatch, cause, strength, also, named) -> None:  # type: ignore[no-untyped-def]
    """One of a death; less where an entry has words for the class. Below one half of sureness none is named."""
    one = event(3)
    monkeypatch.setattr(judges, "sureness_in_force", lambda: {"lines": {"one": 1.0}})
    said = _alone(Digest(events=(one,)), lambda _: Vote(cause, 1.0, strength, DISK), also)
    assert (said is not None) == named
    if said is not None:
        assert (said.cause, said.event, said.judgement.voters, said.judgement.second) == (OOM, one, ("lines",), DISK)
    monkeypatch.setattr(judges, "sureness_in_force", lambda: {"lines": {"one": -0.01}})
    assert _alone(Digest(events=(one,)), lambda _: Vote(cause, 1.0, strength), also) is None
    assert _alone(Digest(events=()), lambda _: Vote(cause, 1.0, strength), also) is None
    for alive in (event(3, severity=Severity.WARNING), event(3, behind=MANY)):
        assert not deadly(alive, Digest(events=(alive,)))
        assert _alone(Digest(events=(alive,)), lambda _: Vote(cause, 1.0, 1.0), also) is None


def test_weights_that_are_none_are_refused() -> None:
    for read, data in (
        (cause_event._weights, b"[]"),
        (cause_event._weights, b'{"weights": 1}'),
        (judges._weights, b"[1]"),
    ):
        with pytest.raises(ValueError, match="no weights"):
            read(data)
