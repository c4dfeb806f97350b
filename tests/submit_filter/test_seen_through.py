"""What only starts the program behind it hides no mistake of the launch line."""

from __future__ import annotations

import pytest

from tests.reality.asked import ask
from tests.reality.corpus import Case

SCRIPT = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4
M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
LINE
"""
TORCHRUN = "torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$M:29500 train.py"
WRAPPED = (
    "srun {}", "exec srun {}", 'srun env -i PATH="$PATH" {}', "srun docker run --rm --gpus all --network host img {}",
    "srun docker run --rm --gpus=all -e NCCL_DEBUG=INFO --ipc=host img {}", "srun nerdctl run --gpus all img {}",
    "srun podman run --rm --device nvidia.com/gpu=all --net=host img {}", "srun podman run --gpus all img {}",
    'srun docker run --gpus all img bash -c "{}"', "srun chrt -b 0 {}", "srun prlimit --memlock=unlimited {}",
    "srun unbuffer {}", "srun py-spy record -o p.svg -- {}", "srun pdm run {}", "srun rye run {}", "srun tau_exec {}",
    "srun omnitrace-run -- {}", "timeout 3h srun {}", "srun stdbuf -oL {}",
)  # fmt: skip


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_too_many_launchers_are_found_behind_it(wrapped: str, tmp_path: object) -> None:
    """Four torchruns a node, each of which starts the ranks of a node."""
    script = SCRIPT.replace("LINE", wrapped.format(TORCHRUN))
    case = Case("broken/wrapped", "generic-slurm", script.encode(), ("{}",), False, (), False)
    assert "MPL301" in {finding.code for finding in ask(case, str(tmp_path)).decision.findings}


def test_what_docker_execs_is_in_a_container_that_nobody_saw(tmp_path: object) -> None:
    """It was started elsewhere: nothing is said of it."""
    script = SCRIPT.replace("LINE", "srun docker exec box " + TORCHRUN)
    case = Case("right/exec", "generic-slurm", script.encode(), ("{}",), False, (), False)
    assert not ask(case, str(tmp_path)).decision.findings
