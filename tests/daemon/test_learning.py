"""What the end of a job says of its change: a table without ways back, whatever is heard, in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_daemon.learn.lineages import AT_LAUNCH, LONG, Standing, Trial, after, how_ended, trial_of, was_changed
from maple_submit_filter.types.job_records import Outcome

from tests.daemon.store.jobs import outcome, record

HASH, NEW, OFFERED = "ab" * 32, "cd" * 32, "ef" * 32
TRIALS = st.lists(
    st.builds(Trial, st.sampled_from("123456789"), st.booleans(), st.sampled_from(["ran", "failed"]), st.just("g")),
    max_size=30,
)


def stood(trials: list[Trial]) -> list[Standing]:
    """How a change stands after each."""
    found = [Standing()]
    for one in trials:
        found.append(after(found[-1], one))
    return found


def changes(values: list[bool]) -> int:
    """How often a value becomes another."""
    return sum(one != other for one, other in zip(values, values[1:], strict=False))


@given(TRIALS)
def test_a_change_is_never_to_and_fro(trials: list[Trial]) -> None:
    """It is taken back once at most, and comes back once at most; only a failure with it takes it back."""
    found = stood(trials)
    assert changes([one.is_out for one in found]) <= 2
    for before, trial, now in zip(found, trials, found[1:], strict=False):
        if now.is_out and not before.is_out:
            assert trial.changed and trial.ended == "failed"
        if before.is_out and not now.is_out:
            assert trial.ended == ("ran" if trial.changed else "failed")
        assert not (now.is_out and now.is_good)
    order = ["new", "good", "taken-back", "cleared", "kept-out"]
    ranks = [order.index(one.state) for one in found]
    assert ranks == sorted(ranks)


@given(TRIALS)
def test_what_is_heard_twice_changes_nothing(trials: list[Trial]) -> None:
    """At once, or much later in the same order: two hooks tell of each job, and a service may be killed in between."""
    once = stood(trials)[-1]
    assert stood([one for trial in trials for one in (trial, trial)])[-1] == once
    again = stood([*trials, *trials])
    assert changes([one.is_out for one in again]) <= 2


@given(TRIALS)
def test_only_what_ran_is_known_to_be_good(trials: list[Trial]) -> None:
    """With the job that ran, on its own grounds; and it holds after what was written is read again."""
    for trials_so_far, one in zip(range(len(trials) + 1), stood(trials), strict=True):
        ran = [trial.job for trial in trials[:trials_so_far] if trial.changed and trial.ended == "ran"]
        assert not one.is_good or one.ran in ran
        assert Standing.read(one.written()) == one


CASES = {
    "with it ran": (["+r"], "good"),
    "with it failed": (["+f"], "taken-back"),
    "bare ran, before": (["-r", "-r"], "new"),
    "failed, bare fails too": (["+f", "-f"], "cleared"),
    "failed, bare ran": (["+f", "-r"], "kept-out"),
    "kept out for good": (["+f", "-r", "-f", "+r"], "kept-out"),
    "cleared for good": (["+f", "-f", "+f", "-r", "+f"], "cleared"),
    "good, then failed": (["+r", "+f"], "taken-back"),
    "another with it ran meanwhile": (["+f", "+r"], "cleared"),
}


@pytest.mark.parametrize("told, state", CASES.values(), ids=CASES)
def test_the_table(told: list[str], state: str) -> None:
    """+ with the change, - without; r ran, f failed at launch."""
    trials = [Trial(str(at), one[0] == "+", "ran" if one[1] == "r" else "failed", "g") for at, one in enumerate(told)]
    assert stood(trials)[-1].state == state


def test_what_comes_back_unasked_is_only_what_ran_once() -> None:
    """An accepted change that failed, as the bare script did, is asked about again."""
    failed, ran = Trial("1", True, "failed", "g"), Trial("2", True, "ran", "g")
    bare = Trial("3", False, "failed", "g")
    assert not stood([failed, bare])[-1].is_good and not stood([failed, bare])[-1].is_out
    assert stood([ran, failed, bare])[-1].is_good and stood([failed, bare, ran])[-1].ran == "2"


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '["strange", "", "", ""]', '["good"', "[1, 2, 3, 4, 5, 6]", '["good", 1]']
)
def test_what_cannot_be_read_is_nothing(text: str) -> None:
    """As a later Maple may have written it, or nobody."""
    assert not Standing.read(text).is_good and not Standing.read(text).is_out


def ended(state: str, seconds: float | None, **more: object) -> Outcome:
    """A job that ran for so long."""
    times = {} if seconds is None else {"started": 1000.0, "ended": 1000.0 + seconds}
    return outcome(state=state, **{**times, **more})


ENDS = {
    "completed": (ended("completed", 3), "ran"),
    "completed, no times": (ended("completed", None), "ran"),
    "failed at once": (ended("failed", AT_LAUNCH, exit_code=1), "failed"),
    "failed later": (ended("failed", AT_LAUNCH + 1, exit_code=1), ""),
    "failed after the rendezvous": (ended("failed", 1900, exit_code=1), ""),
    "failed after long": (ended("failed", LONG, exit_code=1), "ran"),
    "failed, no times": (ended("failed", None, exit_code=1), ""),
    "never started": (outcome(state="failed", exit_code=1, ended=5.0), ""),
    "memory at once": (ended("out-of-memory", 20, exit_code=0, signal=9), "failed"),
    "cancelled at once": (ended("cancelled", 20), ""),
    "cancelled after long": (ended("cancelled", LONG), "ran"),
    "timeout": (ended("timeout", LONG * 2), "ran"),
    "short timeout": (ended("timeout", 60), ""),
    "preempted": (ended("preempted", LONG), "ran"),
    "node": (ended("node-failed", 60), ""),
    "unknown": (ended("unknown", LONG * 9), ""),
    "terminated": (ended("failed", 20, exit_code=0, signal=15), ""),
    "interrupted, as a shell says it": (ended("failed", 20, exit_code=130), ""),
    "terminated, as a shell says it": (ended("failed", 20, exit_code=143), ""),
    "crashed": (ended("failed", 20, exit_code=139), "failed"),
    "crashed by a signal": (ended("failed", 20, exit_code=0, signal=11), "failed"),
    "clock went back": (ended("failed", -5, exit_code=1), ""),
    "no code": (ended("failed", 5), ""),
    "running": (ended("running", None), ""),
}


@pytest.mark.parametrize("end, said", ENDS.values(), ids=ENDS)
def test_an_end_says_that_a_launch_held_or_not_or_nothing(end: Outcome, said: str) -> None:
    """Nobody is blamed for what a user, a limit or a node ended."""
    assert how_ended(end) == said


WERE = {
    "repaired, by the hash": ({"verdict": "repaired", "submitted_hash": NEW}, {"script_hash": NEW}, True),
    "repaired, no hash told": ({"verdict": "repaired", "submitted_hash": NEW}, {}, True),
    "repaired, another script ran": ({"verdict": "repaired", "submitted_hash": NEW}, {"script_hash": HASH}, None),
    "words alone": ({"verdict": "repaired"}, {"script_hash": HASH}, True),
    "known good": ({"verdict": "known-good", "submitted_hash": NEW}, {"script_hash": NEW}, True),
    "accepted, by the hash": ({"verdict": "findings", "offered_hash": OFFERED}, {"script_hash": OFFERED}, True),
    "refused, by the hash": ({"verdict": "findings", "offered_hash": OFFERED}, {"script_hash": HASH}, False),
    "accepted, by its last line": ({"verdict": "findings", "offered_hash": OFFERED}, {"record": "r1"}, True),
    "offered, who knows": ({"verdict": "findings", "offered_hash": OFFERED}, {}, None),
    "offered, another script": ({"verdict": "findings", "offered_hash": OFFERED}, {"script_hash": "11" * 32}, None),
    "a copy with another's last line": ({"verdict": "findings", "offered_hash": OFFERED}, {"record": "r2"}, None),
    "as written": ({"verdict": "taken-back"}, {"script_hash": HASH}, False),
    "as written, no hash told": ({"verdict": "would-repair"}, {}, False),
    "another script than written": ({"verdict": "taken-back"}, {"script_hash": NEW}, None),
}


@pytest.mark.parametrize("told, end, changed", WERE.values(), ids=WERE)
def test_whether_a_job_ran_changed_is_known_exactly_or_not_at_all(
    told: dict[str, str], end: dict[str, str], changed: bool | None
) -> None:
    """By what the scheduler has."""
    made = record(job="17", change="c" * 32, outcome=outcome(**end), **told)
    assert was_changed(made, HASH) is changed
    trial = trial_of(made, HASH)
    assert (trial.changed if trial else None) is changed
    assert trial_of(made._replace(change=""), HASH) is None
