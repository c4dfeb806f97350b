"""PBS through its commands, against their output as a real PBS 23.06 prints it."""

from __future__ import annotations

import json
import os
import time

import pytest
from maple_agents.ask.schedulers import EndReason, JobState, SchedulerError
from maple_agents.ask.schedulers.pbs.answers import from_json, from_text
from maple_agents.ask.schedulers.pbs.commands import PbsCommands

HEAD = '"timestamp":1763670600,"pbs_version":"23.06.06","pbs_server":"pbs01"'
JOB = (
    '"%s":{"Job_Name":"train","Job_Owner":"alice@pbs01","job_state":"F","queue":"workq","substate":93,'
    '"ctime":"Thu Nov 20 20:28:38 2025","Output_Path":"pbs01:/home/alice/train.o30","Exit_status":%s,'
    '"exec_host":"node1/0*8+node2/0*8","Priority":0,"Account_Name":"007",'
    '"Resource_List":{"ncpus":16,"walltime":"00:10:00","select":"2:ncpus=8"},'
    '"Variable_List":{"PBS_O_WORKDIR":"/home/alice","A":7,"B":100000,"C":1.50,"D":true,"E":[1],"F":1e+20,'
    '"G":"back\\\\\\\\slash"},"Submit_arguments":"-v A=007 job.sh"}'
)


def answer(*jobs: str) -> str:
    return "{%s%s}" % (HEAD, ',"Jobs":{%s}' % ",".join(jobs) if jobs else "")


@pytest.fixture
def pbs(recorded) -> PbsCommands:
    return PbsCommands(str(recorded.folder))


def test_a_finished_job_is_read_from_json(pbs, recorded):
    recorded.answer("qstat", ("*", answer(JOB % ("30.pbs01", "-29")), "", 0))
    job = pbs.jobs(["30"])["30"]
    assert (job.id, job.state, job.raw_state, job.substate) == ("30.pbs01", JobState.FINISHED, "F", "93")
    assert job.ending is not None and job.ending.reason is EndReason.WALLTIME
    assert (job.submitted, job.work_dir, job.nodes) == (1763670518, "/home/alice", ("node1", "node2"))
    assert job.account == "007"
    assert recorded.called() == ["qstat [-x] [-f] [-F] [json] [30]"]


def test_values_that_qstat_changes_are_named_as_inexact_and_keep_their_digits(pbs, recorded):
    recorded.answer("qstat", ("*", answer(JOB % ("30.pbs01", "0")), "", 0))
    job = pbs.jobs(["30"])["30"]
    assert job.inexact == {"Variable_List.%s" % name for name in "ABCDEFG"} | {"substate"}
    assert job.attributes["Variable_List.C"] == "1.50" and job.attributes["Variable_List.F"] == "1e+20"
    assert job.attributes["Exit_status"] == "0"
    assert job.submit_arguments is None  # decoded to words with blanks between


@pytest.mark.parametrize("code", [153, 35])
def test_one_bad_id_does_not_hide_the_others(pbs, recorded, code):
    text = "qstat: Unknown Job Id 99999.pbs01\n"
    recorded.answer("qstat", ("*", answer(JOB % ("30.pbs01", "0"), JOB % ("31.pbs01", "7")), text, code))
    found = pbs.jobs(["30", "99999", "31.pbs01", "no id"])
    assert [found[one].state for one in ("30", "99999", "31.pbs01", "no id")] == [
        JobState.FINISHED,
        JobState.VANISHED,
        JobState.FINISHED,
        JobState.VANISHED,
    ]
    assert recorded.called() == ["qstat [-x] [-f] [-E] [-F] [json] [30] [99999] [31.pbs01]"]


JOBS = {"%d.pbs01" % number: {"Job_Name": "j%d" % number, "job_state": "R"} for number in (30, 31, 32)}


@pytest.mark.parametrize("ids", [("30", "31"), ("30.pbs01", "31", "32"), ("32", "9", "30"), ("9", "30"), ("31",)])
def test_several_ids_are_all_answered_as_qstat_knows_them(qstat, ids):
    found = PbsCommands(str(qstat(JOBS))).jobs(ids)
    known = {"30": "j30", "30.pbs01": "j30", "31": "j31", "32": "j32"}
    assert {one: job.name for one, job in found.items()} == {one: known.get(one, "") for one in ids}
    assert {one for one, job in found.items() if job.state is JobState.VANISHED} == {"9"} & set(ids)


def test_unknown_ids_alone_have_vanished(qstat):
    found = PbsCommands(str(qstat(JOBS))).jobs(["8", "9.pbs01"])
    assert {job.state for job in found.values()} == {JobState.VANISHED}


def test_an_id_that_qstat_says_nothing_of_has_not_vanished(pbs, recorded):
    """A server may be asked for too much, or a release may print what it likes: silence is no end of a job."""
    recorded.answer("qstat", ("*", answer(JOB % ("30.pbs01", "0")), "", 0))
    found = pbs.jobs(["30", "31"])
    assert (found["30"].state, found["31"].state) == (JobState.FINISHED, JobState.UNKNOWN)
    assert len(recorded.called()) == 2


