"""Slurm's words as values: states, ends, host lists; and the accounting, by a stand-in: the lab has none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.ask.schedulers import Ending, EndReason, JobState, SchedulerError
from maple_agents.ask.schedulers.slurm.commands import SlurmCommands
from maple_agents.ask.schedulers.slurm.jobs import ending, expand, job_of, state
from maple_agents.ask.schedulers.slurm.queue import scontrol_answers
from maple_agents.ask.schedulers.slurm.tables import form, gpus, mark, nodes_of, parsable, rows
from maple_agents.base.quantities import of_clock


@pytest.mark.parametrize(
    ("word", "reason", "expected"),
    [
        ("PENDING", "Priority", JobState.QUEUED),
        ("PENDING", "JobHeldAdmin", JobState.HELD),
        ("REQUEUE_HOLD", "", JobState.HELD),
        ("CONFIGURING", "", JobState.RUNNING),
        ("SUSPENDED", "", JobState.RUNNING),
        ("COMPLETING", "", JobState.EXITING),
        ("CANCELLED by 1000", "", JobState.FINISHED),
        ("CANCELLED+", "", JobState.FINISHED),
        ("OUT_OF_MEMORY", "", JobState.FINISHED),
        ("SOMETHING_NEW", "", JobState.UNKNOWN),
        ("", "", JobState.UNKNOWN),
    ],
)
def test_each_word_has_a_state(word, reason, expected):
    assert state(word, reason) is expected


@pytest.mark.parametrize(
    ("word", "code", "expected"),
    [
        ("COMPLETED", "0:0", (EndReason.COMPLETED, 0, None)),
        ("COMPLETED", None, (EndReason.COMPLETED, 0, None)),
        ("FAILED", "3:0", (EndReason.EXITED, 3, None)),
        ("FAILED", "0:11", (EndReason.SIGNALLED, None, 11)),
        ("FAILED", "0:53", (EndReason.NOT_STARTED, None, None)),
        ("FAILED", None, (EndReason.EXITED, None, None)),
        ("TIMEOUT", "0:15", (EndReason.WALLTIME, None, 15)),
        ("TIMEOUT", "0:0", (EndReason.WALLTIME, None, None)),
        ("CANCELLED by 0", "0:0", (EndReason.CANCELLED, None, None)),
        ("NODE_FAIL", "1:0", (EndReason.NODE, None, None)),
        ("OUT_OF_MEMORY", "0:125", (EndReason.MEMORY, None, 125)),
        ("PREEMPTED", "", (EndReason.PREEMPTED, None, None)),
        ("DEADLINE", "what", (EndReason.LIMIT, None, None)),
    ],
)
def test_each_end_has_a_reason_and_code_or_signal(word, code, expected):
    found = ending(word, code)
    assert (found.reason, found.exit_code, found.signal) == expected
    assert found.raw.startswith(word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu[01-03,7],login1", ("gpu01", "gpu02", "gpu03", "gpu7", "login1")),
        ("a100x4-[9-11]", ("a100x4-9", "a100x4-10", "a100x4-11")),
        ("r[1-2]n[0-1]-ib", ("r1n0-ib", "r1n1-ib", "r2n0-ib", "r2n1-ib")),
        ("single", ("single",)),
        ("", ()),
    ],
)
def test_host_lists_are_written_out(text, expected):
    assert expand(text) == expected


@pytest.mark.parametrize("text", ["a[1-", "a[b]", "a[1-999999999]", "a[0-999]b[0-999]", "[,", "a]"])
def test_what_is_no_host_list_or_a_huge_one_is_refused_and_shown_as_it_is(text):
    with pytest.raises(ValueError, match="host"):
        expand(text)
    assert job_of({"id": "1", "state": "RUNNING", "nodes": text}, {}).nodes == (text,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu:4", 4),
        ("gpu:a100:4(S:0-1),gpu:h100:2,shard:8", 6),
        ("(null)", 0),
        ("craynetwork:4", 0),
        ("gpu:a:1,nic:2", 1),
    ],
)
def test_gpus_are_counted_over_their_kinds(text, expected):
    assert gpus(text) == expected


def test_durations_are_seconds():
    assert [of_clock(one) for one in ("2-00:00:00", "01:00:00", "UNLIMITED", "")] == [172800, 3600, None, None]


@pytest.mark.parametrize(
    ("word", "usable"),
    [("idle", True), ("mixed", True), ("idle*", False), ("drained", False), ("mixed+drain", False), ("idle~", True)],
)
def test_a_node_is_usable_unless_it_is_drained_down_or_silent(word, usable):
    row = {"name": "n", "partition": "p*", "state": word, "cpus": "64+", "memory": "1024", "gres": "(null)"}
    (node,) = nodes_of([{**row, "features": "a,b", "reason": "none"}])
    assert (node.usable, node.cpus, node.queues, node.features) == (usable, 64, ("p",), ("a", "b"))


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4), st.text(alphabet="CLUSTER: x\n", max_size=12))
def test_tables_come_back_whatever_the_fields_hold(records, between):
    separator = mark()
    printed = (form(["%s", "%s"], separator) % one + "\n" for one in records)
    text = between + between.join(printed)
    assert rows(text, ["a", "b"], separator) == [{"a": a, "b": b} for a, b in records]


@given(st.lists(st.tuples(st.text(alphabet="abc0_"), st.text()), max_size=4))
def test_records_of_the_accounting_come_back_whatever_the_fields_hold(records):
    separator = mark()
    text = "".join(separator.join(one) + separator + "\n" for one in records)
    assert parsable(text, ["a", "b"], separator) == [{"a": a, "b": b} for a, b in records]


def test_a_record_that_is_there_twice_is_not_believed():
    """A comment may hold what looks like the record of another job."""
    fake = "JobId=7 JobName=x\n   Requeue=1 ExitCode=9:0\n   StdOut=/etc/passwd\n"
    real = "JobId=7 JobName=x\n   Requeue=1 ExitCode=0:0\n   StdOut=/home/a/out\n"
    assert scontrol_answers("JobId=6 JobName=y\n   Comment=\n" + fake + "\n" + real, {}).keys() == {"6"}
    assert scontrol_answers(real, {})["7"] == {"ExitCode": "0:0", "StdOut": "/home/a/out"}
    assert scontrol_answers("scontrol: " + real, {})["7"]["StdOut"] == "/home/a/out"


def test_a_submit_line_of_two_lines_hides_nothing():
    """25.11 and 26.05 show SubmitLine, with the line ends of a --wrap; StdErr is empty where it is stdout's file."""
    text = (
        "JobId=7 JobName=wrap\n   UserId=a(1) GroupId=a(1)\n   JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0\n"
        "   SubmitLine=sbatch --wrap srun x\n# maple: repaired (MPL301); record 0011223344556677\n"
        "   WorkDir=/home/a\n   StdErr=\n   StdIn=/dev/null\n   StdOut=/home/a/slurm-7.out\n\n"
        "JobId=8 JobName=n\n   UserId=a(1)\n   ExitCode=0:0\n   StdOut=/home/a/slurm-8.out\n"
    )
    found = scontrol_answers(text, {"7": "wrap", "8": "n"})
    assert (found["7"]["ExitCode"], found["7"]["StdOut"]) == ("3:0", "/home/a/slurm-7.out")
    assert (found["7"]["WorkDir"], found["8"]["StdOut"]) == ("/home/a", "/home/a/slurm-8.out")
    row = {"id": "7", "state": "FAILED", "name": "wrap"}
    job = job_of(row, found["7"])
    assert (job.stdout, job.stderr) == ("/home/a/slurm-7.out", "/home/a/slurm-7.out")


