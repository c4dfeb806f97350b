"""What makes a death, a good end, and one cause of two: each condition of each question, over made up events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest
from maple_agents.diagnose.rank import good_end, ranking
from maple_agents.diagnose.rank.good_end import LAST
from maple_agents.diagnose.rank.ranking import NEAR, OWN, PASSED, WAITED, WEIGHT, Ranked
from maple_agents.diagnose.recognise.matches import Match
from maple_agents.diagnose.values import Digest, Event, Evidence, Place, Severity

from tests.agents.debug.test_rank_bounds import FILE, MANY, OOM, event
from tests.agents.debug.test_ranking import entry

FATAL, WARNING = Severity.FATAL, Severity.WARNING
ELSEWHERE: dict[str, Any] = {"place": Place("b", 1)}
SAID = Digest(ended_well="done")


@pytest.fixture(autouse=True)
def _words_of_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a good end be a trainer's, one of the work, or a stamp by its first word."""
    for name, word in (("is_stamp", "stamp"), ("is_sure_end", "sure"), ("is_of_work", "work")):
        monkeypatch.setattr(good_end, name, lambda words, word=word: words.startswith(word))


def match(of: Event, order: int = 0, name: str = "oom") -> Match:
    return Match(name, of, order, Evidence(of.place.file, of.place.line, of.text))


def cause(*events: Event, name: str = "oom", of: str = OOM, role: str = "cause", score: float = 6.0) -> Ranked:
    matches = tuple(match(each, each.place.line, name) for each in events)
    return Ranked(name, of, role, score, matches)


@pytest.mark.parametrize(
    ("of", "digest", "ended"),
    [
        (event(5), SAID, True), (event(5, behind=1), SAID, False), (event(5, severity=FATAL, behind=LAST), SAID, True),
        (event(5, severity=FATAL, behind=LAST + 1), SAID, False), (event(5, severity=WARNING), SAID, False),
        (event(5, exception="E", behind=1), SAID, False), (event(5, exception="E", behind=LAST), Digest(), True),
        (event(5, exception="E", behind=LAST + 1), Digest(), False),
        (event(5, exception="E", behind=LAST), Digest(ended_well="stamp"), True), (event(5, behind=1), Digest(), False),
        (event(5), Digest(last_progress=Place("b", 1)), False), (event(5), Digest(last_progress=Place(FILE, 1)), True),
        (event(5, run=0), Digest(events=(event(9, run=1),)), False),
        (event(5, behind=LAST), Digest(events=(event(6, severity=FATAL),)), True),
        (event(5, behind=LAST), Digest(events=(event(16, severity=FATAL),)), False),
        (event(5, behind=LAST, last=Place(FILE, 15)), Digest(events=(event(16, severity=FATAL),)), True),
        (event(5, severity=FATAL, behind=LAST, run=0), Digest(events=(event(9, run=1),)), False),
    ],
)  # fmt: skip
def test_words_stand_at_the_end_of_what_their_process_said(of: Event, digest: Digest, ended: bool) -> None:
    """Behind a death, or an exception where no good end is said, a script may say more; a complaint is last."""
    assert good_end._ended_there(of, digest) == ended
    assert good_end._died(cause(event(1, severity=WARNING), of), digest) == ended and not good_end._died(
        cause(), digest
    )