@pytest.mark.parametrize("code", [153, 35])
def test_the_exit_status_for_one_id_says_nothing_of_another(pbs, recorded, code):
    """It is that of an unknown job, which is named; of a third one nothing is said."""
    text = "qstat: Unknown Job Id 99999.pbs01\n"
    recorded.answer("qstat", ("*", answer(JOB % ("30.pbs01", "0")), text, code))
    found = pbs.jobs(["30", "99999", "31", "32"])
    assert [one.state for one in found.values()] == [
        JobState.FINISHED,
        JobState.VANISHED,
        JobState.UNKNOWN,
        JobState.UNKNOWN,
    ]


def test_a_qstat_that_knows_no_common_question_is_asked_without(pbs, recorded):
    usage = "qstat: invalid option -- 'E'\nusage:\n\tqstat [-f]\n"
    recorded.answer("qstat", ("*-E*", "", usage, 2), ("*", TEXT, "", 0))
    assert [job.name or job.raw_state for job in pbs.jobs(["30", "31[]"]).values()] == ["train", "B"]


def test_an_answer_without_jobs_is_an_unknown_job(pbs, recorded):
    recorded.answer("qstat", ("*", answer(), "qstat: Unknown Job Id 99999.pbs01\n", 153))
    assert pbs.jobs(["99999"])["99999"].state is JobState.VANISHED


def test_words_that_are_no_id_never_reach_a_command(pbs, recorded):
    ids = ["-Bf", "workq", "$(touch x)", "1 2", ""]
    assert {job.state for job in pbs.jobs(ids).values()} == {JobState.VANISHED}
    assert [pbs.cancel(one) or pbs.signal(one, "TERM") or pbs.alter(one, {}) for one in ids] == [False] * 5
    assert recorded.called() == []


@pytest.mark.parametrize(
    "broken",
    [
        '{"Jobs":{"30.pbs01":{"Job_Name":"train","job_state":"R","Variable_List":{"A":"a\x01\nb\tc"}}}}',
        '{"Jobs":{"30.pbs01":{"job_state":"Q","Job_Name":"train","job_state":"R"}}}',
        '{"Jobs":{"30.pbs01":{"job_state":"R","Job_Name":"train"}},"Jobs":{"31.pbs01":{}}}',
    ],
    ids=["control characters", "doubled attribute", "doubled group"],
)
def test_json_of_older_versions_is_read_all_the_same(pbs, recorded, broken):
    recorded.answer("qstat", ("*", broken, "", 0))
    job = pbs.jobs(["30"])["30"]
    assert (job.name, job.state) == ("train", JobState.RUNNING)


def test_a_doubled_value_is_not_trusted():
    (entry,) = from_json('{"Jobs":{"1.a":{"job_state":"Q","job_state":"R"}}}', "Jobs") or []
    assert entry.values["job_state"] == "R" and entry.inexact == {"job_state"}


TEXT = """\
Job Id: 30.pbs01
    Job_Name = train
    Job_Owner = alice@pbs01
    job_state = R
    Resource_List.walltime = 00:10:00
    Variable_List = PBS_O_HOME=/home/alice,PBS_O_WORKDIR=/home/alice/a lo
\tng/path,A=b = c
    comment = Job run at Thu Nov 20

Job Id: 31[].pbs01
    job_state = B

"""


@pytest.mark.parametrize(
    ("out", "err", "code"),
    [
        ('{"Jobs":{"30.pbs01":{"Variable_List":{"A":"say "hi""}}}}', "", 0),
        ('{"Jobs":' * 3000, "", 0),
        ('{"Jobs":{"30.pbs01":', "qstat: Unknown Job Id 9.pbs01\n", 153),
        ("", "qstat: invalid option -- 'F'\nusage:\n\tqstat [-f]\n", 2),
    ],
    ids=["bare quotes", "deep", "one bad id", "no JSON here"],
)
def test_where_json_cannot_be_had_the_plain_text_is_read(pbs, recorded, out, err, code):
    recorded.answer("qstat", ("*json*", out, err, code), ("*", TEXT, "", 0))
    found = pbs.jobs(["30", "31[]"])
    assert (found["30"].name, found["30"].state, found["31[]"].state) == ("train", JobState.RUNNING, JobState.RUNNING)
    assert found["30"].work_dir == "/home/alice/a long/path"
    assert found["30"].attributes["Resource_List.walltime"] == "00:10:00"
    assert pbs.jobs(["30"])["30"].name == "train"
    assert ["json" in line for line in recorded.called()] == [True, False, False]


def test_lines_before_the_first_job_and_odd_lines_are_left_out():
    assert from_text("warning\n    a = b\n\tc\n" + "Job Id: 1.a\n    x\n    y = z\n", "Jobs")[0].values == {"y": "z"}


