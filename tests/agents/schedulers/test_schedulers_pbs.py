"""PBS through libpbs: what the Protocol promises, on the double."""

from __future__ import annotations

import os
import threading

import pytest
from maple_agents.ask.schedulers import EndReason, JobState, SchedulerError
from maple_agents.ask.schedulers.pbs.libpbs import Pbs

from tests.doubles.libpbs import Scenario

RUNNING = {
    "Job_Name": "train",
    "Job_Owner": "alice@pbs01",
    "job_state": "R",
    "substate": "42",
    "queue": "workq",
    "Account_Name": "myproj",
    "exec_host": "node1/0*8+node2/0*8",
    "ctime": "1763670000",
    "stime": "1763670010",
    "Output_Path": "pbs01:/home/alice/run/train.o30",
    "Error_Path": "pbs01:/home/alice/run/train.e30",
    "Variable_List": "PBS_O_HOME=/home/alice,PBS_O_WORKDIR=/home/alice/run,A=007",
    "Submit_arguments": "<jsdl-hpcpa:Argument>-l</jsdl-hpcpa:Argument>"
    "<jsdl-hpcpa:Argument>select=2:ncpus=8</jsdl-hpcpa:Argument><jsdl-hpcpa:Argument>a &amp;  b</jsdl-hpcpa:Argument>",
}
QUEUED = {"job_state": "Q", "substate": "10", "Job_Name": "train", "Job_Owner": "alice@pbs01"}
EXITING = {**RUNNING, "job_state": "E", "substate": "51"}
OVER = {**RUNNING, "job_state": "F", "substate": "92", "Exit_status": "0", "mtime": "1763670100"}


def test_a_job_is_followed_from_the_queue_to_its_end(libpbs):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", QUEUED, RUNNING, EXITING, OVER)))
    states = [pbs.jobs(["30.pbs01"])["30.pbs01"].state for _ in range(5)]
    assert states == [JobState.QUEUED, JobState.RUNNING, JobState.EXITING, JobState.FINISHED, JobState.FINISHED]


def test_a_running_job_says_who_where_when_and_how_it_was_submitted(libpbs):
    job = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING))).jobs(["30"])["30"]
    assert (job.id, job.name, job.owner, job.queue, job.account) == ("30.pbs01", "train", "alice", "workq", "myproj")
    assert (job.nodes, job.work_dir) == (("node1", "node2"), "/home/alice/run")
    assert (job.stdout, job.stderr) == ("/home/alice/run/train.o30", "/home/alice/run/train.e30")
    assert (job.submitted, job.started, job.ended, job.ending) == (1763670000, 1763670010, None, None)
    assert job.submit_arguments == ("-l", "select=2:ncpus=8", "a &  b")
    assert job.attributes["Variable_List"].endswith("A=007") and not job.inexact


def test_a_job_that_the_server_forgets_has_vanished(libpbs):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", QUEUED, None)))
    assert [pbs.jobs(["30"])["30"].state for _ in range(2)] == [JobState.QUEUED, JobState.VANISHED]


def test_unknown_jobs_and_words_that_are_no_id_are_values_among_the_others(libpbs, calls):
    ids = ["30", "99.pbs01", "workq", "", "30,31", "-x"]
    found = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING).job("31.pbs01", RUNNING))).jobs(ids)
    assert [found[one].state for one in ids] == [JobState.RUNNING] + [JobState.VANISHED] * 5
    assert [line for line in calls() if "statjob" in line] == ["call statjob 0 30,99.pbs01"]


def test_all_jobs_are_asked_for_at_once(libpbs, calls):
    scenario = Scenario()
    for number in range(50):
        scenario.job("%d.pbs01" % number, RUNNING)
    found = Pbs(libpbs(scenario)).jobs(["%d" % number for number in range(50)])
    assert {job.state for job in found.values()} == {JobState.RUNNING}
    assert len([line for line in calls() if "call statjob" in line]) == 1


