"""pyslurm in a child: whatever it does to its process, jobs are told, by it or by Slurm's commands."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from maple_agents.ask.schedulers import JobState, Pace, SchedulerError, choose, wait
from maple_agents.ask.schedulers.protocol import EndReason
from maple_agents.ask.schedulers.slurm import pyslurm_api
from maple_agents.ask.schedulers.slurm.commands import SlurmCommands
from maple_agents.ask.schedulers.slurm.pyslurm_api import PySlurm, is_installed
from maple_agents.forecast import accounting

from tests.agents.schedulers.conftest import Recorded
from tests.lab import GPU2X2

# A pyslurm of which a test says what it does when it is imported or asked.
DOUBLE = """
class RPCError(Exception):
    pass
class Job:
    def __init__(self, **told):
        self.__dict__.update(told)
    def __getattr__(self, name):
        if name == "exit_code":
            raise OverflowError("value too large to convert to int")
        return None
class Jobs(dict):
    @staticmethod
    def load():
        return Jobs(enumerate(loaded()))
def loaded():
    return [Job(id=7, name="train", user_name="ann", state="RUNNING", state_reason="None", partition="gpu",
                allocated_nodes="n[1-2]", working_directory="/w", submit_time=100, start_time=101, end_time=900,
                standard_output="/w/slurm-7.out", standard_error="/w/slurm-7.out", is_batch_job=True,
                exit_code=0, exit_code_signal=0),
            Job(id=8, user_name="bob", state="FAILED", state_reason="NonZeroExitCode", exit_code=3, exit_code_signal=0),
            Job(id=9, user_name="bob", state="CANCELLED", working_directory="/w"),
            Job(id=11, array_id=10, user_name="bob", state="COMPLETED", exit_code=0, exit_code_signal=0),
            Job(id=12, array_id=10, array_task_id=2, user_name="bob", state="FAILED", exit_code=0, exit_code_signal=9),
            Job(id=10, array_id=10, array_tasks_waiting="3-5", user_name="bob", state="PENDING", is_batch_job=True,
                working_directory="/w", standard_output="/w/slurm-10_4294967294.out")]
"""
DEADLY = {
    "segfault": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "exit": "raise SystemExit(0)",
    "exit at once": "import os; os._exit(0)",
    "another release": 'raise RuntimeError("Slurm version mismatch: requires Slurm 25.11, found 22.5")',
    "fatal": 'import os; os.write(2, b"python: fatal: Could not establish a configuration source\\n"); os._exit(1)',
    "hang": "import time; time.sleep(600)",
    "hang with a child": "import subprocess; subprocess.run(['sleep', '600'])",
    "noise": DOUBLE + '\nimport os\nos.write(1, b"loading...\\n")\ndef loaded(): raise KeyError("x")\n',
    "flood": "import os\nwhile True: os.write(2, b'x' * 65536)",
    "old": "class job: pass\nclass RPCError(Exception): pass\n",
    "no jobs": DOUBLE + "\ndef loaded(): return [Job()]\n",
}


START = """
import runpy, sys
sys.path.insert(0, %r)
sys.dont_write_bytecode = True  # the next double may be written within the same second
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def squeue_says(recorded: Recorded) -> None:
    """Let the commands know job 7 alone, as finished."""
    recorded.answer("squeue", ("--version", "slurm 24.11.5\n", "", 0), ("*--json*", _JSON, "", 0), ("*", "", "", 9))
    recorded.answer("sacct", ("*", "", "", 1))


_JSON = '{"jobs": [{"job_id": 7, "job_state": ["COMPLETED"], "user_name": "ann", "exit_code": {"return_code": 0}}]}'


@pytest.fixture
def pyslurm(tmp_path: Path, recorded: Recorded) -> Any:
    """Return a function that makes the adapter with a pyslurm that does as it is told."""
    squeue_says(recorded)

    def make(does: str, timeout: float = 20.0, environ: dict[str, str] | None = None) -> PySlurm:
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / "pyslurm.py").write_text(does)
        python = (sys.executable, "-I", "-c", START % str(tmp_path / "lib"))
        folder = None if environ else str(recorded.folder)
        return PySlurm(folder, timeout=timeout, python=python, environ=environ or dict(os.environ))

    return make


