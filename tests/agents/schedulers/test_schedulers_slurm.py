"""Slurm through its commands, on a real one."""

from __future__ import annotations

import getpass
import os
import time

import pytest
from maple_agents.ask.schedulers import EndReason, JobState, Pace, SchedulerError, changes, wait
from maple_agents.ask.schedulers.slurm.commands import SlurmCommands

from tests.lab.config import plugin_line
from tests.lab.sites import shape_of_site

REQUEST = ["--account=x", "--partition=gpuA100x4", "--gpus-per-node=1", "--time=5"]
AWKWARD = "a b|c\x1fd, ExitCode=9:9 %j\n   StdOut=/etc/passwd\nJobId=1 JobName=x é"


@pytest.fixture(scope="module")
def delta(lab_of):
    return lab_of(shape_of_site("ncsa-delta"))


@pytest.fixture(scope="module")
def slurm(delta) -> SlurmCommands:
    return SlurmCommands(environ=delta.environment())


@pytest.fixture(scope="module", autouse=True)
def out_of_time(slurm, delta, tmp_path_factory) -> str:
    """Submit a job whose time is up at once, before all else: Slurm looks at limits only every 30 seconds."""
    script = tmp_path_factory.mktemp("late") / "late.sh"
    script.write_text("#!/bin/bash\nexec sleep 120\n")
    job_id = slurm.submit(str(script), [*REQUEST, "--output=/dev/null"], None, delta.environment())
    until = time.monotonic() + 30
    while slurm.jobs([job_id])[job_id].state is not JobState.RUNNING and time.monotonic() < until:
        time.sleep(0.05)
    assert slurm.alter(job_id, {"EndTime": "now"}) is True
    return job_id


@pytest.fixture
def submit(slurm, delta, tmp_path):
    """Return a function that submits a script with options, and gives the job's id; what is left of it is cancelled."""
    ids: list[str] = []
    tmp_path.chmod(0o755)

    def call(text: str, *options: str) -> str:
        script = tmp_path / "my job.sh"
        script.write_text("#!/bin/bash\n" + text + "\n")
        ids.append(slurm.submit(str(script), [*REQUEST, *options], str(tmp_path), delta.environment()))
        return ids[-1]

    yield call
    for job_id in ids:
        slurm.cancel(job_id)


def ended(slurm, *ids: str):
    """Return the jobs when they are over, asked for often: the tests should not wait."""
    return wait(slurm, ids, time.monotonic() + 60, Pace(0.1, 1.0, 0.1))


def test_a_job_runs_and_finishes_and_its_output_is_where_it_is_said_to_be(slurm, submit, tmp_path):
    started = int(time.time())
    job_id = submit("echo hello", "--output=out-%x-%j.log", "--error=%j.err")
    job = ended(slurm, job_id)[job_id]
    assert (job.id, job.state, job.raw_state) == (job_id, JobState.FINISHED, "COMPLETED")
    assert job.ending is not None and (job.ending.reason, job.ending.exit_code) == (EndReason.COMPLETED, 0)
    assert (job.name, job.owner, job.queue, job.account) == ("my job.sh", getpass.getuser(), "gpuA100x4", "x")
    assert job.work_dir == str(tmp_path) and job.nodes and job.nodes[0].startswith("a100x4-")
    assert job.stderr == "%s/%s.err" % (tmp_path, job_id)
    with open(job.stdout, encoding="utf-8") as file:
        assert file.read() == "hello\n"
    assert job.submitted is not None and job.started is not None and job.ended is not None
    assert started - 2 <= job.submitted <= job.started <= job.ended <= time.time() + 2


@pytest.mark.parametrize(
    ("script", "reason", "code", "signal"),
    [
        ("exit 3", EndReason.EXITED, 3, None),
        ("kill -9 $$", EndReason.SIGNALLED, None, 9),
        ("exit 137", EndReason.EXITED, 137, None),
    ],
)
def test_a_failure_says_code_or_signal(slurm, submit, script, reason, code, signal):
    job_id = submit(script)
    ending = ended(slurm, job_id)[job_id].ending
    assert ending is not None and (ending.reason, ending.exit_code, ending.signal) == (reason, code, signal)


