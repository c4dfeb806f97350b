"""What hooks tell is read strictly; what it means stands in one table; a job is joined exactly or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess

import pytest
from maple_agents.ask.schedulers.protocol import OF_REASON, Ending, EndReason, Job, JobState
from maple_daemon.outcomes import join
from maple_daemon.outcomes import scheduler_words as outcomes
from maple_daemon.outcomes.events import BadEvent, Ended, Submitted, ended, submitted
from maple_submit_filter.types.job_records import STATES, Outcome, Record, Version

HASH = "a" * 64
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def line(**more: object) -> bytes:
    """An event as a hook writes it."""
    told = {"v": 1, "event": "ended", "scheduler": "slurm", "job": "7", "uid": "1000", **more}
    return json.dumps(told).encode()


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff\xfe",
        b"[" * 4000,
        line(name="x" * 5000),
        line(v=2),
        line(event="other"),
        line(job="7; rm"),
        line(job="../7"),
        line(job=""),
        line(uid="-1"),
        line(uid=str(2**32 - 1)),
        line(uid=""),
        line(scheduler="lsf"),
        line(job=["7"]),
        line(uid=float("inf")),
    ],
)
def test_what_is_no_event_is_refused(wrong: bytes) -> None:
    """Whatever bytes they are."""
    with pytest.raises(BadEvent):
        ended(wrong)


def test_what_is_wrong_in_one_field_leaves_the_others() -> None:
    """Control characters, hashes that are none, and times of another century are nothing."""
    told = ended(line(name="a\nb", script_hash="zz", record="x", submitted="99999999999", started="1795330155"))
    assert (told.name, told.script_hash, told.record, told.submitted, told.started) == ("", "", "", None, 1795330155.0)
    assert ended(line(name="tr\udcffain")).name == "tr\udcffain"


@pytest.mark.parametrize(
    "name",
    [
        "submitted,7,12,34,host",
        "submitted,7,12,34,host,xyz",
        "submitted,7,12,34,ho/st,00112233",
        "submitted,,1,2,h,00112233",
        "submitted,7,12,34,host,00112233\n",
        "submitted,7,-1,34,host,00112233",
        "submitted,7,12,34,host,00112233,1",
    ],
)
def test_a_name_that_is_no_submission_is_refused(name: str) -> None:
    """Every field has its form."""
    with pytest.raises(BadEvent):
        submitted(name, 0, 0.0)


def test_a_name_says_which_process_submitted() -> None:
    """Also of PBS, whose ids have a server in them."""
    assert submitted("submitted,30.pbs01,12,34,login1.hpc,0011223344556677", 5, 6.0) == Submitted(
        "30.pbs01", 12, 34, "login1.hpc", 5, 6.0
    )


@pytest.mark.parametrize(
    ("event", "state", "code", "signal"),
    [
        ({"state": "COMPLETED", "exit": "0:0"}, "completed", 0, None),
        ({"state": "FAILED", "exit": "3:0"}, "failed", 3, None),
        ({"state": "FAILED", "exit": "0:9"}, "failed", None, 9),
        ({"state": "CANCELLED", "exit": "0:15"}, "cancelled", None, 15),
        ({"state": "CANCELLED by 1000", "exit": "0:0"}, "cancelled", None, None),
        ({"state": "TIMEOUT", "exit": "0:15"}, "timeout", None, 15),
        ({"state": "DEADLINE", "exit": "0:0"}, "timeout", None, None),
        ({"state": "OUT_OF_MEMORY", "exit": "0:125"}, "out-of-memory", None, 125),
        ({"state": "NODE_FAIL", "exit": "0:0"}, "node-failed", None, None),
        ({"state": "BOOT_FAIL"}, "node-failed", None, None),
        ({"state": "PREEMPTED"}, "preempted", None, None),
        ({"state": "PENDING", "exit": "0:0"}, "requeued", None, None),
        ({"state": "FAILED", "exit": "0:53"}, "failed", None, None),
        ({"state": "SOMETHING_NEW", "exit": "0:0"}, "unknown", None, None),
        ({"exit": "0:0"}, "completed", 0, None),
        ({"exit": "2:0"}, "failed", 2, None),
        ({"exit": "0:15"}, "unknown", None, 15),
        ({"exit": ""}, "unknown", None, None),
        ({"scheduler": "pbs", "exit": "0"}, "completed", 0, None),
        ({"scheduler": "pbs", "exit": "1"}, "failed", 1, None),
        ({"scheduler": "pbs", "exit": "265"}, "unknown", None, 9),
        ({"scheduler": "pbs", "exit": "267"}, "failed", None, 11),
        ({"scheduler": "pbs", "exit": "271", "state": "91"}, "cancelled", None, 15),
        ({"scheduler": "pbs", "state": "91"}, "cancelled", None, None),
        *(
            (
                {"scheduler": "pbs", "state": "53", "comment": "run and terminated by a@h", "exit": code},
                "cancelled",
                *how,
            )
            for code, *how in (("0", 0, None), ("143", 143, None), ("271", None, 15), ("1", 1, None))
        ),
        ({"scheduler": "pbs", "exit": "143"}, "unknown", 143, None),
        ({"scheduler": "pbs", "exit": "143", "comment": "run and failed"}, "failed", 143, None),
        ({"scheduler": "pbs", "exit": "1", "comment": "terminated by a@h, says the user"}, "failed", 1, None),
        ({"scheduler": "pbs", "exit": "-29"}, "timeout", None, None),
        ({"scheduler": "pbs", "exit": "-27"}, "out-of-memory", None, None),
        ({"scheduler": "pbs", "exit": "-20"}, "node-failed", None, None),
        ({"scheduler": "pbs", "exit": "-1"}, "failed", None, None),
    ],
)
def test_the_schedulers_words_have_one_meaning(event: dict[str, str], state: str, code: object, signal: object) -> None:
    """Slurm's states and exit codes, with and without the other; PBS's exit status and substate."""
    found = outcomes.of_event(ended(line(**event)))
    assert (found.state, found.exit_code, found.signal) == (state, code, signal)
    assert found.state in STATES


def test_every_reason_has_a_state() -> None:
    """None is left out of the table."""
    assert set(OF_REASON) == set(EndReason) and set(OF_REASON.values()) <= set(STATES)


@pytest.mark.parametrize(
    ("pattern", "job", "path"),
    [
        ("logs/%x-%j.out", "7", "/w/logs/train-7.out"),
        ("/l/%A_%a.out", "7_3", "/l/7_3.out"),
        ("/l/%4j.out", "7", "/l/0007.out"),
        ("/l/%j.out", "7_3", ""),
        ("/l/%N.out", "7", ""),
        ("/l/100%%.out", "7", "/l/100%.out"),
        ("", "7", ""),
    ],
)
def test_where_output_goes_is_known_or_not_said(pattern: str, job: str, path: str) -> None:
    """Slurm's hooks give the pattern; a sign that the event does not tell makes the path unknown."""
    event = Ended("slurm", "x", job, 0, name="train", workdir="/w", stdout=pattern)
    assert outcomes.of_event(event).output == path


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"batch": "yes"}, "/w/slurm-7.out"),  # 22.05 and 24.11 say nothing
        ({"batch": "yes", "stdout": "slurm-%j.out"}, "/w/slurm-7.out"),  # 25.11
        ({"batch": "yes", "job": "7_3", "array": "7", "number": "9"}, "/w/slurm-7_3.out"),
        ({"batch": "yes", "job": "7_3", "stdout": "slurm-%A_%a.out"}, "/w/slurm-7_3.out"),
        ({"batch": "yes", "job": "7_3", "number": "9", "stdout": "%j.out"}, "/w/9.out"),
        ({"batch": "yes", "job": "7_3", "number": "9", "stdout": "slurm-%j.out"}, ""),
        ({"batch": "no"}, ""),  # srun and salloc write to the terminal
        ({}, ""),  # the epilogue does not tell which it was
        ({"batch": "yes", "workdir": ""}, ""),
    ],
)
def test_output_that_nobody_asked_for_by_name_is_where_sbatch_puts_it(more: dict[str, str], path: str) -> None:
    """In the folder where the job ran; errors go to the same file, so that nothing is said of them."""
    found = outcomes.of_event(
        ended(line(**{"workdir": "/w", "name": "train", "state": "FAILED", "exit": "1:0", **more}))
    )
    assert (found.output, found.error) == (path, "")