def test_jobs_are_told_by_one_child_and_no_command(pyslurm: Any, recorded: Recorded) -> None:
    """Arrays as a whole and by task."""
    scheduler = pyslurm(DOUBLE)
    found = scheduler.jobs(["7", "10", "10_0", "10_2", "10_4"])
    assert (found["7"].state, found["7"].nodes, found["7"].stdout) == (JobState.RUNNING, ("n1", "n2"), "/w/slurm-7.out")
    assert found["10_2"].ending.signal == 9
    assert (found["10_4"].state, found["10_4"].stdout) == (JobState.QUEUED, "/w/slurm-10_4.out")
    assert found["10"].state is JobState.QUEUED and found["10_0"].ending.reason is EndReason.COMPLETED
    assert (scheduler.via, scheduler.why_not, scheduler.name) == ("pyslurm", "", "slurm")
    assert recorded.called() == []


def test_an_exit_code_that_is_not_sure_comes_from_scontrol(pyslurm: Any, recorded: Recorded) -> None:
    """pyslurm says 3 of 131, too, and raises for some; what scontrol has forgotten is not known."""
    shown = "JobId=8 JobName=x\n   UserId=bob(1)\n   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=131:0\n"
    recorded.answer("scontrol", ("*", shown, "", 1))
    found = pyslurm(DOUBLE).jobs(["8", "9"])
    assert (found["8"].ending.exit_code, found["9"].ending.exit_code) == (131, None)
    assert found["9"].ending.reason is EndReason.CANCELLED
    recorded.answer("scontrol", ("*", "", "", 1))
    assert pyslurm(DOUBLE).jobs(["8"])["8"].ending.exit_code is None


def test_jobs_of_a_user_are_his(pyslurm: Any, recorded: Recorded) -> None:
    """Those that are over only where they are asked for."""
    scheduler = pyslurm(DOUBLE)
    assert [job.id for job in scheduler.jobs_of("ann")] == ["7"]
    assert {job.id for job in scheduler.jobs_of("bob")} == {"10_3", "10_4", "10_5"}
    recorded.answer("scontrol", ("*", "", "", 1))
    assert "8" in {job.id for job in scheduler.jobs_of("bob", ended=True)}


def test_a_job_that_pyslurm_does_not_know_is_looked_for_in_the_accounting(pyslurm: Any, recorded: Recorded) -> None:
    """Which no pyslurm asks."""
    assert pyslurm(DOUBLE).jobs(["99"])["99"].state is JobState.VANISHED
    assert [line.split()[0] for line in recorded.called()] == ["sacct"]


@pytest.mark.parametrize("does", DEADLY)
def test_a_child_that_fails_is_the_last_one(pyslurm: Any, does: str) -> None:
    """The commands answer, at once and from then on; why, is said in a line."""
    scheduler = pyslurm(DEADLY[does], timeout=2.0 if "hang" in does else 20.0)
    for _ in range(2):
        job = scheduler.jobs(["7"])["7"]
        assert (job.state, job.ending.exit_code) == (JobState.FINISHED, 0)
        assert scheduler.why_not and "\n" not in scheduler.why_not and scheduler.via == "Slurm's commands"
        scheduler._python = ("/proc/nowhere/never-started",)


def test_what_pyslurm_prints_itself_is_no_answer(pyslurm: Any) -> None:
    """It goes to stderr, and the jobs are told."""
    scheduler = pyslurm('import os\nos.write(1, b"loading...")\nprint("{}", flush=True)\n' + DOUBLE)
    assert (scheduler.jobs(["7"])["7"].state, scheduler.why_not) == (JobState.RUNNING, "")


