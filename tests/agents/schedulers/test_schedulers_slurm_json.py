"""What squeue says as JSON and as a table: on a real Slurm the same values."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import pytest
from maple_agents.ask.schedulers import JobState, SchedulerError
from maple_agents.ask.schedulers.slurm import json as slurm_json
from maple_agents.ask.schedulers.slurm.commands import SlurmCommands
from maple_agents.ask.schedulers.slurm.jobs import job_meant
from maple_agents.ask.schedulers.slurm.json import waiting_tasks

from tests.agents.schedulers.conftest import Recorded
from tests.lab import GPU2X2

AWKWARD = 'a b|c "quoted" é, ExitCode=9:9 %j\x1f'
JOBS = {  # of each: the words of sbatch
    "done": ["--output=out-%x-%j.log", "--error=%j.err", "--comment=my comment", "-N2", "--wrap", "true"],
    "failed": ["-J", AWKWARD, "--wrap", "exit 3"],
    "code 137": ["--wrap", "exit 137"],
    "signal": ["--wrap", "kill -9 $$"],
    "no output": ["--output=/dev/null/x", "--wrap", "true"],
    "array": ["--array=0-3%2", "--wrap", "exit $SLURM_ARRAY_TASK_ID"],
    "named": ["--output=%A-%a-%u-%N.log", "--array=1,3", "--wrap", "exit 1"],
    "held": ["--hold", "--wrap", "true"],
    "waiting array": ["--hold", "--array=0-8:2", "--output=%x.%j.%a", "--wrap", "true"],
    "later": ["--begin=now+1hour", "--wrap", "true"],
    "running": ["--wrap", "exec sleep 300"],
    "cancelled": ["--wrap", "exec sleep 300"],
    "heterogeneous": ["--hold", "-N1", "--wrap", "true", ":", "-N1"],
}


@pytest.fixture(scope="module")
def lab(lab_of: Any) -> Any:
    return lab_of(GPU2X2)


@pytest.fixture(scope="module")
def ids(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Submit them all, and wait until those that end have ended."""
    folder = tmp_path_factory.mktemp("jobs")
    found = {}
    for name, words in JOBS.items():
        said = lab.run(["sbatch", "--parsable", "--time=5", "--mem=1", "-c1", *words], cwd=str(folder))
        assert said.returncode == 0, said.stderr
        found[name] = said.stdout.strip()
    scheduler = SlurmCommands(environ=lab.environment(), as_json=False)
    lab.run(["scancel", found["cancelled"]])
    until = time.monotonic() + 60
    over = [found[name] for name in list(JOBS)[:7] + ["cancelled"]]
    while not all(job.over for job in scheduler.jobs(over).values()) and time.monotonic() < until:
        time.sleep(0.2)
    yield found
    lab.run(["scancel", *found.values()])


def compared(job: Any) -> dict[str, Any]:
    """Return a job without what a command prints beside the values: the raw fields, and the order of an array's."""
    return {field.name: getattr(job, field.name) for field in dataclasses.fields(job) if field.name != "attributes"}


@pytest.mark.parametrize("name", JOBS)
def test_json_and_table_are_the_same_values(lab: Any, ids: dict[str, str], name: str) -> None:
    """Of the whole job and of each task; so are the fields that both print."""
    job_id = ids[name]
    array = [one for one in JOBS[name] if one.startswith("--array=")]
    tasks = ["%s_%d" % (job_id, index) for index in waiting_tasks(array[0].removeprefix("--array="))] if array else []
    parts = ["%s+%d" % (job_id, offset) for offset in (0, 1)] if name == "heterogeneous" else []
    asked = [job_id, *tasks, *parts]
    one, other = (SlurmCommands(environ=lab.environment(), as_json=form).jobs(asked) for form in (True, False))
    assert {key: compared(job) for key, job in one.items()} == {key: compared(job) for key, job in other.items()}
    assert all(job.state is not JobState.VANISHED for job in one.values())
    for key in ("id", "name", "user", "state", "reason", "partition", "nodes", "work_dir", "submitted"):
        assert [job.attributes.get(key) for job in one.values()] == [job.attributes.get(key) for job in other.values()]


def test_the_jobs_of_a_user_are_the_same(lab: Any, ids: dict[str, str]) -> None:
    """With those that are over, and without."""
    import getpass

    for ended in (True, False):
        found = [
            {
                job.id: (job.state, job.name)
                for job in SlurmCommands(environ=lab.environment(), as_json=form).jobs_of(getpass.getuser(), ended)
            }
            for form in (True, False)
        ]
        assert found[0] == found[1] and (ids["held"] in found[0])
        assert (ids["done"] in found[0]) is ended


