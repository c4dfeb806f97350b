"""Which cause is said first: by time, by what explains what, and by whether life went on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.rank.judges import AGREED, SURE, of_entry
from maple_agents.diagnose.rank.ranking import NEXT, ranked, said_to_have_ended
from maple_agents.diagnose.recognise.matches import matches
from maple_agents.diagnose.recognise.neighbours import Vote
from maple_agents.diagnose.values import Case, Digest, Ended, Event, LogFile, Place, Severity, Stream
from maple_agents.templates.knowledge.entries import Entry
from maple_agents.templates.knowledge.entry_shapes import entry as entry_of
from maple_submit_filter.site.facts import GENERIC_SLURM

LOG = LogFile("/x/slurm-1.out", "both")


def entry(match: str, cause: str = "code_error", **more: object) -> Entry:
    given = {"cause": cause, "says": "it was {what}", "match": [match] if match else [], "sources": ["here"], **more}
    return entry_of(given)


def event(line: int, text: str, **more: object) -> Event:
    return Event(**{"place": Place(LOG.path, line), "text": text, "severity": Severity.ERROR, **more})  # type: ignore[arg-type]


def digest(*events: Event, **more: object) -> Digest:
    streams = (Stream(LOG, lines=100, tail=("the last line",), tail_from=100),)
    return Digest(**{"streams": streams, "events": events, **more})  # type: ignore[arg-type]


def case(**ended: object) -> Case:
    return Case(Ended(**{"id": "1", "state": "failed", **ended}), "slurm", GENERIC_SLURM, logs=(LOG,))  # type: ignore[arg-type]


KNOWN = {
    "boom": entry("boom (?P<what>.+)"),
    "full": entry("disk full", "disk_quota_or_full", says="the disk is full"),
    "slow": entry("watchdog", "nccl_timeout_due_to_straggler_or_crash_elsewhere", role="symptom", says="a rank waited"),
    "left": entry("closed by peer", role="follows", says="another one left"),
    "noise": entry("deprecated", role="harmless", says="nothing"),
    "hung": entry(
        "", "rendezvous_timeout_master_unreachable", needs={"job.state": "timeout", "log.silent": True}, says="silence"
    ),
}


def nobody(text: str) -> None:
    """A second voter that says nothing."""


def classes(*events: Event, known: dict[str, Entry] = KNOWN, of: Case | None = None, **more: object) -> list[str]:
    return [one.cause for one in diagnose(of or case(), digest(*events, **more), None, known, nobody).causes]


def test_the_first_in_time_is_the_cause():
    """Of two causes as sure as each other the earlier one is said first."""
    assert classes(event(3, "disk full"), event(9, "boom there"))[0] == "disk_quota_or_full"
    assert classes(event(3, "boom there"), event(9, "disk full"))[0] == "code_error"


def test_what_others_say_of_a_death_is_no_cause():
    """Words of ranks that lost another one are cascade, wherever they stand."""
    found = diagnose(case(), digest(event(1, "closed by peer"), event(2, "boom there")), None, KNOWN, lambda _: None)
    assert [one.cause for one in found.causes] == ["code_error"]
    assert [one.text for one in found.cascade] == ["closed by peer"]


def test_only_followers_leave_the_cause_unknown():
    """Where nothing but consequences was said, no cause is claimed, and the log is shown."""
    found = diagnose(case(), digest(event(1, "closed by peer")), None, KNOWN)
    assert [one.cause for one in found.causes] == ["unknown"]
    assert found.excerpt[-1].text == "the last line"


def test_a_symptom_counts_where_nothing_explains_it():
    """A time-out is a cause only where no other cause was found, before or after it."""
    assert classes(event(1, "watchdog")) == ["nccl_timeout_due_to_straggler_or_crash_elsewhere"]
    assert classes(event(1, "watchdog"), event(5, "boom there")) == ["code_error"]


def test_what_a_job_lived_on_after_is_no_cause():
    """Training that goes on in the same file shows that an error was survived."""
    lived = event(5, "boom there", behind=10)
    assert classes(lived, progress=50, last_progress=Place(LOG.path, 99)) == ["unknown"]
    assert classes(event(5, "boom there", behind=200), ended_well="done", of=case(state="unknown")) == ["none"]


def test_what_others_say_is_no_survival():
    """Many lines behind the only error are no training: it is named, and no more than likely."""
    found = diagnose(case(), digest(event(5, "boom there", behind=200)), None, KNOWN)
    assert found.causes[0].cause == "code_error" and found.causes[0].likely


def test_a_step_or_two_of_another_rank_is_no_survival():
    """In one log ranks print on for a moment after the first one died."""
    assert classes(event(5, "boom there", behind=2), progress=50, last_progress=Place(LOG.path, 7)) == ["code_error"]


def test_a_job_that_succeeded_has_no_cause():
    """The scheduler's word counts; so does a log that ends well, where nobody can be asked."""
    assert classes(event(5, "deprecated"), of=case(state="completed")) == ["none"]
    assert classes(event(5, "boom there", behind=80), of=case(state="completed")) == ["none"]
    assert classes(of=case(state="unknown"), ended_well="done") == ["none"]
    assert classes(of=case(state="unknown"), progress=10) == ["none"]


