"""On a real Slurm: running jobs, their logs found by id, their limit, and totals from the script's arguments."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_agents.progress import job_logs
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.values import Progress

from tests.lab import Lab

LOOP = """#!/bin/bash
#SBATCH --time=5 --output=out-%j.log
export PATH=$SLURM_SUBMIT_DIR:$PATH
python train.py --max_steps 400
"""
PROGRAM = """#!/bin/bash
for step in $(seq 1 400); do echo "step $step loss 0.5"; sleep 0.1; done
"""


@pytest.fixture
def job(small_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A job that runs."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    os.chmod(tmp_path, 0o755)
    (tmp_path / "job.sh").write_text(LOOP)
    (tmp_path / "python").write_text(PROGRAM)
    (tmp_path / "python").chmod(0o755)
    made = small_lab.sbatch("job.sh", cwd=str(tmp_path))
    assert made.id is not None, made.stderr
    yield str(made.id)
    small_lab.cancel(int(made.id))


def _read(found: job_logs.JobLogs) -> Progress:
    return progress(found.files, formats(), time.time(), found.run, found.hints, found.ranks)


def test_a_running_job_is_found_with_its_log_and_its_limit(small_lab: Lab, job: str) -> None:
    """By its id, and among the running ones."""
    environ = small_lab.environment()
    deadline = time.monotonic() + 60
    while True:
        told = _read(job_logs.of_job(job, environ=environ))
        if told.course.step and told.course.step > 5:
            break
        assert time.monotonic() < deadline, told
        time.sleep(0.3)
    assert (told.run.job, told.run.state, told.run.limit) == (job, "running", 300)
    assert told.course.last is not None and told.course.last.text.startswith("step ")
    assert told.course.total is not None
    assert (told.course.total.steps, told.course.total.place.line) == (400, 4)
    assert [one.id for one in job_logs.running(environ=environ)] == [job]