def test_an_end_stays_known_when_hooks_arrive_late() -> None:
    """What goes on, or is less sure, does not stand in place of an end; a requeued job goes on."""
    done, unsure = Outcome("7", "timeout", 0, "a", ended=9.0), Outcome("7", "unknown", 0, "b", ended=9.0)
    assert outcomes.better(done, unsure) == done and outcomes.better(unsure, done) == done
    assert outcomes.better(done, Outcome("7", "running", 0, "c")).state == "timeout"
    assert outcomes.better(done, Outcome("7", "requeued", 0, "c", submitted=10.0)).state == "requeued"
    assert outcomes.better(done, Outcome("7", "requeued", 0, "c", submitted=8.0)).state == "timeout"


@pytest.mark.parametrize("other", ["completed", "failed", "unknown", "running"])
def test_what_somebody_ended_is_no_failure_whatever_another_hook_says(other: str) -> None:
    """That one knows the exit status alone, and either may come first."""
    deleted, seen = Outcome("7", "cancelled", 0, "jobobit"), Outcome("7", other, 0, "execjob_epilogue", 0)
    assert outcomes.better(deleted, seen).state == outcomes.better(seen, deleted).state == "cancelled"


def test_an_array_fails_with_its_first_task_and_is_never_said_to_be_complete() -> None:
    """Nobody tells a hook how many tasks there are."""
    good, bad = Outcome("7_1", "completed", 0, "a", 0), Outcome("7_2", "failed", 0, "a", 3)
    first = outcomes.of_array("7", good, None)
    assert (first.job, first.state) == ("7", "running")
    second = outcomes.of_array("7", bad, first)
    assert (second.job, second.state, second.exit_code) == ("7", "failed", 3)
    assert outcomes.of_array("7", good, second) == second