def test_what_gave_up_before_any_training_was_no_success():
    """The script went on, and said that the job was done."""
    fatal = event(5, "boom there", severity=Severity.FATAL, behind=9)
    assert classes(fatal, of=case(state="unknown"), ended_well="done") == ["code_error"]
    for step, said in ((12, "none"), (3, "code_error")):  # training behind it, or before it alone
        seen = {"progress": 10, "last_progress": Place(LOG.path, step)}
        assert classes(fatal, of=case(state="unknown"), ended_well="done", **seen) == [said]


def test_a_success_that_hides_a_death_is_told():
    """`srun … | tee log` ends with 0 whatever srun did; a rank that died at the log's end is told all the same."""
    assert classes(event(99, "boom there"), of=case(state="completed")) == ["code_error"]


def test_ranks_that_wait_for_a_dead_one_do_not_name_the_cause():
    """Another rank's own exception came before, however weak its words; the waiting rank's own is no such reason."""
    known = {**KNOWN, "barrier": entry("barrier timed out", "rendezvous_timeout_master_unreachable"),
             "gone": entry("No such file", "file_not_found", weight="fair")}  # fmt: skip
    wait = event(30, "barrier timed out", rank=2)
    dead = event(16, "No such file", rank=0, exception="FileNotFoundError")
    assert classes(dead, wait, known=known)[0] == "file_not_found"
    assert classes(replace(dead, rank=2), wait, known=known)[0] == "rendezvous_timeout_master_unreachable"
    assert classes(replace(dead, exception=""), wait, known=known)[0] == "rendezvous_timeout_master_unreachable"
    assert classes(wait, replace(dead, place=Place(LOG.path, 40)), known=known)[0] == (
        "rendezvous_timeout_master_unreachable")  # fmt: skip


def test_silence_is_evidence():
    """A job that hung is known by facts alone; they must be known to count."""
    assert classes(of=case(state="timeout")) == ["rendezvous_timeout_master_unreachable"]
    assert classes(of=case(state="failed")) == ["unknown"]


def test_a_sentence_names_what_the_log_says():
    """What the signature caught stands in the sentence; the evidence is the very line."""
    first = diagnose(case(), digest(event(7, "boom in the hall")), None, KNOWN).causes[0]
    assert first.says == "it was in the hall"
    assert [(one.line, one.text) for one in first.evidence] == [(7, "boom in the hall")]