def test_details_are_asked_for_once_while_a_job_stays_as_it_is(recorded):
    """Each costs the controller a request, and a job may run for days."""
    squeue = recorded.folder / "squeue"
    squeue.write_text(
        "#!/bin/sh\nfor form; do :; done\n"
        "printf '%s\\n' \"$form\" | sed 's/%i/5/; s/%j/n/; s/%T/RUNNING/; s/%[A-Za-z]/x/g'\n"
    )
    squeue.chmod(0o755)
    recorded.answer("scontrol", ("*", "JobId=5 JobName=n\n   Requeue=1 ExitCode=0:0\n   StdOut=/out\n", "", 0))
    slurm = SlurmCommands(str(recorded.folder))
    assert [slurm.jobs(["5"])["5"].stdout for _ in range(3)] == ["/out"] * 3
    assert len(recorded.called()) == 1


@pytest.fixture
def purged(recorded) -> SlurmCommands:
    """A cluster whose controller has forgotten its jobs."""
    recorded.answer("squeue", ("*", "", "slurm_load_jobs error: Invalid job id specified\n", 1))
    return SlurmCommands(str(recorded.folder))


def test_a_job_that_the_controller_forgot_comes_from_the_accounting(purged, recorded):
    """Only fields that this sacct has are asked for: StdOut came with 24.05."""
    (recorded.folder / "sacct").write_text(SACCT_ROW.replace("FOLDER", str(recorded.folder)))
    (recorded.folder / "sacct").chmod(0o755)
    found = purged.jobs(["12", "13"])
    assert found["12"].ending == Ending(EndReason.WALLTIME, None, None, "TIMEOUT 0:0")
    assert (found["12"].name, found["12"].owner, found["12"].ended) == ("a\nname", "alice", 1763670100)
    assert found["13"].state is JobState.VANISHED
    assert (recorded.folder / "asked").read_text() == "12,13\n"
    assert (recorded.folder / "formats").read_text() == "--format=JobID,JobName,User,State,Submit,End,ExitCode\n"