def test_a_controller_that_refuses_is_asked_again_later(pyslurm: Any) -> None:
    """This question goes to the commands, the next one to pyslurm."""
    refused = DOUBLE + "\ndef loaded(): raise RPCError('Unable to contact slurm controller')\n"
    scheduler = pyslurm(refused)
    assert scheduler.jobs(["7"])["7"].state is JobState.FINISHED and not scheduler.why_not
    pyslurm(DOUBLE)
    assert scheduler.jobs(["7"])["7"].state is JobState.RUNNING


def test_where_neither_answers_it_is_an_error(pyslurm: Any, recorded: Recorded) -> None:
    """And no job has vanished."""
    recorded.answer("squeue", ("*", "", "squeue: error: Unable to contact slurm controller\n", 1))
    with pytest.raises(SchedulerError, match="Unable to contact"):
        pyslurm(DEADLY["segfault"]).jobs(["7"])


def test_what_the_user_has_in_his_path_is_not_imported(recorded: Recorded, tmp_path: Path) -> None:
    """Neither from PYTHONPATH nor from the folder that Maple runs in."""
    squeue_says(recorded)
    (tmp_path / "pyslurm.py").write_text("open(%r, 'w')\n" % str(tmp_path / "imported"))
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    scheduler = PySlurm(str(recorded.folder), environ=environ)
    assert scheduler.jobs(["7"])["7"].state is JobState.FINISHED
    assert not (tmp_path / "imported").exists() and (is_installed() or "No module named" in scheduler.why_not)