def test_jobs_of_a_user_are_picked_from_those_of_all(pbs, recorded):
    jobs = json.loads(answer(JOB % ("30.pbs01", "0"), JOB % ("31.pbs01", "0"), JOB % ("32.pbs01", "0")))
    jobs["Jobs"]["31.pbs01"]["Job_Owner"] = "bob@pbs01"
    jobs["Jobs"]["32.pbs01"]["job_state"] = "R"
    recorded.answer("qstat", ("*", json.dumps(jobs), "", 0))
    assert [job.id for job in pbs.jobs_of("alice")] == ["32.pbs01"]
    assert [job.id for job in pbs.jobs_of("alice", ended=True)] == ["30.pbs01", "32.pbs01"]
    assert recorded.called() == ["qstat [-f] [-t] [-F] [json]", "qstat [-x] [-f] [-t] [-F] [json]"]


def test_a_server_without_history_is_asked_without(pbs, recorded):
    text = "qstat: PBS is not configured to maintain job history\n"
    recorded.answer("qstat", ("-x*", "", text, 150), ("*", answer(JOB % ("30.pbs01", "0")), "", 0))
    assert pbs.jobs(["30"])["30"].name == "train"
    assert pbs.jobs(["30"])["30"].name == "train"
    assert [line.startswith("qstat [-x]") for line in recorded.called()] == [True, False, False]


def test_nodes_queues_and_server_are_values(pbs, recorded):
    node = {"state": "free", "resources_available": {"ncpus": 64, "ngpus": 4, "mem": "500gb"}, "queue": "prod"}
    recorded.answer("pbsnodes", ("*", json.dumps({"nodes": {"node1": node}}), "", 0))
    queue = {"enabled": "True", "started": "False", "resources_max": {"walltime": "24:00:00"}}
    server = {"pbs_version": "23.06.06", "default_queue": "workq"}
    recorded.answer(
        "qstat",
        ("*-Q*", json.dumps({"Queue": {"workq": queue}}), "", 0),
        ("*-B*", json.dumps({"Server": {"pbs01": server}}), "", 0),
    )
    (one,) = pbs.nodes()
    assert (one.usable, one.cpus, one.gpus, one.memory_mib, one.queues) == (True, 64, 4, 512000, ("prod",))
    (workq,) = pbs.queues()
    assert (workq.accepts, workq.starts, workq.default, workq.max_walltime) == (True, False, True, 86400)
    assert (pbs.server().name, pbs.server().version) == ("pbs01", "23.06.06")


@pytest.mark.parametrize(
    ("command", "text", "code", "expected"),
    [
        ("qdel", "", 0, True),
        ("qdel", "qdel: Unknown Job Id 9.pbs01\n", 153, False),
        ("qdel", "qdel: Job has finished 9.pbs01\n", 35, False),
    ],
)
def test_a_job_that_is_not_there_or_over_is_false(pbs, recorded, command, text, code, expected):
    for name in ("qdel", "qsig", "qalter"):
        recorded.answer(name, ("*", "", text, code))
    assert pbs.cancel("9") is expected
    assert pbs.signal("9", "USR1") is expected
    assert pbs.alter("9", {"Resource_List.walltime": "1:00", "Job_Name": "a b; c"}) is expected
    assert recorded.called() == [
        "qdel [9]",
        "qsig [-s] [SIGUSR1] [9]",
        "qalter [-l] [walltime=1:00] [-N] [a b; c] [9]",
    ]


@pytest.mark.parametrize(
    ("text", "code", "transient"),
    [
        ("Connection refused\nqstat: cannot connect to server pbs01 (errno=15010)\n", 162, True),
        ("qstat: Unauthorized Request \n", 159, False),
        ("", 255, False),
    ],
)
def test_a_server_that_does_not_answer_is_one_line_with_its_own_text(pbs, recorded, text, code, transient):
    recorded.answer("qstat", ("*", "", text, code))
    with pytest.raises(SchedulerError) as caught:
        pbs.jobs(["30"])
    assert (caught.value.code, caught.value.transient) == (code, transient)
    assert "\n" not in str(caught.value)
    assert len(recorded.called()) == 1


def test_an_answer_that_cannot_be_read_at_all_is_one_line(pbs, recorded):
    recorded.answer("qstat", ("*", "{", "", 0))
    with pytest.raises(SchedulerError, match="cannot be read"):
        pbs.jobs(["30"])
    assert len(recorded.called()) == 2


def test_a_command_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(SchedulerError, match=r"qstat: cannot be run: No such file or directory") as caught:
        PbsCommands(str(tmp_path)).jobs(["30"])
    assert "\n" not in str(caught.value)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path):
    hanging = tmp_path / "qstat"
    hanging.write_text('#!/bin/sh\necho $$ > "%s/pid"\nsleep 30 &\nsleep 30\n' % tmp_path)
    hanging.chmod(0o755)
    with pytest.raises(SchedulerError, match="no answer after") as caught:
        PbsCommands(str(tmp_path), timeout=2).jobs(["30"])
    assert caught.value.transient
    group = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 20
    while alive(group) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(group)


def alive(group: int) -> bool:
    """Return True while a process of the group runs; what has ended and waits for its parent does not."""
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                state, _, process_group = file.read().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(process_group) == group and state != "Z":
            return True
    return False