def test_a_release_that_gives_all_jobs_is_not_asked_for_json(lab: Any, recorded: Recorded) -> None:
    """22.05 gives the whole queue, whichever job is asked for; later ones what was asked for."""
    for version, asked in (
        ("slurm-wlm 22.05.8", False),
        ("slurm 23.02.1", True),
        ("slurm 24.11.5-1", True),
        ("", False),
    ):
        recorded.log.unlink(missing_ok=True)
        recorded.answer(
            "squeue", ("--version", version + "\n", "", 0), ("*--json*", '{"jobs": []}', "", 0), ("*", "", "", 0)
        )
        recorded.answer("scontrol", ("*", "", "", 0))
        recorded.answer("sacct", ("*", "", "", 1))
        assert SlurmCommands(str(recorded.folder)).jobs(["7"])["7"].state is JobState.VANISHED
        assert any("[--json]" in line for line in recorded.called()) is asked


@pytest.mark.parametrize(
    "answer",
    [
        ("", "squeue: unrecognized option '--json'\n", 1),
        ("{}", "", 0),
        ("[" * 100_000, "", 0),
        ('{"jobs": [{"job_id": 7}]}', "", 0),
        ('{"jobs": [{"job_state": "RUNNING"}]}', "", 0),
        ('{"jobs": [7]}', "", 0),
        ("\udcff\x1b[31m", "", 0),
    ],
    ids=["no option", "no jobs", "deep", "no state", "no id", "no job", "bytes"],
)
def test_where_json_cannot_be_read_the_table_is(recorded: Recorded, answer: tuple[str, str, int]) -> None:
    """And from then on JSON is not asked for."""
    recorded.answer("squeue", ("*--json*", *answer), ("*", "", "slurm_load_jobs error: Invalid job id specified\n", 1))
    recorded.answer("sacct", ("*", "", "", 1))
    scheduler = SlurmCommands(str(recorded.folder), as_json=True)
    for _ in range(2):
        assert scheduler.jobs(["7"])["7"].state is JobState.VANISHED
    assert sum("[--json]" in line for line in recorded.called()) == 1


@pytest.mark.parametrize(
    "down",
    [
        "squeue: error: Unable to contact slurm controller (connect failure)\n",
        "squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
        "squeue: fatal: Could not establish a configuration source\n",
    ],
)
def test_where_nobody_answers_nothing_has_vanished(recorded: Recorded, down: str) -> None:
    """An error is raised as it is without JSON, and JSON stays."""
    recorded.answer("squeue", ("*", "", down, 1))
    scheduler = SlurmCommands(str(recorded.folder), as_json=True)
    for count in (1, 2):
        with pytest.raises(SchedulerError, match="is slurmctld up") as error:
            scheduler.jobs(["7"])
        assert error.value.transient and sum("[--json]" in line for line in recorded.called()) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-3", [0, 1, 2, 3]),
        ("0-8:4,20%3", [0, 4, 8, 20]),
        ("7", [7]),
        ("1,2...", []),
        ("0-99999999", []),
        ("0-3:0", []),
        ("", []),
        ("x", []),
    ],
)
def test_tasks_that_wait(text: str, expected: list[int]) -> None:
    """Too many of them, or a list that was cut, are told as one."""
    assert waiting_tasks(text) == expected


def test_a_task_among_too_many_is_there_all_the_same() -> None:
    """It waits, and has not vanished."""
    row = {
        "job_id": 7,
        "array_job_id": 7,
        "array_task_string": "1,2...",
        "job_state": "PENDING",
        "state_reason": "Priority",
    }
    found = slurm_json.jobs(json.dumps({"jobs": [row]}))
    assert (job_meant("7_2", found).state, job_meant("7_2", found).array_index) == (JobState.QUEUED, 2)
    assert job_meant("7", found).state is JobState.QUEUED and job_meant("8_2", found).state is JobState.VANISHED


def test_output_that_slurm_filled_in_itself_is_believed(tmp_path: Path) -> None:
    """As releases since 24.05 do; an interactive job has none."""
    row = {"job_id": 7, "job_state": ["RUNNING"], "current_working_directory": "/w", "standard_output": "%5j.out"}
    told = [{**row, "stdout_expanded": "/w/00007.out"}, {**row, "batch_flag": False}]
    first, second = (slurm_json.jobs(json.dumps({"jobs": [one]}))[0] for one in told)
    assert (first.stdout, first.stderr, second.stdout) == ("/w/00007.out", "/w/00007.out", None)