@pytest.mark.parametrize("explains", [["full"], ["disk_quota_or_full"]])
def test_one_cause_may_explain_another(explains):
    """An entry says which ids or classes are its consequences; those are cascade then."""
    known = {**KNOWN, "boom": entry("boom (?P<what>.+)", explains=explains)}
    found = diagnose(case(), digest(event(1, "disk full"), event(2, "boom there")), None, known, lambda _: None)
    assert [one.cause for one in found.causes] == ["code_error"]
    assert [one.text for one in found.cascade] == ["disk full"]


def test_an_entry_is_excluded_by_facts_of_the_job():
    """What is ruled out by a fact is not said, however loud its words are."""
    known = {**KNOWN, "boom": entry("boom (?P<what>.+)", excludes=[{"job.state": "failed"}])}
    assert classes(event(1, "boom there"), known=known) == ["unknown"]


def test_words_say_more_than_the_kind_of_an_exception():
    """Of one event the entry that knows its words is the cause, whatever its role; a later exception stays one."""
    known = {
        **KNOWN,
        "kind": entry("", exception="RuntimeError", weight="fair", says="raised"),
        "slow": entry("watchdog", "nccl_init_or_transport", role="symptom", weight="fair", says="late"),
    }
    raised = event(5, "RuntimeError: watchdog", exception="RuntimeError")
    assert [one for one in classes(raised, known=known) if one != "unknown"] == ["nccl_init_or_transport"]
    later = event(9, "RuntimeError: else", exception="RuntimeError")
    assert classes(event(5, "watchdog"), later, known=known) == ["code_error"]


def test_what_the_program_was_past_is_not_what_it_died_of():
    """A complaint that ended nothing, the program's own words, then an end: the end's cause comes first."""
    complaint = event(3, "disk full", behind=4)
    assert classes(complaint, event(9, "boom there", exception="Boom"))[0] == "code_error"
    assert classes(complaint, event(9, "boom there"))[0] == "code_error"
    assert classes(complaint, event(9, "boom there", behind=3))[0] == "disk_quota_or_full"
    died = event(3, "disk full", behind=4, exception="OSError")
    assert classes(died, event(9, "boom there", exception="Boom"))[0] == "disk_quota_or_full"


@pytest.mark.parametrize("file", ["/home/u/.bashrc", "/etc/profile.d/z00.sh", "/etc/bashrc", "/home/u/.bash_profile"])
def test_a_startup_file_may_complain(file):
    """The shell lives on; the complaint is a cause only where no other is found."""
    complaint = event(1, "%s: line 4: disk full" % file)
    assert classes(complaint, event(2, "boom there"))[0] == "code_error"
    assert classes(complaint) == ["disk_quota_or_full"]


@pytest.mark.parametrize("behind, said", [(0, "disk_quota_or_full"), (2, "none")])
def test_of_a_success_only_the_last_word_may_be_a_complaint(behind, said):
    """The scheduler says that all went well: then a mere complaint with other words behind it did no harm."""
    assert classes(event(95, "disk full", behind=behind), of=case(state="completed"))[0] == said
    died = event(95, "boom there", behind=behind, exception="Boom")
    assert classes(died, of=case(state="completed"))[0] == "code_error"


def test_the_last_run_of_a_file_is_the_one_that_failed():
    """What an earlier run died of comes second; where it explains the last one's end, it stays the cause."""
    before, after = event(3, "disk full", run=0), event(9, "boom there", run=1)
    assert classes(before, after) == ["code_error", "disk_quota_or_full"]
    known = {**KNOWN, "full": entry("disk full", "disk_quota_or_full", says="full", explains=["boom"])}
    assert classes(before, after, known=known) == ["disk_quota_or_full"]
    assert classes(event(3, "disk full", run=1), event(9, "boom there", run=1))[0] == "disk_quota_or_full"


def test_an_earlier_run_casts_no_doubt_and_spoils_no_success():
    """An error of it that nobody knows stands before everything; it belongs to another run."""
    strange = event(2, "the frobnicator is out of glue", run=0, behind=3)
    assert classes(strange, event(9, "watchdog", run=1))[0] == "nccl_timeout_due_to_straggler_or_crash_elsewhere"
    died = event(3, "boom there", run=0, exception="Boom", behind=2)
    assert classes(died, event(9, "deprecated", run=1), of=case(state="completed")) == ["none"]