@pytest.mark.parametrize(
    ("of", "word", "closed", "dead"),
    [
        (event(5, severity=FATAL), "done", 9, True), (event(5, severity=FATAL), "done", 5, False),
        (event(5, severity=FATAL), "sure", 9, False), (event(5, severity=FATAL), "work", 9, True),
        (event(5, severity=FATAL), "done", None, False), (event(5, severity=FATAL, behind=LAST), "done", 9, True),
        (event(5, severity=FATAL, behind=LAST + 1), "done", 9, False), (event(5, exception="E"), "done", 9, True),
        (event(5, exception="E"), "work", 9, False), (event(5, exception="E", severity=WARNING), "done", 9, False),
        (event(5), "done", 9, False), (event(5, exception="E", last=Place(FILE, 9)), "done", 9, False),
        (event(4, exception="E"), "done", 9, False), (event(3, exception="E"), "done", 9, False),  # training behind it
        (event(5, severity=FATAL, place=Place("b", 5)), "done", 9, False),
    ],
)  # fmt: skip
def test_a_death_before_the_first_word_of_an_end_makes_that_the_script_s(
    of: Event, word: str, closed: Optional[int], dead: bool
) -> None:
    """Behind the last step, of the same file; an exception may be caught by a program that says that it trained."""
    digest = Digest(events=(of,), ended_well=word, closed=Place(FILE, closed) if closed else None,
                    last_progress=Place(FILE, 4))  # fmt: skip
    assert good_end._dead_before(digest, ()) == dead
    assert not good_end._dead_before(digest, (of.place,))


@pytest.mark.parametrize(
    ("of", "more", "stopped"),
    [
        (cause(event(5)), {}, True), (cause(event(5, severity=WARNING)), {}, False),
        (cause(event(5), role="symptom"), {}, False),
        (cause(event(5), score=5.9), {}, False), (cause(event(5, behind=MANY)), {}, False),
        (cause(event(5)), {"ended_well": "exit 0"}, False), (cause(event(5)), {"ended_well": "Success"}, False),
        (cause(event(5)), {"ended_well": "exit 10"}, True), (cause(event(5)), {"ended_well": "work"}, True),
        (cause(event(5)), {"ended_well": "work", "progress": 1}, False),
        (cause(event(5)), {"ended_well": "sure", "progress": 1}, False), (cause(event(5)), {"progress": 1}, True),
        (cause(event(5)), {"last_progress": Place(FILE, 5)}, False),
        (cause(event(5)), {"last_progress": Place(FILE, 4)}, True),
        (cause(event(5)), {"last_progress": Place("b", 9)}, True), (cause(), {}, False),
    ],
)  # fmt: skip
def test_a_script_says_done_whatever_had_become_of_its_program(of: Ranked, more: Any, stopped: bool) -> None:
    """Where a cause is said by an error that nothing trained behind, and no status tells otherwise."""
    assert good_end._stopped([of], replace(SAID, **more)) == stopped


@pytest.mark.parametrize(
    ("of", "progress", "refused", "last"),
    [
        (event(5, severity=FATAL, behind=LAST + 1), 0, True, False), (event(5, severity=FATAL), 1, False, True),
        (event(5, "srun: error: no"), 0, True, True), (event(5, "srun: error: no", behind=LAST + 1), 0, True, False),
        (event(5, "srun: error: no", severity=WARNING), 0, False, False), (event(5, exception="E"), 0, True, True),
        (event(5, exception="E", behind=LAST), 0, True, True),
        (event(5, exception="E", behind=LAST + 1), 0, False, False),
        (event(5), 0, False, True), (event(5, behind=LAST + 1), 0, False, False),
        (event(5, behind=LAST), 0, False, True),
        (event(5, "no: srun: error: no", behind=9), 0, False, False),
    ],
)  # fmt: skip
def test_what_gave_up_before_any_training_and_what_is_nearly_the_last_word(
    of: Event, progress: int, refused: bool, last: bool
) -> None:
    """What is harmless is neither."""
    digest = Digest(events=(of,), progress=progress)
    assert (good_end._refused(digest, ()), good_end._last(digest, ())) == (refused, last)
    assert not good_end._refused(digest, (of.place,)) and not good_end._last(digest, (of.place,))


