"""The caller's own job that failed last: what Maple remembers, the controller, accounting, PBS; whoever knows most."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from maple_agents.ask.memory import versions
from maple_agents.ask.schedulers.pbs.jobs import job_of
from maple_agents.ask.schedulers.protocol import Job, SchedulerError
from maple_agents.diagnose.gather import which_job as last
from maple_agents.diagnose.gather.which_job import Last, last_failed
from maple_agents.verify.exchange.command_line import job_name
from maple_submit_filter.types.job_records import Outcome, Record

from tests.lab import Lab

HERE = getpass.getuser()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No service remembers anything."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")


class Pbs:
    """A PBS that has these jobs in its history."""

    name = "pbs"

    def __init__(self, *jobs: Job) -> None:
        self._jobs = jobs

    def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
        """Those of that user."""
        return [one for one in self._jobs if one.owner == user]


def pbs_job(job: str, code: str, ended: int, **more: str) -> Job:
    """A job that ended then."""
    told = {"job_state": "F", "substate": "93", "Exit_status": code, "obittime": str(ended), "Job_Name": "train"}
    return job_of(job, {**told, "Job_Owner": HERE + "@h", **more})


def of_pbs(*jobs: Job) -> Last | None:
    """The last one that failed there."""
    return last_failed({}, Pbs(*jobs))  # type: ignore[arg-type]


def test_the_one_that_ended_last_of_those_that_failed_is_taken() -> None:
    """Not one that succeeded, was deleted, goes on, was read on a terminal, or is one of `maple verify`."""
    failed = pbs_job("31.pbs01", "1", 200)
    others = (
        pbs_job("30.pbs01", "1", 100),
        pbs_job("32.pbs01", "0", 300),
        pbs_job("33.pbs01", "271", 400, substate="91"),
        pbs_job("34.pbs01", "1", 500, interactive="True"),
        pbs_job("35.pbs01", "", 0, job_state="R"),
        pbs_job("36.pbs01", "1", 600, Job_Owner="somebody@h"),
        pbs_job("37.pbs01", "1", 600, Job_Name=job_name("pbs", "0123abcd")),
        pbs_job("38.pbs01", "1", 600, Job_Name=job_name("slurm", "0123abcd")),
    )
    assert of_pbs(*others[:1], failed, *others[1:]) == Last("31.pbs01", "train", "failed", 200)
    assert of_pbs(*others[1:]) is None
    assert of_pbs(failed, pbs_job("40.pbs01", "-29", 700)) == Last("40.pbs01", "train", "timeout", 700)


def test_a_task_tells_of_its_array() -> None:
    """Whoever looks at the array is shown the task that failed first."""
    assert of_pbs(pbs_job("39[3].pbs01", "1", 200)) == Last("39[].pbs01", "train", "failed", 200)


def test_nobody_to_ask_and_nobody_who_answers_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no service, no scheduler here, or one that refuses, hangs, or talks nonsense."""
    assert last_failed({"PATH": "/proc/nowhere", "PBS_CONF_FILE": "/proc/nowhere"}) is None
    monkeypatch.setattr(last, "SECONDS", 0.05)

    class Wrong(Pbs):
        """It answers late, or with a mistake."""

        error: Exception | None = None

        def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
            """Fail."""
            if self.error is not None:
                raise self.error
            time.sleep(0.5)
            return [pbs_job("30.pbs01", "1", 100)]

    for error in (SchedulerError("qstat", "down", "wait"), ValueError("x"), TimeoutError(), None):
        wrong = Wrong()
        wrong.error = error
        assert last_failed({}, wrong) is None  # type: ignore[arg-type]


def record(job: str, state: str, ended: float) -> Record:
    """What Maple remembers of a submission."""
    outcome = Outcome(job, state, os.getuid(), "test", 1, ended=ended, name="kept.sh")
    return Record("r", "v", os.getuid(), 1.0, "h", 1, 1, "observe", "", (), "memory", job=job, outcome=outcome)


def test_what_maple_remembers_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler may have forgotten it, and may know of a later one that did not go through Maple."""
    rows: Sequence[Record] = [
        record("8", "completed", 900),
        record("7_2", "out-of-memory", 250),
        record("6", "failed", 1),
    ]
    monkeypatch.setattr(versions, "records", lambda limit: list(rows))
    kept = Last("7", "kept.sh", "out-of-memory", 250)
    assert of_pbs() == kept and of_pbs(pbs_job("30.pbs01", "1", 100)) == kept
    later = of_pbs(pbs_job("31.pbs01", "1", 300))
    assert later is not None and later.job == "31.pbs01"


def test_what_the_controller_has_forgotten_accounting_knows(tmp_path: Path) -> None:
    """A step on a terminal is no job that anybody looks for; accounting is asked for one's own that failed."""
    rows = (
        ("50", "a b", "FAILED", "1:0", "1763670000", "sbatch job.sh"),
        ("51_3", "many", "OUT_OF_MEMORY", "0:125", "1763680000", "/usr/bin/sbatch -a 1-4 job.sh"),
        ("52", "bash", "FAILED", "1:0", "1763690000", "srun --pty bash"),
        ("53", "interactive", "FAILED", "1:0", "1763690000", "/usr/bin/salloc -N1"),
        ("54", "q", "CANCELLED by 7", "0:15", "1763690000", "sbatch job.sh"),
    )
    names = ["JobID", "JobName", "State", "ExitCode", "End", "SubmitLine"]
    (tmp_path / "sacct").write_text(
        "#!/usr/bin/env python3\nimport sys\nnames, rows = %r, %r\n"
        "if '-s' in sys.argv and '-S' in sys.argv and '-E' not in sys.argv: sys.exit()  # the end is the start then\n"
        "if '--helpformat' in sys.argv: print(' '.join(names)); sys.exit()\n"
        "mark = [a for a in sys.argv if a.startswith('--delimiter=')][0][12:]\n"
        "assert sys.argv[sys.argv.index('-u') + 1] == %r and '-X' in sys.argv\n"
        "for row in rows: print(''.join(one + mark for one in row))\n" % (names, rows, HERE)
    )
    for name in ("squeue", "scontrol"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
    for file in tmp_path.iterdir():
        file.chmod(0o755)
    environ = {"PATH": "%s:/usr/bin:/bin" % tmp_path, "PBS_CONF_FILE": "/proc/nowhere"}
    assert last_failed(environ) == Last("51", "many", "out-of-memory", 1763680000)


def test_on_a_real_slurm_the_last_batch_job_is_found(small_lab: Lab, tmp_path: Path) -> None:
    """A job that failed in an allocation on the terminal is not it."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\nexit $1\n")
    tmp_path.chmod(0o755)
    ids = {}
    for name, code in (("first", "1"), ("sec ond", "3"), ("well", "0")):
        made = small_lab.sbatch("-J", name, "job.sh", code, cwd=str(tmp_path))
        assert made.id is not None and small_lab.wait(made.id, timeout=60)
        ids[name] = str(made.id)
    assert small_lab.run(["srun", "-N1", "false"]).returncode == 1
    found = last_failed(small_lab.environment())
    assert found is not None and found[:3] == (ids["sec ond"], "sec ond", "failed")
    assert found.ended is not None