def test_a_page_of_usage_is_not_life_that_goes_on():
    """Its own lines stand behind it; training behind it would be life."""
    known = {"usage": entry("^Usage: mpiexec", "launcher_bad_option", says="usage")}
    page = event(2, "Usage: mpiexec [options]", behind=60, severity=Severity.WARNING)
    assert classes(page, known=known) == ["launcher_bad_option"]
    assert classes(page, known=known, progress=9, last_progress=Place(LOG.path, 99)) == ["unknown"]


def test_noise_does_not_hide_a_success():
    """Where nobody tells the state, a harmless line that sounds like an error counts for nothing."""
    known = {**KNOWN, "noise": entry("frobnicator", "none", role="harmless", says="nothing")}
    noise = event(5, "the frobnicator failed")
    assert classes(noise, known=known, of=case(state="unknown"), progress=9) == ["none"]
    assert classes(noise, of=case(state="unknown"), progress=9) == ["unknown"]


def test_confirmations_count_and_no_more_than_two_of_them():
    """A cause with many of them is no surer than one with two: they are told by the same few facts."""
    facts = {"job.state": "failed", "log.silent": False}
    held = [{"job.state": "failed"}, {"log.silent": False}, {"job.state": "failed", "log.silent": False}]

    def score(count: int) -> float:
        known = {"it": entry("it broke", confirms=held[:count])}
        log = digest(event(3, "it broke"))
        rows, _ = ranked(matches(log.events, known), known, facts, log)
        return rows[0].score

    assert [score(count) - score(0) for count in range(4)] == [0.0, 1.0, 2.0, 2.0]


def test_a_cause_of_facts_alone_is_shown_with_the_words_that_say_the_same():
    """The last first, and no words of another cause; for one that nobody knows, words of how it ended."""
    same = "rendezvous_timeout_master_unreachable"
    known = {
        "hung": entry("", same, needs={"job.state": "timeout"}),
        "words": entry("nobody came", same, role="follows"),
        "other": entry("disk full", "disk_quota_or_full", role="follows"),
    }
    log = digest(event(3, "nobody came"), event(5, "nobody came at all"), event(7, "disk full"))
    rows, _ = ranked(matches(log.events, known), known, {"job.state": "timeout"}, log)
    (row,) = [row for row in rows if row.entry == "hung"]
    assert [match.event.place.line for match in row.matches] == [5, 3]


@pytest.mark.parametrize(("apart", "kin"), [(12, True), (13, False)])
def test_two_sentences_of_one_speaker_are_one_telling_within_twelve_lines(apart, kin):
    """Beyond that the earlier one is an error of its own, which nobody knows."""
    first = event(10, "tool: error: no glue", behind=3)
    second = event(10 + apart, "tool: error: watchdog")
    assert (classes(first, second)[0] != "unknown") == kin


def sureness(score: float, lead: float, *votes: Vote) -> float:
    return of_entry(KNOWN["full"], score, lead, votes).confidence


def test_confidence_grows_with_the_score_and_two_of_the_lead():
    """What leads by more is no surer: the other cause is out of sight already."""
    assert sureness(2.0, 0.0) < sureness(6.0, 0.0) < sureness(8.0, 0.0) == sureness(90.0, 0.0)
    assert sureness(6.0, 0.0) < sureness(6.0, 1.0) < sureness(6.0, 2.0) == sureness(6.0, 99.0)


