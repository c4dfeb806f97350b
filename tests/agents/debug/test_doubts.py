"""A cause that may only follow from another is not claimed where an error before it is one that nobody knows."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.recognise.neighbours import Vote
from maple_agents.diagnose.values import Event, Place, Severity
from maple_agents.templates.knowledge import entries

from tests.agents.debug.test_ranking import KNOWN, LOG, case, classes, digest, entry, event

STRANGE = event(2, "the frobnicator is out of glue", behind=3)
SYMPTOM = event(9, "watchdog")


def test_what_may_follow_gives_way_to_an_error_that_nobody_knows():
    """The answer is unknown, the log is shown where it complains first, and the symptom is told second, unsure."""
    found = diagnose(case(), digest(STRANGE, SYMPTOM), None, KNOWN)
    assert [one.cause for one in found.causes] == ["unknown", "nccl_timeout_due_to_straggler_or_crash_elsewhere"]
    assert [one.confidence for one in found.causes] == [0.0, 0.0]
    assert found.excerpt[-1].text == STRANGE.text


def test_words_that_say_a_cause_for_sure_do_not_give_way():
    """Whatever came before it, a full disk is a full disk."""
    assert classes(STRANGE, event(9, "disk full"))[0] == "disk_quota_or_full"


@pytest.mark.parametrize("explains", [["full"], ["disk_quota_or_full"]])
def test_what_another_cause_is_known_to_bring_about_gives_way(explains):
    """Its consequences are named in the knowledge base; what a rule proves of a script is no such word."""
    known = {**KNOWN, "boom": entry("boom", explains=explains)}
    assert classes(STRANGE, event(9, "disk full"), known=known)[0] == "unknown"
    known["boom"] = entry("boom", explains=explains, needs={"findings": "MPL301"})
    assert classes(STRANGE, event(9, "disk full"), known=known)[0] == "disk_quota_or_full"


@pytest.mark.parametrize(
    "before",
    [
        event(2, "closed by peer"),
        event(2, "deprecated"),
        event(2, "the frobnicator is out of glue", behind=90),
        event(2, "the frobnicator is out of glue", severity=Severity.WARNING),
        event(2, "-- Process 0 terminated with the following error:"),
        event(2, "printing what is left of it ..."),
        event(2, "Traceback (most recent call last) ────╮"),
        event(2, "the frobnicator is out of glue", place=Place("/x/other.log", 2)),
    ],
    ids=["follows", "harmless", "survived", "warning", "heading", "announced", "frame", "another file"],
)
def test_what_is_no_reason_does_not_count(before: Event):
    """Consequences, noise, what was lived on after, headings, and what may as well have been said later."""
    assert classes(before, SYMPTOM)[0] == "nccl_timeout_due_to_straggler_or_crash_elsewhere"


def test_sentences_of_one_telling_do_not_doubt_each_other():
    """One speaker explains itself in several lines; exceptions of a chain are one telling."""
    known = {**KNOWN, "slow": entry("watchdog", role="symptom", says="late")}
    for first, second in (("srun: error: a thing", "srun: error: watchdog"), ("[W a.cpp:7] x", "[E a.cpp:9] watchdog")):
        assert classes(event(2, first), event(3, second), known=known)[0] == "code_error"
        assert classes(event(2, first), event(80, second), known=known)[0] == "unknown"
    chain = event(2, "OSError: a thing", exception="OSError"), event(9, "X: watchdog", exception="X", chained=1)
    assert classes(*chain, known=known)[0] == "code_error"
    assert classes(chain[0], event(9, "X: watchdog", exception="X"), known=known)[0] == "unknown"


def test_a_wrapper_that_names_what_it_hands_on_does_not_doubt_it():
    """Another process's exception, its kind in brackets, and the exception itself further below."""
    known = {**KNOWN, "slow": entry("watchdog", role="symptom", says="late")}
    death = event(40, "a.b.Late: watchdog", exception="a.b.Late")
    assert classes(event(2, "Task(Late): of rank 3"), death, known=known)[0] == "code_error"
    for other in ("Task(Early): of rank 3", "Task of rank 3, Late"):
        assert classes(event(2, other), death, known=known)[0] == "unknown"