def test_a_job_that_could_not_be_launched_is_no_failure_of_its_script(slurm, submit):
    """Its output cannot be opened: Slurm says FAILED 0:53. (24.11 and later make a folder that is only missing.)"""
    job_id = submit("true", "--output=/dev/null/x.out")
    ending = ended(slurm, job_id)[job_id].ending
    assert ending is not None and ending.reason is EndReason.NOT_STARTED


def test_a_running_job_has_nodes_and_no_ending_until_it_is_cancelled(slurm, submit):
    job_id = submit("sleep 60", "--nodes=2")
    seen = []
    for _, job in changes(slurm, [job_id], time.monotonic() + 60, Pace(0.1, 1.0, 0.1)):
        seen.append(job)
        if job.state is JobState.RUNNING:
            assert slurm.cancel(job_id) is True
    running, over = [job for job in seen if job.state is JobState.RUNNING][0], seen[-1]
    assert running.ending is None and running.ended is None and len(running.nodes) == 2
    assert over.state is JobState.FINISHED and over.ending is not None
    assert over.ending.reason is EndReason.CANCELLED
    assert slurm.cancel(job_id) is False  # it is over


def test_a_held_job_is_held_and_can_be_altered(slurm, submit):
    job_id = submit("true", "--hold", "--comment=he said\nso")
    job = slurm.jobs([job_id])[job_id]
    assert (job.state, job.raw_state, job.substate) == (JobState.HELD, "PENDING", "JobHeldUser")
    assert job.comment == "he said\nso" and job.started is None
    assert slurm.alter(job_id, {"JobName": "other; name"}) is True
    assert slurm.jobs([job_id])[job_id].name == "other; name"
    with pytest.raises(SchedulerError) as caught:
        slurm.alter(job_id, {"TimeLimit": "abc"})
    assert "Invalid TimeLimit value" in caught.value.text and "\n" not in str(caught.value)


def test_an_array_is_one_job_under_its_own_id_and_each_task_under_its_own(slurm, submit):
    job_id = submit('[ "$SLURM_ARRAY_TASK_ID" = 2 ] && exit 5; true', "--array=1-3%2")
    ids = [job_id, *("%s_%d" % (job_id, index) for index in (1, 2, 3, 9))]
    found = ended(slurm, *ids)
    whole = found[job_id]
    assert (whole.state, whole.array_id, whole.array_index) == (JobState.FINISHED, job_id, None)
    assert whole.ending is not None and whole.ending.exit_code == 5
    assert [found[one].array_index for one in ids[1:4]] == [1, 2, 3]
    assert [found[one].ending.exit_code for one in ids[1:4]] == [0, 5, 0]
    assert found[ids[2]].stdout.endswith("/slurm-%s_2.out" % job_id)
    assert found[ids[4]].state is JobState.VANISHED


def test_an_array_of_which_a_task_is_over_can_be_cancelled(slurm, submit):
    job_id = submit('[ "$SLURM_ARRAY_TASK_ID" = 1 ] && exit 0; sleep 60', "--array=1-2")
    ended(slurm, job_id + "_1")
    assert slurm.cancel(job_id) is True
    whole = ended(slurm, job_id)[job_id]
    assert whole.ending is not None and whole.ending.reason is EndReason.CANCELLED
    assert slurm.cancel(job_id) is False


def test_a_task_that_waits_knows_where_its_output_will_be(slurm, submit):
    job_id = submit("true", "--array=1-2", "--hold")
    task = slurm.jobs([job_id + "_2"])[job_id + "_2"]
    assert (task.state, task.array_index) == (JobState.HELD, 2)
    assert task.stdout is not None and task.stdout.endswith("/slurm-%s_2.out" % job_id)


def test_unknown_ids_are_values_among_the_others(slurm, submit):
    job_id = submit("true", "--hold")
    ids = ["99999", job_id, "workq", "--help", ""]
    found = slurm.jobs(ids)
    assert [found[one].state for one in ids] == [JobState.VANISHED, JobState.HELD] + [JobState.VANISHED] * 3
    assert slurm.jobs(["99999"])["99999"].state is JobState.VANISHED
    assert slurm.jobs([]) == {}