def test_a_cause_is_more_than_likely_where_both_voters_name_it():
    """A vote for it makes it surer, one for another class less so; without a strong one it stays likely."""
    yes, no = Vote("disk_quota_or_full", 0.95, 1.0), Vote("gpu_oom", 0.95, 1.0)
    weak = Vote("disk_quota_or_full", AGREED, 0.9)
    assert sureness(6.0, 2.0, no) < sureness(6.0, 2.0, yes)
    both = of_entry(KNOWN["full"], 6.0, 2.0, (yes,))
    assert both.confidence >= SURE and not both.likely and both.voters == ("entries", "lines")
    for votes, second in (((), ""), ((None,), ""), ((weak,), ""), ((no,), "gpu_oom")):
        alone = of_entry(KNOWN["full"], 6.0, 2.0, votes)
        assert alone.likely and alone.voters == ("entries",) and alone.second == second


@pytest.mark.parametrize(
    ("behind", "ended"), [(-1, False), (0, False), (1, True), (2, True), (NEXT, True), (NEXT + 1, False)]
)
def test_a_process_ended_where_that_is_said_right_behind(behind: int, ended: bool):
    """From the very next line on, and not much later: that would be another's end. Another file's is another's."""
    end = event(10 + behind, "Segmentation fault", severity=Severity.FATAL)
    assert said_to_have_ended(Place(LOG.path, 10), digest(end)) == ended
    assert not said_to_have_ended(Place("/x/other.out", 10), digest(end))
    assert not said_to_have_ended(Place(LOG.path, 10), digest(replace(end, severity=Severity.ERROR)))


@pytest.mark.parametrize("of_boom", ["full", "disk_quota_or_full"])
@pytest.mark.parametrize("of_full", ["boom", "code_error"])
def test_of_two_that_explain_each_other_both_stay(of_boom: str, of_full: str):
    """By name or by class: else both would be gone, and the cause unknown."""
    full = entry("disk full", "disk_quota_or_full", says="the disk is full", explains=[of_full])
    known = {**KNOWN, "boom": entry("boom (?P<what>.+)", explains=[of_boom]), "full": full}
    assert set(classes(event(1, "disk full"), event(2, "boom there"), known=known)) == {
        "disk_quota_or_full",
        "code_error",
    }


@pytest.mark.parametrize("explains", ["boom", "code_error"])
def test_a_symptom_that_explains_the_cause_stays_beside_it(explains: str):
    cause = "nccl_timeout_due_to_straggler_or_crash_elsewhere"
    slow = entry("watchdog", cause, role="symptom", says="a rank waited", explains=[explains])
    known = {**KNOWN, "slow": slow}
    assert cause in classes(event(1, "watchdog"), event(5, "boom there"), known=known)


def test_the_best_of_what_an_entry_knows_counts() -> None:
    """One that the process lived on after takes nothing from another that it did not."""
    lived, died = event(3, "boom early", run=0), event(9, "boom late", run=1)
    again = event(12, "something else", run=1)
    rows, _ = ranked(matches([lived, died, again], KNOWN), KNOWN, {}, digest(lived, died, again))
    (alone,), _ = ranked(matches([died], KNOWN), KNOWN, {}, digest(died))
    assert [row.score for row in rows] == [alone.score]


STEP = Place(LOG.path, 70)


@pytest.mark.parametrize(
    ("last", "more", "said"),
    [
        (event(99, "closed by peer"), {}, "code_error"),
        (event(99, "closed by peer"), {"last_progress": STEP, "progress": 9}, "unknown"),
        (event(99, "the frobnicator is out of glue"), {}, "unknown"),
        (event(99, "disk full"), {}, "disk_quota_or_full"),
    ],
    ids=["nothing else", "training went on", "an error that nobody knows", "another cause"],
)
def test_behind_a_cause_others_may_have_much_to_say(last: Event, more: dict[str, object], said: str) -> None:
    """Loaders, and ranks that wait: it is likely where nobody trained, and nothing else tells of the death."""
    found = diagnose(case(), digest(event(5, "boom there", behind=1500), last, **more), None, KNOWN, nobody)
    assert found.causes[0].cause == said and (said != "code_error" or found.causes[0].likely)