def test_a_list_that_is_refused_for_one_unknown_job_is_asked_for_singly(libpbs):
    scenario = Scenario().job("30.pbs01", RUNNING).fault("statjob", 15001, nth=1, text="Unknown Job Id")
    found = Pbs(libpbs(scenario)).jobs(["30", "99"])
    assert (found["30"].state, found["99"].state) == (JobState.RUNNING, JobState.VANISHED)


def test_a_server_without_history_is_asked_without(libpbs):
    text = "PBS is not configured to maintain job history"
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING).fault("statjob", 15138, nth=1, text=text)))
    assert pbs.jobs(["30"])["30"].state is JobState.RUNNING


def test_jobs_of_a_user_leave_out_others_and_those_over_unless_asked_for(libpbs):
    scenario = Scenario().job("1.pbs01", RUNNING).job("2.pbs01", OVER)
    pbs = Pbs(libpbs(scenario.job("3.pbs01", {**RUNNING, "Job_Owner": "bob@pbs01"})))
    assert [job.id for job in pbs.jobs_of("alice")] == ["1.pbs01"]
    assert [job.id for job in pbs.jobs_of("alice", ended=True)] == ["1.pbs01", "2.pbs01"]


def test_a_question_is_asked_once_more_on_a_new_connection_when_the_server_closed_ours(libpbs, calls):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING).fault("statjob", 15031, nth=2)))
    assert [pbs.jobs(["30"])["30"].state for _ in range(2)] == [JobState.RUNNING] * 2
    assert len([line for line in calls() if "call connect" in line]) == 2


def test_a_change_is_never_made_twice(libpbs, calls):
    """The connection closes under the deletion: 0 and error number 15031. Whether it was done nobody knows."""
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING).fault("deljob", 15031)))
    with pytest.raises(SchedulerError) as caught:
        pbs.cancel("30")
    assert caught.value.code == 15031 and caught.value.transient
    assert len([line for line in calls() if "call deljob" in line]) == 1


def test_cancel_signal_and_alter_of_a_job_that_is_not_there_or_over_are_false(libpbs, calls):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", OVER).job("31.pbs01", RUNNING)))
    for job_id, there in (("31", True), ("30", False), ("99", False), ("workq", False)):
        assert pbs.signal(job_id, "TERM") is there
        assert pbs.alter(job_id, {"Resource_List.walltime": "0:10:00"}) is there
        assert pbs.cancel(job_id) is there
    assert "call sigjob 0 31 SIGTERM" in calls()
    assert "call alterjob 0 31 Resource_List.walltime=0:10:00 op 0" in calls()


def test_a_refused_change_says_what_and_why(libpbs):
    scenario = Scenario().job("30.pbs01", RUNNING).fault("alterjob", 15007, result=15007, text="Unauthorized Request ")
    with pytest.raises(SchedulerError) as caught:
        Pbs(libpbs(scenario)).alter("30", {"Resource_List.walltime": "9:00:00"})
    assert str(caught.value) == (
        "altering job 30: Unauthorized Request (15007); "
        "only the owner or an operator may, and limits of a running job only go down"
    )


def test_nodes_queues_and_server_are_values(libpbs):
    node = {
        "state": "job-busy,offline",
        "resources_available.ncpus": "64",
        "resources_available.ngpus": "4",
        "resources_available.mem": "500gb",
        "comment": "broken fan",
    }
    limits = {"resources_max.walltime": "24:00:00", "resources_max.nodect": "10"}
    scenario = (
        Scenario()
        .thing("node", "node1", node)
        .thing("node", "node2", {"state": "free"})
        .thing("queue", "prod", {"enabled": "True", "started": "False", **limits})
        .thing("queue", "workq", {"enabled": "False", "started": "True"})
        .thing("server", "pbs01", {"pbs_version": "23.06.06", "default_queue": "workq"})
    )
    pbs = Pbs(libpbs(scenario))
    first, second = pbs.nodes()
    assert (first.states, first.usable, first.cpus, first.gpus) == (("job-busy", "offline"), False, 64, 4)
    assert (first.memory_mib, first.comment, second.usable) == (512000, "broken fan", True)
    prod, workq = pbs.queues()
    assert (prod.accepts, prod.starts, prod.default, prod.max_walltime, prod.max_nodes) == (
        True,
        False,
        False,
        86400,
        10,
    )
    assert (workq.accepts, workq.starts, workq.default, workq.max_walltime) == (False, True, True, None)
    assert (pbs.server().name, pbs.server().version) == ("pbs01", "23.06.06")