def record(number: int, at: float = 100.0, **more: object) -> Record:
    """A submission of user 1 that is not joined."""
    made = Record("%016x" % number, "v", 1, at, "login1", 10 + number, 5, "repair", "clean", (), "memory")
    return made._replace(**more)  # type: ignore[arg-type]


def told(job: str, number: int, **more: object) -> Submitted:
    """What the filter says of that record's process."""
    return Submitted(job, 10 + number, 5, "login1", 1, 101.0)._replace(**more)  # type: ignore[arg-type]


VERSION = Version("v", "l", "", 1, 0.0, "slurm", "/w/job.sh", "job", "/w", (), b"", HASH)


def outcome(job: str, at: float = 100.0, **more: object) -> Outcome:
    """An end of a job of user 1 of that script."""
    made = Outcome(job, "completed", 1, "x", submitted=at, name="job", workdir="/w", script_hash=HASH)
    return made._replace(**more)  # type: ignore[arg-type]


def test_fifty_equal_submissions_are_each_joined_to_their_own_job_by_their_process() -> None:
    """In whatever order they are told."""
    records = [record(number) for number in range(50)]
    found = join.by_process([told(str(1000 + number), number) for number in reversed(range(50))], records)
    assert {(one.record, one.job) for one in found} == {("%016x" % n, str(1000 + n)) for n in range(50)}


@pytest.mark.parametrize(
    "other",
    [{"uid": 2}, {"host": "login2"}, {"started": 6}, {"pid": 99}, {"at": 100.0 + 2 * join.DAY}],
    ids=str,
)
def test_another_process_is_not_joined(other: dict[str, object]) -> None:
    """User, host, pid, start and day are those of the record."""
    assert join.by_process([told("7", 1, **other)], [record(1)]) == []
    assert len(join.by_process([told("7", 1)], [record(1)])) == 1


def test_a_process_that_claims_two_jobs_or_a_job_claimed_twice_is_not_joined() -> None:
    """A user may write what he likes into the spool; he confuses his own jobs at most, and not even those."""
    assert join.by_process([told("7", 1), told("8", 1)], [record(1)]) == []
    assert join.by_process([told("7", 1), told("7", 2)], [record(1), record(2)]) == []


def test_a_script_that_names_its_record_is_joined_once_and_soon() -> None:
    """A copy of a repaired script that is submitted later has its last line still."""
    mine = record(1, submitted_hash=HASH)
    assert join.by_record(outcome("7", record=mine.id), [mine]) == join.Joined(mine.id, 1, "7", "record")
    assert join.by_record(outcome("7", 500.0, record=mine.id), [mine]) is None
    assert join.by_record(outcome("7", record=mine.id, uid=2), [mine]) is None
    assert join.by_record(outcome("7", record=mine.id, script_hash="b" * 64), [mine]) is None
    assert join.by_record(outcome("7"), [mine._replace(id="")]) is None


def test_time_name_folder_and_script_join_one_to_one() -> None:
    """And every difference keeps them apart."""
    sure, unsure = join.by_times([outcome("7")], [record(1)], {"v": VERSION})
    assert (sure, unsure) == ([join.Joined(record(1).id, 1, "7", "times")], [])
    for other in (
        {"submitted": 103.0},
        {"submitted": 98.0},
        {"name": "b"},
        {"workdir": "/x"},
        {"uid": 2},
        {"script_hash": "b" * 64},
        {"script_hash": ""},
        {"submitted": None},
    ):
        assert join.by_times([outcome("7")._replace(**other)], [record(1)], {"v": VERSION}) == ([], [])  # type: ignore[arg-type]
    assert join.by_times([outcome("7")], [record(1, submitted_hash="b" * 64)], {"v": VERSION}) == ([], [])
    assert join.by_times([outcome("7")], [record(1, job="6")], {"v": VERSION}) == ([], [])