@pytest.mark.parametrize(
    ("behind", "word", "step", "went_on"),
    [(LAST, "", None, False), (LAST + 1, "", None, True), (0, "sure", 9, False), (1, "sure", None, True),
     (1, "", 6, True), (1, "", 5, False), (0, "", 6, False)],
)  # fmt: skip
def test_life_goes_on_behind_more_than_a_script_s_own_words(
    behind: int, word: str, step: Optional[int], went_on: bool
) -> None:
    """Much, or training, or a trainer's own word for its end."""
    digest = Digest(ended_well=word, last_progress=Place(FILE, step) if step else None)
    assert good_end._went_on(event(5, behind=behind), digest) == went_on
    assert good_end._went_on(event(2, behind=behind, last=Place(FILE, 5)), digest) == went_on


LIMIT, AGAIN = {"of": "time_limit", "name": "limit"}, {"of": "preempted_or_requeued", "name": "again"}


@pytest.mark.parametrize(
    ("rows", "more", "meant"),
    [
        ([cause(event(5), **LIMIT)], {"planned": "x"}, True), ([cause(event(5), **LIMIT)], {}, False),
        ([cause(event(5), **LIMIT)], {"planned": "x", "events": (event(1, exception="E"),)}, False),
        ([cause(event(5), **LIMIT)], {"planned": "x", "events": (event(1, exception="E", behind=MANY),)}, True),
        ([cause(event(5), **LIMIT)], {"planned": "x", "events": (event(1),)}, True),
        ([cause(event(5), **LIMIT), cause(event(6))], {"planned": "x"}, False),
        ([cause(event(5), **LIMIT), cause(event(6, severity=WARNING))], {"planned": "x"}, True),
        ([cause(event(5), **LIMIT), cause()], {"planned": "x"}, False),  # by facts alone
        ([cause(event(5, behind=LAST + 1), **AGAIN)], {"ended_well": "done"}, True),
        ([cause(event(5, behind=LAST), **AGAIN)], {"ended_well": "done"}, False),
        ([cause(event(5, behind=LAST + 1), event(7), **AGAIN)], {"ended_well": "done"}, False),
        ([cause(event(5, behind=LAST + 1), **AGAIN)], {}, False),
        ([cause(event(5, behind=LAST + 1), **AGAIN), cause(event(5), **LIMIT)], {"ended_well": "done"}, False),
        ([cause(event(5, behind=LAST + 1), **AGAIN), cause(event(6, severity=WARNING))], {"ended_well": "done"}, False),
    ],
)  # fmt: skip
def test_an_end_by_the_scheduler_alone_may_be_meant(rows: list[Ranked], more: Any, meant: bool) -> None:
    """By a plan that the log tells of, or since it went on to a good end; an error of another cause is no plan."""
    assert good_end._meant(rows, Digest(**more)) == meant


@pytest.mark.parametrize(
    ("wait", "death", "left"),
    [
        (event(9, rank=1), event(5, rank=0, exception="E"), True), (event(9, rank=1), event(5, rank=0), False),
        (event(9, rank=0), event(5, rank=0, exception="E"), False), (event(9, rank=1), event(5, exception="E"), False),
        (event(5, rank=1), event(5, rank=0, exception="E"), False),
        (event(4, rank=1), event(5, rank=0, exception="E"), False),
        (event(9, rank=1, place=Place("b", 9)), event(5, rank=0, exception="E"), False),
    ],
)  # fmt: skip
def test_ranks_wait_for_one_that_has_died_before(wait: Event, death: Event, left: bool) -> None:
    """Of an exception of its own; they are others, and only a wait is one."""
    waited = cause(wait, of=WAITED, name="wait")
    assert ranking._left_waiting(waited, cause(death)) == left
    assert not ranking._left_waiting(cause(wait, name="wait"), cause(death))
    assert not ranking._left_waiting(waited, cause()) and not ranking._left_waiting(cause(of=WAITED), cause(death))
    both = cause(wait, replace(wait, rank=0), of=WAITED, name="wait")
    assert not ranking._left_waiting(both, cause(death))
    known = {"wait": entry("a"), "oom": entry("b", explains=["wait"])}
    swapped = {"wait": entry("a", explains=["oom"]), "oom": entry("b")}
    assert ranking._explains(cause(death), waited, known) and ranking._explains(waited, cause(death), swapped) != left


