"""Rounds whose fixes mini-apps prove, after a yes at a terminal: the job itself is not submitted again."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import Failure
from tests.agents.debug.lab.provoking import MAPLE_FIX, Provoked

NODES = "$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)"
TWO_MISTAKES = f"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --time=10:00
export MASTER_ADDR={NODES}.cluster MASTER_PORT=29611
srun --cpus-per-task=64 bash -c 'export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID; exec python train.py'
"""  # noqa: E501


def at_a_terminal(words: list[str], env: Mapping[str, str], cwd: Path, says: bytes) -> tuple[int, str]:
    """Run a command whose standard input and error are a terminal, type *says*, and return its code and output."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, says)
        with subprocess.Popen(
            words, env=env, cwd=cwd, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True
        ) as asked:
            os.close(theirs)
            drain = threading.Thread(target=_drained, args=(ours,), daemon=True)
            drain.start()
            try:
                out = asked.communicate(timeout=300)[0]
            finally:
                asked.kill()
                drain.join(10)  # what holds the terminal is ended: a later read would be one of another test's file
        return asked.returncode, out.decode()
    finally:
        os.close(ours)


def _drained(terminal: int) -> None:
    """Read what is drawn on a terminal, which else would stand still when it is full."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 4096):
            pass


@pytest.mark.timeout(400)
def test_two_mistakes_of_the_launch_are_proven_by_miniapps(failing_lab: FailingLab, tmp_path: Path) -> None:
    """The step asks for too much, then nobody finds the master; the last copy is for the user to submit."""
    failure = Failure("launch", "rounds", TWO_MISTAKES, "srun_step_request")
    tmp_path.chmod(0o755)
    job = Provoked(failing_lab, failure, tmp_path)
    number = job._submitted()
    failing_lab.wait(number, 100)
    before = {one for one in os.listdir(tmp_path) if one.endswith(".out")}
    code, out = at_a_terminal([MAPLE_FIX, str(number), "--rounds", "5", "--json"], job.env, tmp_path, b"y\n")
    told = json.loads(out)
    assert told["cause"]["class"] == "srun_step_request", out
    assert [one["how"] for one in told["rounds"]] == ["mini-app", "mini-app"], out
    assert [one["cause"]["class"] for one in told["rounds"]] == ["hostname_resolution", "none"], out
    assert code == 0 and told["ended"] == {"how": "ran", "why": None, "first_try": False, "rounds": 2}
    assert {one for one in os.listdir(tmp_path) if one.endswith(".out")} == before
    assert (tmp_path / "job.sh").read_text() == TWO_MISTAKES


@pytest.mark.timeout(200)
def test_a_no_submits_nothing(failing_lab: FailingLab, tmp_path: Path) -> None:
    """The question has no as its answer."""
    tmp_path.chmod(0o755)
    job = Provoked(failing_lab, Failure("no", "rounds", TWO_MISTAKES, "srun_step_request"), tmp_path)
    number = job._submitted()
    failing_lab.wait(number, 100)
    before = sorted(os.listdir(tmp_path))
    code, _ = at_a_terminal([MAPLE_FIX, str(number), "--rounds", "5"], job.env, tmp_path, b"\n")
    assert code == 1
    assert [one for one in sorted(os.listdir(tmp_path)) if one not in before and one not in ("state", "cache")] == []
    assert failing_lab.show(number)["JobId"] == str(number)