SACCT_ROW = r"""#!/bin/sh
for word in "$@"; do case $word in
    --helpformat) printf 'JobID JobName State ExitCode End\nUser Submit\n'; exit 0;;
    --delimiter=*) d=${word#*=};;
    --format=*) echo "$word" >> 'FOLDER/formats';;
    -*) ;;
    *) ids=$word;;
esac done
echo "$ids" >> 'FOLDER/asked'
printf "12${d}a\nname${d}alice${d}TIMEOUT${d}1763670000${d}1763670100${d}0:0${d}\n"
"""


def test_without_accounting_a_forgotten_job_has_vanished_and_sacct_is_asked_once(purged, recorded):
    recorded.answer("sacct", ("*", "", "Slurm accounting storage is disabled\n", 1))
    assert [purged.jobs(["12"])["12"].state for _ in range(3)] == [JobState.VANISHED] * 3
    assert len([line for line in recorded.called() if line.startswith("sacct")]) == 1


HELPED = ("--helpformat", "JobID JobName State\n", "", 0)  # 25.11 names its fields without accounting, too
SQUEUE = """#!/bin/sh
case "$*" in *--version*) echo slurm 22.05.8; exit;; *"-j 13 "*) echo "Invalid job id specified" >&2; exit 1;; esac
for form; do :; done
printf '%s\\n' "$form" | sed 's/%i/12/; s/%j/n/; s/%T/RUNNING/; s/%[A-Za-z]/x/g'
"""


@pytest.fixture
def one_known(recorded) -> SlurmCommands:
    """A cluster whose controller knows job 12 and no other."""
    recorded.answer("scontrol", ("*", "", "", 1))
    (recorded.folder / "squeue").write_text(SQUEUE)
    (recorded.folder / "squeue").chmod(0o755)
    return SlurmCommands(str(recorded.folder))


def test_an_accounting_that_says_late_that_it_is_none_hides_no_job(one_known, recorded):
    """25.11 answers --helpformat, and says only then that there is no accounting."""
    disabled = "Slurm accounting storage is disabled\n"
    recorded.answer("sacct", HELPED, ("*", "", disabled, 1))
    for _ in range(3):
        found = one_known.jobs(["12", "13"])
        assert (found["12"].state, found["13"].state) == (JobState.RUNNING, JobState.VANISHED)
    assert one_known.jobs(["13"])["13"].state is JobState.VANISHED
    assert len([line for line in recorded.called() if line.startswith("sacct")]) == 2


def test_an_accounting_that_is_down_hides_no_job_that_the_controller_knows(one_known, recorded):
    """What it alone could tell nobody knows: that is no end."""
    recorded.answer("sacct", HELPED, ("*", "", "sacct: error: Problem talking to the database\n", 1))
    found = one_known.jobs(["12", "13"])
    assert (found["12"].state, found["13"].state) == (JobState.RUNNING, JobState.UNKNOWN)
    with pytest.raises(SchedulerError, match="Problem talking"):
        one_known.jobs(["13"])


def test_without_sacct_a_forgotten_job_has_vanished(purged):
    assert purged.jobs(["12"])["12"].state is JobState.VANISHED


@pytest.mark.parametrize("changes", [{"Time Limit": "5"}, {"-x": "5"}, {"TimeLimit": "a\0b"}])
def test_a_change_that_cannot_be_one_is_refused_before_any_command(purged, recorded, changes):
    with pytest.raises(ValueError, match="cannot be changed"):
        purged.alter("12", changes)
    with pytest.raises(ValueError, match="no signal"):
        purged.signal("12", "TERM --user=root")
    assert recorded.called() == []


def test_a_job_of_another_cluster_is_an_error_and_has_not_vanished(purged, recorded):
    for ask in (lambda: purged.jobs(["12;other"]), lambda: purged.cancel("12;other")):
        with pytest.raises(SchedulerError, match="another cluster"):
            ask()
    assert recorded.called() == []


def test_a_submission_to_another_cluster_gives_its_whole_id(purged, recorded):
    recorded.answer("sbatch", ("*", "12;other\n", "", 0))
    assert purged.submit("job.sh", ["-M", "other"]) == "12;other"
    assert recorded.called() == ["sbatch [--parsable] [-M] [other] [--] [job.sh]"]