@pytest.mark.parametrize(
    ("words", "back", "role", "score", "explains"),
    [
        ([], [], "cause", 6.0, False), (["late"], [], "cause", 6.0, True), ([OOM], [], "cause", 6.0, True),
        (["late"], ["early"], "cause", 6.0, False), (["late"], ["code_error"], "cause", 6.0, False),
        ([], [], "symptom", WEIGHT["fair"], True), ([], [], "symptom", WEIGHT["fair"] - 0.1, False),
        ([], ["early"], "symptom", 6.0, False), ([], ["code_error"], "symptom", 6.0, False),
        (["late"], [], "symptom", 2.0, True),
    ],
)  # fmt: skip
def test_a_cause_explains_what_it_says_and_every_symptom_where_it_is_fairly_sure(
    words: list[str], back: list[str], role: str, score: float, explains: bool
) -> None:
    """By the entry or by its class; of two that explain each other both stay."""
    known = {"early": entry("a", explains=words), "late": entry("b", OOM, role=role, explains=back)}
    early = cause(event(1), name="early", of="code_error", score=score)
    assert ranking._explains(early, cause(event(5), name="late", role=role), known) == explains
    symptom = {**known, "early": entry("a", role="symptom", explains=words)}
    of_symptom = replace(early, role="symptom")
    assert ranking._explains(of_symptom, cause(event(5), name="late", role=role), symptom) == (explains and bool(words))


@pytest.mark.parametrize(
    ("complaint", "death", "passed"),
    [
        (event(5, behind=PASSED), event(9), True), (event(5, behind=PASSED - 1), event(9), False),
        (event(5, behind=PASSED + 3), event(9, behind=3), False), (event(5, behind=PASSED + 3), event(9, exception="E",
        behind=3), True), (event(5, behind=PASSED + 3), event(9, severity=FATAL, behind=3), True),
        (event(5, behind=PASSED + 3), event(9, "srun: error: no", behind=3), True),
        (event(5, behind=9, exception="E"), event(9), False), (event(5, behind=9, severity=FATAL), event(9), False),
        (event(5, behind=9, **{"place": Place("b", 5)}), event(9), False),
    ],
)  # fmt: skip
def test_a_program_was_past_what_ended_nothing_when_it_died_of_another(
    complaint: Event, death: Event, passed: bool
) -> None:
    """Some lines of its own behind the one, and an end with the other; so the later one is the cause."""
    first, later = cause(complaint), cause(death, name="late")
    assert ranking._passed(first, later) == passed
    assert not ranking._passed(cause(), later) and not ranking._passed(first, cause())
    assert ranking._beats(first, later) == (not passed) and ranking._beats(later, first) == passed
    assert not ranking._beats(replace(first, score=5.9), later)
    assert not ranking._beats(cause(), cause()) and ranking._beats(cause(), later)


@pytest.mark.parametrize(
    ("of", "claimed", "kin"),
    [
        (event(5, exception="E"), event(9, exception="F", chained=1), True),
        (event(5, exception="E"), event(9, exception="F"),
        False), (event(5, exception="E", rank=0), event(9, exception="F", chained=1, rank=1), False),
        (event(5, exception="E"), event(5 + NEAR), True), (event(5, exception="E"), event(6 + NEAR), False),
        (event(5, exception="E"), event(5), False), (event(5, exception="E", rank=0), event(9, rank=1), False),
        (event(5, exception="E", behind=OWN), event(9), True),
        (event(5, exception="E", behind=OWN + 1), event(9), False),
        (event(5), event(9), False), (event(5, "a.cc:7] x"), event(5 + NEAR, "a.cc:9] y"), True),
        (event(5, "a.cc:7] x"), event(6 + NEAR, "a.cc:9] y"), False),
        (event(5, "a.cc:7] x"), event(9, "b.cc:9] y"), False),
        (event(6 + NEAR, "a.cc:7] x"), event(5, "a.cc:9] y"), False),
        (event(5 + NEAR, "a.cc:7] x"), event(5, "a.cc:9] y"), True),
        (event(5, "tool: error: x"), event(9, "tool: fatal: y"), True),
        (event(5, "tool: x"), event(9, "tool: y"), False),
        (event(5, "a.cc:7] x", **{"place": Place("b", 5)}), event(9, "a.cc:9] y"), False),
    ],
)  # fmt: skip
def test_two_sentences_are_of_one_telling(of: Event, claimed: Event, kin: bool) -> None:
    """Of a chain of exceptions, of what a program handed on below one, or of one speaker, near each other."""
    assert ranking._kin(of, claimed) == kin