def test_half_of_a_hash_tells_as_the_whole() -> None:
    """It stands in the path of a private copy, which is all that a hook may see; a whole one stays."""
    half = HASH[:32]
    sure, _ = join.by_times([outcome("7", script_hash=half)], [record(1)], {"v": VERSION})
    assert [one.record for one in sure] == [record(1).id]
    assert join.by_record(outcome("7", script_hash="b" * 32), [record(1, submitted_hash=HASH)]) is None
    first, second = outcome("7", script_hash=half), outcome("7", script_hash=HASH)
    assert outcomes.better(first, second).script_hash == outcomes.better(second, first).script_hash == HASH


def test_fifty_equal_submissions_are_left_unjoined_by_their_times() -> None:
    """Each job may be any of them; so may two jobs of one record."""
    jobs = [outcome(str(1000 + number)) for number in range(50)]
    sure, unsure = join.by_times(jobs, [record(number) for number in range(50)], {"v": VERSION})
    assert sure == [] and len(unsure) == 50
    assert join.by_times(jobs[:2], [record(1)], {"v": VERSION})[0] == []


class Asked:
    """A scheduler that knows some jobs, and how often it was asked."""

    name = "slurm"

    def __init__(self, *jobs: Job) -> None:
        self.known, self.questions = {one.id: one for one in jobs}, 0

    def jobs(self, ids: list[str]) -> dict[str, Job]:
        """One question for all."""
        self.questions += 1
        return {one: self.known.get(one, Job(one, JobState.VANISHED)) for one in ids}


def test_the_scheduler_is_asked_once_for_all_jobs() -> None:
    """Another owner's job of the same id, and what was known, tell nothing; a job that it forgot has ended somehow."""
    records = [record(number, job=str(number), uid=0) for number in range(1, 6)]
    records[4] = records[4]._replace(outcome=Outcome("5", "running", 0, "x"))
    scheduler = Asked(
        Job("1", JobState.FINISHED, ending=Ending(EndReason.EXITED, 3), owner="root"),
        Job("2", JobState.FINISHED, ending=Ending(EndReason.COMPLETED, 0), owner="nobody"),
        Job("3", JobState.QUEUED, owner="root"),
        Job("5", JobState.RUNNING, owner="root"),
    )
    found = outcomes.Polling(60, lambda: scheduler).ask(records)  # type: ignore[arg-type, return-value]
    assert scheduler.questions == 1
    assert [(one.job, one.state, one.exit_code) for one in found] == [
        ("1", "failed", 3),
        ("3", "pending", None),
        ("4", "unknown", None),
    ]