def test_changes_of_an_unknown_job_are_false(slurm):
    for job_id in ("99999", "99999_1", "--help", "1 2"):
        assert slurm.cancel(job_id) is False
        assert slurm.signal(job_id, "TERM") is False
        assert slurm.alter(job_id, {"TimeLimit": "5"}) is False


def test_a_job_name_can_look_like_anything_and_fools_nobody(slurm, submit):
    """Separators, fields, line ends and a whole other record in the name of a job."""
    job_id, other = submit("true", "--job-name", AWKWARD), submit("exit 4")
    found = ended(slurm, job_id, other)
    assert found[job_id].name == AWKWARD
    assert found[job_id].ending.exit_code == 0 and found[other].ending.exit_code == 4
    assert found[job_id].stdout.endswith("/slurm-%s.out" % job_id)


def test_a_signal_reaches_the_script(slurm, submit, tmp_path):
    job_id = submit("trap 'echo got it > got; exit 6' USR1\ntouch ready\nwhile :; do sleep 0.1; done")
    until = time.monotonic() + 30
    while not os.path.exists(tmp_path / "ready") and time.monotonic() < until:
        time.sleep(0.05)
    assert slurm.signal(job_id, "SIGUSR1") is True
    assert ended(slurm, job_id)[job_id].ending.exit_code == 6


def test_jobs_of_a_user_are_those_that_are_left_and_with_ended_the_others(slurm, submit):
    over, held = submit("true"), submit("true", "--hold")
    ended(slurm, over)
    left = {job.id for job in slurm.jobs_of(getpass.getuser())}
    everything = {job.id: job for job in slurm.jobs_of(getpass.getuser(), ended=True)}
    assert held in left and over not in left
    assert {held, over} <= set(everything)
    assert everything[over].ending.exit_code == 0 and everything[over].stdout
    assert slurm.jobs_of("nobody", ended=True) == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-p", "nope"], "invalid partition specified: nope"),
        (["--gpus-per-node=99"], "Requested node configuration is not available"),
        (["--bogus"], "unrecognized option '--bogus'"),
    ],
)
def test_a_refused_submission_gives_sbatchs_own_text_in_one_line(slurm, submit, options, text):
    with pytest.raises(SchedulerError) as caught:
        submit("true", *options)
    assert text in caught.value.text and caught.value.code in (1, 255)
    assert "\n" not in str(caught.value)


def test_nodes_partitions_and_cluster_are_values(slurm):
    nodes = {node.name: node for node in slurm.nodes()}
    first = nodes["a100x4-1"]
    assert (first.usable, first.cpus, first.gpus, first.memory_mib) == (True, 64, 4, 248832)  # what Slurm may give
    assert set(first.queues) == {"gpuA100x4", "gpuA100x4-interactive", "gpuA100x4-preempt"}
    queues = {queue.name: queue for queue in slurm.queues()}
    short = queues["gpuA100x4-interactive"]
    assert (short.accepts, short.starts, short.default, short.max_walltime, short.max_nodes) == (
        True,
        True,
        False,
        3600,
        4,
    )
    assert queues["gpuA100x4"].default and queues["gpuA100x4"].max_nodes is None
    assert slurm.server().name == "ncsadelta" and slurm.server().version[0].isdigit()


def test_a_controller_that_is_down_is_one_line_and_may_pass(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=gone\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nAuthType=auth/none\nCredType=cred/none\n"
        "NodeName=n\nPartitionName=p Nodes=n\nMessageTimeout=1\n" + plugin_line()
    )
    slurm = SlurmCommands(environ={"PATH": os.environ["PATH"], "SLURM_CONF": str(conf)}, timeout=3)
    with pytest.raises(SchedulerError) as caught:
        slurm.jobs(["1"])
    assert caught.value.transient and "\n" not in str(caught.value)


def test_time_that_runs_out_is_walltime(slurm, out_of_time):
    ending = ended(slurm, out_of_time)[out_of_time].ending
    assert ending is not None and (ending.reason, ending.exit_code) == (EndReason.WALLTIME, None)
