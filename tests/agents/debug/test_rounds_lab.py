"""Rounds on a real Slurm: a script with two mistakes needs two fixes, each seen to do its part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import Failure
from tests.agents.debug.lab.provoking import MAPLE_FIX, Provoked

TWO_MISTAKES = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --time=5
srun --ntasks=2 --cpus-per-task=16 python3 toy_two.py
"""
PROGRAM = "print('rank 0 of 1 trained')\n"


@pytest.mark.timeout(300)
def test_two_mistakes_take_two_rounds(tmp_path: Path) -> None:
    """The second mistake shows only once the first is mended; the job of the second round ends well."""
    failure = Failure("two", "rounds", TWO_MISTAKES, "srun_step_request", files={"toy-two.py": PROGRAM})
    tmp_path.chmod(0o755)
    with FailingLab() as lab:
        job = Provoked(lab, failure, tmp_path)
        number = job._submitted()
        lab.wait(number, 60)
        done = lab.run(
            [MAPLE_FIX, str(number), "--submit", "--rounds", "5", "--json"], env=job.env, cwd=str(tmp_path), timeout=200
        )
    told = json.loads(done.stdout)
    assert told["cause"]["class"] == "srun_step_request", done.stdout
    assert [one["cause"]["class"] for one in told["rounds"]] == ["file_not_found", "none"], done.stdout
    assert done.returncode == 0
    assert (tmp_path / "job.maple.sh").exists()
    assert (tmp_path / "job.maple-2.sh").exists()
    assert (tmp_path / "job.sh").read_text() == TWO_MISTAKES