def test_slurms_hook_writes_what_is_read(tmp_path: object) -> None:
    """Names are data, whatever is in them; the script is known by its hash and the record in its last line."""
    folder = str(tmp_path)
    hook, spool, state = folder + "/job_ended", folder + "/spool", folder + "/state"
    with open(ROOT + "/packaging/slurm/job_ended", "rb") as source, open(hook, "wb") as target:
        target.write(source.read())
    os.chmod(hook, 0o755)
    os.mkdir(spool)
    os.makedirs(state + "/hash.7/job.7")
    with open(folder + "/events.conf", "w", encoding="utf-8") as file:
        file.write("SPOOL='%s'\nSTATE='%s'\n" % (spool, state))
    script = b"#!/bin/sh\ntrue\n# maple: repaired (MPL301); record 0011223344556677; original sha256 00; MAPLE=off s\n"
    with open(state + "/hash.7/job.7/script", "wb") as kept:
        kept.write(script + b"\0")
    name = 'a"b\\c\t$(touch x)`id`&\n{é'
    told = {
        "JOBID": "7",
        "UID": "1000",
        "JOBSTATE": "FAILED",
        "EXITCODE": "3:0",
        "JOBNAME": name,
        "SUBMIT": "1795330155",
        "WORK_DIR": "/w",
        "STDOUT": "/w/" + "x" * 5000,
        "BATCH": "yes",
        "ARRAYJOBID": "0",
        "ARRAYTASKID": "4294967294",
    }
    done = subprocess.run([hook], env=told, cwd=folder, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (one,) = os.listdir(spool)
    assert one.startswith("ended.")
    with open(spool + "/" + one, "rb") as file_:
        event = ended(file_.read())
    assert (event.job, event.uid, event.state, event.exit, event.array) == ("7", 1000, "FAILED", "3:0", "")
    assert (event.name, event.stdout) == ('a"b\\c$(touch x)`id`&{é', "")
    assert (event.batch, event.number) == ("", "7"), "a name that is too long to be told is not the usual one"
    assert outcomes.of_event(event).output == ""
    assert (event.script_hash, event.record) == (hashlib.sha256(script).hexdigest(), "0011223344556677")
    assert sorted(os.listdir(folder)) == ["events.conf", "job_ended", "spool", "state"]
    os.unlink(spool + "/" + one)
    subprocess.run([hook], env={**told, "STDOUT": ""}, cwd=folder, timeout=60, check=True)
    (one,) = os.listdir(spool)
    with open(spool + "/" + one, "rb") as file_:
        assert outcomes.of_event(ended(file_.read())).output == "/w/slurm-7.out", "it is a batch job that named none"


@pytest.mark.parametrize("before", [b"srun x ", b"srun " + b"y" * 2000 + b" ", b"srun x\n"], ids=len)
def test_slurms_hook_finds_the_record_behind_a_wrapped_command(tmp_path: object, before: bytes) -> None:
    """It stands on the command's own line; and not where it is a part of another word."""
    for sign, record in ((b"# maple", "0011223344556677"), (b"'# maple", "")):
        folder = "%s/%d" % (tmp_path, len(sign))
        os.makedirs(folder + "/state/hash.7/job.7")
        os.mkdir(folder + "/spool")
        shutil.copy(ROOT + "/packaging/slurm/job_ended", folder + "/job_ended")
        with open(folder + "/events.conf", "w", encoding="utf-8") as file:
            file.write("SPOOL='%s/spool'\nSTATE='%s/state'\n" % (folder, folder))
        text = b"#!/bin/sh\n\n%s%s: repaired (MPL301); record 0011223344556677; original sha256 00; MAPLE=off s\n"
        with open(folder + "/state/hash.7/job.7/script", "wb") as kept:
            kept.write(text % (before, sign) + b"\0")
        told = {"JOBID": "7", "UID": "1000", "JOBSTATE": "FAILED", "EXITCODE": "3:0"}
        assert subprocess.run([folder + "/job_ended"], env=told, timeout=60, check=False).returncode == 0
        (name,) = os.listdir(folder + "/spool")
        with open(folder + "/spool/" + name, "rb") as written:
            assert ended(written.read()).record == record


def test_slurms_hook_is_silent_where_there_is_no_spool(tmp_path: object) -> None:
    """It ends well, whatever is wrong."""
    path = ROOT + "/packaging/slurm/job_ended"
    done = subprocess.run(
        [path], env={"JOBID": "7; x"}, cwd=str(tmp_path), capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_slurms_epilogue_tells_what_it_knows(tmp_path: object) -> None:
    """The same file as EpilogSlurmctld: no state, the exit code, the task of an array."""
    folder = str(tmp_path)
    os.mkdir(folder + "/spool")
    shutil.copy(ROOT + "/packaging/slurm/job_ended", folder + "/job_ended")
    with open(folder + "/events.conf", "w", encoding="utf-8") as file:
        file.write("SPOOL='%s/spool'\n" % folder)
    told = {"SLURM_JOB_ID": "9", "SLURM_JOB_UID": "1000", "SLURM_JOB_EXIT_CODE2": "3:0", "SLURM_JOB_NAME": "job"}
    told |= {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
    assert subprocess.run([folder + "/job_ended"], env=told, timeout=60, check=False).returncode == 0
    (name,) = os.listdir(folder + "/spool")
    with open(folder + "/spool/" + name, "rb") as written:
        event = ended(written.read())
    found = outcomes.of_event(event)
    assert (event.source, event.array, found.job, found.uid) == ("EpilogSlurmctld", "7", "7_2", 1000)
    assert (found.state, found.exit_code, found.nodes) == ("failed", 3, "n[1-2]")


def test_a_submission_of_which_the_filter_told_nothing_had_no_job() -> None:
    """Only where it tells of that host, and not before it had the time."""
    from tests.daemon.store.jobs import record

    told = record("r9", uid=9, at=1000.0, job="7", joined="filter")
    silent = record(at=2000.0)
    assert [one.joined for one in join.without_jobs([silent, told], [told], 2200.0)] == ["none", "filter"]
    for joined, now in (([told], 2060.0), ([], 2200.0), ([told._replace(host="login2")], 2200.0),
                        ([told._replace(joined="record")], 2200.0), ([told._replace(at=-1e6)], 2200.0)):  # fmt: skip
        assert join.without_jobs([silent], joined, now) == [silent]
