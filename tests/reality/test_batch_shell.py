"""The batch shell that Maple reckons with holds what a real one holds, and calls nothing unset that Slurm sets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from maple_submit_filter.play.batch_shell import batch_shell, granted
from maple_submit_filter.play.shell_state import Shell
from maple_submit_filter.request.slurm import submission as slurm
from maple_submit_filter.rules.environment.mpl416_nearly_a_variable import is_set
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import plain

from tests.lab import GPU4, Shape
from tests.lab.lab import Lab

# What is no word of the scheduler's on the job: how the lab's own clients are told of their cluster.
_OF_THE_LAB = ("SLURM_CONF",)
REQUESTS = (
    "--nodes=1 --gres=gpu:4",
    "--nodes=2 --ntasks-per-node=2 --gres=gpu:2 --cpus-per-task=2",
    "--nodes=2 --ntasks=4 --gpus-per-node=4 --exclusive",
    "--nodes=1 --ntasks=2 --gpus=2 --cpus-per-gpu=1",
    "--nodes=1 --mem=100M --time=5 --job-name=x --array=0-1 --requeue --mail-type=NONE",
    "--nodes=1 --ntasks=4 --gpus-per-task=1 --gpu-bind=single:1 --overcommit --hint=nomultithread --comment=c",
    "--nodes=2 --ntasks-per-gpu=1 --gpus=4 --mem-per-gpu=50M --signal=B:USR1@60 --profile=none",
    "--nodes=1 --ntasks-per-socket=1 --ntasks-per-core=1 --sockets-per-node=1 --mem-per-cpu=20M --nice=5",
    "--nodes=1-2 --ntasks=3 --contiguous --no-kill --gpu-freq=low --gpus-per-node=1 --cpu-freq=low --no-requeue",
    "--nodes=1 --ntasks=2 --distribution=block --threads-per-core=1 --export=ALL,MINE=1 --chdir=.",
)


@pytest.mark.parametrize("request_", REQUESTS)
def test_nothing_that_slurm_sets_is_called_unset(request_: str, lab_of: Callable[[Shape], Lab], tmp_path: Path) -> None:
    """And what is known has that very value, host names and numbers of the job aside."""
    real = _real(request_, lab_of(GPU4), tmp_path)
    assert {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURMD_NODENAME"} <= set(real)
    assert [name for name in real if name.startswith("SLURM_") and not is_set(name.encode())] == []
    shell = _reckoned(request_, tmp_path)
    unset = [name for name in real if shell.value(name.encode()) is None]
    assert [name for name in unset if name not in _OF_THE_LAB] == []
    known = {name: shell.value(name.encode()) for name in real}
    wrong = {
        name: (value.raw, real[name])
        for name, value in known.items()
        if value is not None and value.literal and value.raw.decode() != real[name]
    }
    assert wrong == {}


def test_a_name_that_nobody_sets_is_unset(tmp_path: Path) -> None:
    """Or nothing would ever be found about names that are misspelled."""
    shell = _reckoned(REQUESTS[0], tmp_path)
    assert [shell.value(name) for name in (b"SLURM_NODE_ID", b"SLURM_LAUNCH_NODE_IPADDR", b"SLURM_NTASKS")] == [
        None
    ] * 3
    assert shell.value(b"SLURM_JOB_GPUS") == plain(b"0,1,2,3")


def _real(words: str, lab: Lab, folder: Path) -> dict[str, str]:
    """Return what the scheduler set in a batch shell."""
    folder.chmod(0o755)
    (folder / "job.sh").write_text("#!/bin/bash\nenv -0 > environment\n")
    sent = lab.sbatch(*words.split(), "job.sh", cwd=str(folder), env=lab.environment(), timeout=40)
    assert sent.id is not None, sent.stderr
    assert lab.wait(sent.id, 60).exit_code == 0
    pairs = (entry.partition("=") for entry in (folder / "environment").read_text().split("\0") if entry)
    return {name: value for name, _, value in pairs if name.startswith(("SLURM", "CUDA_", "GPU_", "ROCR_", "ZE_"))}


def _reckoned(words: str, folder: Path) -> Shell:
    """Return the shell that the plan of such a job begins with."""
    argv = tuple(os.fsencode(word) for word in ("sbatch", *words.split(), "job.sh"))
    asked = Submission("slurm", argv, b"#!/bin/bash\n", "file", b"job.sh", os.fsencode(folder), os.getuid(), {})
    script = slurm.read_script(asked.script or b"")
    settings = slurm.settings(slurm.read_argv(argv), {}, script)
    return batch_shell(asked, settings, granted(asked, settings, GENERIC_SLURM), GENERIC_SLURM, plain(b""), ())