def test_a_library_that_hangs_is_given_up_in_time_and_the_next_question_works(libpbs):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING).slow("selstat", 2000)), timeout=0.2)
    with pytest.raises(SchedulerError, match="no answer after") as caught:
        pbs.jobs_of("alice")
    assert caught.value.transient
    pbs._timeout = 30  # the machine may be busy
    assert pbs.jobs(["30"])["30"].state is JobState.RUNNING


def test_a_server_that_always_hangs_does_not_gather_threads_without_end(libpbs):
    pbs = Pbs(libpbs(Scenario().slow("connect", 8000)), timeout=0.02)
    before = threading.active_count()
    texts = []
    for _ in range(12):
        with pytest.raises(SchedulerError) as caught:
            pbs.server()
        texts.append(caught.value.text)
    assert threading.active_count() - before <= 4
    assert "earlier questions are still unanswered" in texts[-1]


def test_an_adapter_works_in_a_child_and_still_in_the_parent(libpbs, calls):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING)))
    assert pbs.jobs(["30"])["30"].state is JobState.RUNNING
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 7 if pbs.jobs(["30"])["30"].state is JobState.RUNNING else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert pbs.jobs(["30"])["30"].state is JobState.RUNNING
    assert not [line for line in calls() if line.startswith("fault")]


def test_threads_share_an_adapter(libpbs, calls):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", RUNNING).slow("statjob", 2)))
    states: list[JobState] = []

    def ask() -> None:
        for _ in range(5):
            states.append(pbs.jobs(["30"])["30"].state)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert states == [JobState.RUNNING] * 30
    assert not [line for line in calls() if line.startswith("fault")]


def test_a_job_is_submitted_by_the_real_qsub_with_its_words_and_environment(libpbs, recorded, tmp_path):
    recorded.answer("qsub", ("*", "a line of the site\n31.pbs01\n", "", 0))
    pbs = Pbs(libpbs(Scenario()), qsub=str(recorded.folder / "qsub"))
    env = {"PATH": os.environ["PATH"], "ONLY": "this"}
    assert pbs.submit("/home/a/my job.sh", ["-l", "select=1; touch /tmp/x"], str(tmp_path), env) == "31.pbs01"
    assert recorded.called() == ["qsub [-l] [select=1; touch /tmp/x] [/home/a/my job.sh]"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (170, "qsub: Unknown queue"),
        (32, "qsub: Account required: use -A <project>.\nSecond line of the message."),
        (166, "qsub: Illegal attribute or resource value Resource_List.walltime"),
        (0, ""),
    ],
    ids=["queue", "hook", "value", "no id"],
)
def test_a_refused_submission_gives_qsubs_own_text_and_code(libpbs, recorded, code, text):
    recorded.answer("qsub", ("*", "", text + "\n", code))
    with pytest.raises(SchedulerError) as caught:
        Pbs(libpbs(Scenario()), qsub=str(recorded.folder / "qsub")).submit("job.sh")
    assert caught.value.code == code
    assert caught.value.text == text and "\n" not in str(caught.value)


def test_an_ending_is_only_told_of_a_job_that_is_over(libpbs):
    pbs = Pbs(libpbs(Scenario().job("30.pbs01", {**RUNNING, "Exit_status": "1"}, {**OVER, "Exit_status": "-29"})))
    first, second = (pbs.jobs(["30"])["30"] for _ in range(2))
    assert first.ending is None
    assert second.ending is not None and second.ending.reason is EndReason.WALLTIME
    assert second.ended == 1763670100