@pytest.mark.parametrize(
    ("of", "claimed", "sure"),
    [(event(1), event(2), True), (event(1, **ELSEWHERE), event(2), False),
        (event(1, at=1.0, **ELSEWHERE), event(2), False),
     (event(1, **ELSEWHERE), event(2, at=1.0), False), (event(1, at=1.0, **ELSEWHERE), event(2, at=2.0), True)],
)  # fmt: skip
def test_which_came_first_is_sure_in_one_file_or_where_both_tell_the_time(
    of: Event, claimed: Event, sure: bool
) -> None:
    assert ranking._in_order(of, claimed) == sure
    assert ranking._doubtful(of, claimed, Digest()) == sure
    for none in (replace(of, text="these failed:"), replace(of, behind=MANY)):
        assert not ranking._doubtful(none, claimed, Digest())
    assert not ranking._doubtful(of, claimed, Digest(events=(replace(of, run=1),)))


@pytest.mark.parametrize(
    ("line", "more", "reason"),
    [
        (6, {}, True), (5, {}, False), (4, {}, False), (5 + NEAR, {}, True), (6 + NEAR, {}, False),
        (6, {"rank": 1}, False),
        (6, {"severity": WARNING}, False), (6, {"severity": FATAL}, False), (6, {"exception": "E"}, False),
        (6, {"text": "these failed:"}, False), (6, {"place": Place("b", 6)}, False),
    ],
)  # fmt: skip
def test_a_stack_ends_with_the_reason(line: int, more: Any, reason: bool) -> None:
    """An error that nobody knows right below the last words; the first that is no heading."""
    below = event(line, **more)
    digest = Digest(events=(event(7, "no:"), below, event(8, "later")) if reason and line < 7 else (below,))
    first = cause(event(1), event(5))
    assert ranking._reason_below(first, (), digest) is (below if reason else None)
    assert ranking._reason_below(first, (below.place,), Digest(events=(below,))) is None


@pytest.mark.parametrize(
    ("role", "score", "severity", "deadly"),
    [("cause", WEIGHT["fair"], Severity.ERROR, True), ("cause", WEIGHT["fair"] - 0.1, Severity.ERROR, False),
     ("symptom", 6.0, Severity.ERROR, False), ("cause", 6.0, WARNING, False), ("cause", 6.0, FATAL, True)],
)  # fmt: skip
def test_what_was_only_warned_of_loses_to_an_error_of_another_class(
    role: str, score: float, severity: Severity, deadly: bool
) -> None:
    """That is surely meant; one of the same class is no other."""
    of = cause(event(5, severity=severity), name="late", of="code_error", role=role, score=score)
    warned = cause(event(9, severity=WARNING))
    assert ranking._deadly(of) == deadly and not ranking._deadly(cause())
    later = ranking.LATER if score >= warned.score else 0.0
    assert ranking._lost(warned, [of]) == later + (ranking.WARNED if deadly else 0.0)
    assert ranking._lost(warned, [replace(of, cause=OOM)]) == later
    assert ranking._warned(warned) and not ranking._warned(cause()) and not ranking._warned(cause(event(1), event(2)))