def test_it_is_chosen_where_it_is_installed(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody imports it to find out."""
    squeue_says(recorded)
    recorded.answer("scontrol", ("*", "", "", 0))
    environ = {"PATH": str(recorded.folder), "PBS_CONF_FILE": "/proc/nowhere"}
    monkeypatch.setattr(pyslurm_api, "is_installed", lambda: True)
    assert isinstance(choose(environ=environ), PySlurm) and "pyslurm" not in sys.modules
    monkeypatch.setattr(pyslurm_api, "is_installed", lambda: False)
    assert type(choose(environ=environ)) is SlurmCommands


# Its attributes by pyslurm's names, read of what a real Slurm says.
OF_A_REAL_SLURM = (
    DOUBLE
    + """
import json, subprocess
def plain(value):
    if isinstance(value, dict):
        return value["number"] if value.get("set") else 0
    return value[0] if isinstance(value, list) and value else value
def ended(code):
    if isinstance(code, dict) and "return_code" in code:  # 23.11 and later; before, a wait status
        return plain(code["return_code"]), plain(code["signal"]["id"])
    return (0 if code & 127 else code >> 8), code & 127
def loaded():
    words = ["squeue", "--states=all", "--json"]  # 22.05 gives them all in any case
    for told in json.loads(subprocess.run(words, capture_output=True, text=True).stdout)["jobs"]:
        code, signal = ended(told["exit_code"])
        one = {key: plain(value) for key, value in told.items() if key != "exit_code"}
        task = one["array_task_id"] if one["array_job_id"] and not one["array_task_string"] else None
        yield Job(id=one["job_id"], array_id=one["array_job_id"] or None, array_task_id=task,
                  array_tasks_waiting=one["array_task_string"] or None, name=one["name"], user_name=one["user_name"],
                  state=one["job_state"], state_reason=one["state_reason"], partition=one["partition"],
                  allocated_nodes=one["nodes"], working_directory=one["current_working_directory"],
                  submit_time=one["submit_time"], start_time=one["start_time"], end_time=one["end_time"],
                  command=one["command"], comment=one["comment"], is_batch_job=True,
                  exit_code=code % 128, exit_code_signal=signal)
"""
)


def test_on_a_real_slurm_it_says_what_the_commands_say(lab_of: Any, pyslurm: Any, tmp_path: Path) -> None:
    """Submitting, nodes and cancelling are the commands' own."""
    lab = lab_of(GPU2X2)
    scheduler = pyslurm(OF_A_REAL_SLURM, environ=lab.environment())
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\nexit 137\n")
    words = ["--time=5", "--mem=1", "-c1"]
    ids = [scheduler.submit(str(script), [*words, *more], "/tmp") for more in ([], ["--hold", "--array=1-3"])]
    commands = SlurmCommands(environ=lab.environment(), as_json=False)
    ended = wait(scheduler, ids[:1], time.monotonic() + 60, Pace(0.2, 1.0, 0.2))[ids[0]]
    assert (ended.state, ended.ending.exit_code, scheduler.why_not) == (JobState.FINISHED, 137, "")
    asked = [ids[0], ids[1], ids[1] + "_2"]
    for one, other in zip(scheduler.jobs(asked).values(), commands.jobs(asked).values(), strict=True):
        for field in dataclasses.fields(one):
            if field.name != "attributes":
                assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert scheduler.cancel(ids[1]) and len(scheduler.nodes()) == 2


# What slurmdbd remembers, by pyslurm's names (25.11): two steps, an array's task without a limit, one that waits.
OF_SLURMDBD = (
    DOUBLE
    + """
import sys
class Told(Job):
    def __getattr__(self, name):
        return None
class Filter(Told):
    pass
def held(memory):
    return Told(stats=Told(max_resident_memory=memory))
def of_base(**more):
    told = dict(user_name="ann", name="sft", working_directory="/w", submit_time=1000, start_time=1100, end_time=3740,
                elapsed_time=2640, time_limit=720, state="COMPLETED", num_nodes=2, memory=204800,
                gpus={"gres/gpu": Told(count=8)}, stats=Told(max_resident_memory=None), steps={})
    return Told(**{**told, **more})
class db:
    JobFilter = Filter
    class Jobs:
        @staticmethod
        def load(asked):
            told = [of_base(id=7, steps={0: held(50 << 30), "batch": held(1 << 30)}),
                    of_base(id=9, array_id=8, array_task_id=0, time_limit="PartitionLimit", state="TIMEOUT"),
                    of_base(id=10, state="PENDING", start_time=0, end_time=0), of_base(id=11, user_name="bob")]
            return dict(enumerate(job for job in told if not asked.users or job.user_name in asked.users))
"""
)


def test_slurmdbd_is_asked_through_pyslurm(pyslurm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As sacct would tell it: the most of all steps, an array's task, no limit where there is none; nobody else's."""
    monkeypatch.setattr(pyslurm_api, "is_installed", lambda: True)
    rows = pyslurm_api.accounted({"users": ["ann"], "start_time": 900}, 20.0, pyslurm(OF_SLURMDBD)._python)
    assert rows is not None
    whole, cut = accounting.of_rows(rows)
    assert (whole.job, whole.seconds, whole.state, whole.memory) == ("7", 2640, "completed", 50 << 30)
    assert (whole.asked.limit, whole.asked.memory, whole.asked.work.gpus) == (43200, 100 << 30, 8)
    assert (whole.asked.folder, whole.asked.submitted, whole.ended) == ("/w", 1000, 3740)
    assert (cut.job, cut.state, cut.asked.limit, cut.memory) == ("8_0", "timeout", None, None)


@pytest.mark.parametrize("does", [*DEADLY, "an answer of another form"])
def test_a_pyslurm_that_cannot_tell_of_ended_jobs_tells_nothing(
    pyslurm: Any, does: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever becomes of the child; then sacct is asked."""
    monkeypatch.setattr(pyslurm_api, "is_installed", lambda: True)
    text = DEADLY.get(does, "import os\nos.write(1, b'{\"rows\": [3]}'); os._exit(0)")
    assert pyslurm_api.accounted({}, 2.0 if "hang" in does else 20.0, pyslurm(text)._python) is None
    monkeypatch.setattr(pyslurm_api, "is_installed", lambda: False)
    assert pyslurm_api.accounted({}, 20.0, ("/proc/nowhere/never-started",)) is None