def test_what_a_program_said_is_handed_on_below_an_exception():
    """The exception of a wrapper and the words of what it had started are one telling."""
    wrapper = event(5, "Jack failed", exception="Jack", behind=2)
    assert classes(wrapper, event(9, "watchdog", behind=1))[0] == "nccl_timeout_due_to_straggler_or_crash_elsewhere"
    assert classes(wrapper, event(60, "watchdog", behind=1))[0] == "unknown"


def test_a_stack_ends_with_the_reason(monkeypatch):
    """Words that say only that something failed give way to an unknown error of the same rank right below."""
    monkeypatch.setattr("maple_agents.diagnose.diagnosis.HEARD", 0.0)  # here the order counts, not how sure it is
    known = {**KNOWN, "slow": entry("watchdog", role="symptom", weight="fair", says="late")}
    said = event(5, "watchdog", rank=1)
    for line in (6, 8, 17):
        assert classes(said, event(line, "the frobnicator is out of glue", rank=1), known=known)[0] == "unknown"
    for below in (
        event(8, "the frobnicator is out of glue", rank=2),
        event(18, "the frobnicator is out of glue", rank=1),
        event(8, "closed by peer", rank=1),
        event(8, "Glue: none", rank=1, exception="Glue"),
    ):
        assert classes(said, below, known=known)[0] == "code_error"
    known["slow"] = entry("watchdog", role="symptom", says="late")
    assert classes(said, event(8, "the frobnicator is out of glue", rank=1), known=known)[0] == "code_error"


def test_how_the_scheduler_ended_it_is_no_guess():
    """Its word for the job's end and the log's word agree: what stood before them did not end it."""
    known = {**KNOWN, "late": entry("TIME LIMIT", "time_limit", role="symptom", says="late")}
    ended = event(9, "TIME LIMIT", severity=Severity.FATAL)
    assert classes(STRANGE, ended, known=known)[0] == "unknown"
    assert classes(STRANGE, ended, known=known, of=case(state="timeout"), ordinary=99)[0] == "time_limit"


def test_of_two_files_the_times_must_be_known():
    """Else nobody knows which was first."""
    other = {"place": Place("/x/other.log", 2), "behind": 3}
    assert LOG.path != "/x/other.log"
    timed = event(9, "watchdog", at=20.0)
    assert classes(event(2, "the frobnicator", at=10.0, **other), timed)[0] == "unknown"


def test_the_entries_in_force_know_what_may_follow():
    """Symptoms, unsure words, and what conda, modules and the like bring about."""
    from maple_agents.diagnose.rank.ranking import may_follow

    known = entries()
    may = {name for name, one in known.items() if one.role in ("cause", "symptom") and may_follow(name, known)}
    assert {"module-missing", "no-cuda-device", "launcher-missing", "code-error-builtin", "nccl-system-error"} <= may
    assert not {"slurm-oom-kill", "gpu-ecc", "port-in-use"} & may


@pytest.mark.parametrize(
    ("weight", "role", "strength", "said"),
    [
        ("weak", "cause", 0.9, "host_oom"),
        ("strong", "symptom", 0.9, "host_oom"),
        ("strong", "cause", 0.9, "code_error"),
        ("weak", "cause", 0.7, "unknown"),
        ("weak", "cause", 0.2, "code_error"),
    ],
    ids=["words of every day", "a sign", "sure words", "a vote that leaves both open", "a vote that is unsure"],
)
def test_labelled_lines_outvote_words_of_every_day(weight, role, strength, said):
    """Where they know the line well and the entry's words alone say little; never where its words are sure."""
    known = {"boom": entry("boom", weight=weight, role=role)}
    error = event(9, "boom in the allocator", severity=Severity.FATAL)
    found = diagnose(case(), digest(error), None, known, lambda text: Vote("host_oom", strength, 1.0))
    assert found.causes[0].cause == said
