"""A value that nothing reads is no finding: which options of a launcher are passed over beside which others.

What is expected here was asked of torch 2.13.0 and accelerate 1.15.0 themselves, with the same words.
"""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

HEAD = b"""#!/bin/bash
#SBATCH --nodes=%d
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
LOST=$HEAD
"""
PASSED_OVER = [  # nodes, launcher and options
    (1, "torchrun --standalone --rdzv-endpoint=$MASTER_ADDR:29500"),
    (1, "torchrun --standalone --rdzv-endpoint=$LOST:29500"),
    (1, "torchrun --standalone --rdzv-endpoint="),
    (1, "torchrun --standalone --rdzv-backend=c10d --rdzv-id=1 --rdzv-endpoint=$LOST"),
    (1, "torchrun --standalone --master-addr=$LOST"),
    (1, "torchrun --standalone --nnodes=1 --master_addr=$LOST --rdzv_endpoint=$LOST:1"),
    (2, "torchrun --standalone --rdzv-endpoint=$LOST:29500"),
    (1, "torchrun --nnodes=1 --master-addr=$LOST"),
    (1, "torchrun --nnodes=1 --rdzv-backend=c10d --rdzv-endpoint=$LOST"),
    (1, "torchrun --nnodes=1 --rdzv-backend=c10d --rdzv-endpoint=localhost:29500 --master-addr=$LOST"),
    (2, "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 --master-addr=$LOST"),
    (2, "torchrun --nnodes=2 --node-rank=$SLURM_NODEID --rdzv-endpoint=$HEAD:29500 --master-addr=$LOST"),
    (2, "torchrun --nnodes=2 --node-rank=$SLURM_NODEID --rdzv-endpoint=$LOST --master-addr=$HEAD --master-port=29500"),
    (1, "accelerate launch --num_machines=1 --num_processes=4 --main_process_ip=$LOST --machine_rank=0"),
    (1, "deepspeed --num_gpus=4 --master_addr=$LOST"),
]
READ = [
    (1, "torchrun --standalone --master-port=$LOST"),
    (1, "torchrun --standalone --node-rank=$LOST"),
    (1, "torchrun --standalone --nnodes=$LOST"),
    (1, "torchrun --standalone --master-addr $LOST --nnodes=1"),
    (1, "torchrun --nnodes=1 --master-addr=$LOST --master-port=29500"),
    (1, "torchrun --nnodes=1 --rdzv-backend=c10d --rdzv-endpoint=$LOST:29500"),
    (1, "torchrun --nnodes=1 --rdzv-backend=c10d --rdzv-endpoint=localhost:29500 --node-rank=$LOST"),
    (2, "torchrun --nnodes=2 --node-rank=$SLURM_NODEID --master-addr=$LOST --master-port=29500"),
    (2, "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$LOST:29500"),
    (2, "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$LOST"),
    (1, "accelerate launch --num_machines=1 --num_processes=4 --main_process_port=$LOST --machine_rank=0"),
    (2, "accelerate launch --num_machines=2 --num_processes=8 --main_process_ip=$LOST --machine_rank=$SLURM_NODEID"),
]


def proven(nodes: int, line: str) -> list[str]:
    """What is certain of the line, in a shell of the task where LOST is empty."""
    workers = " --nproc-per-node=4" if line.startswith("torchrun") else ""
    script = HEAD % nodes + b"srun bash -c '%s train.py'\n" % (line + workers).encode()
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})
    return [one.code for one in decide(asked, GENERIC_SLURM, None).findings if one.proven]


@pytest.mark.parametrize(("nodes", "line"), PASSED_OVER)
def test_an_empty_value_that_nothing_reads_is_no_finding(nodes: int, line: str) -> None:
    """Another option replaces it, or one node does without."""
    assert proven(nodes, line) == []


@pytest.mark.parametrize(("nodes", "line"), READ)
def test_an_empty_value_that_is_read_is_found(nodes: int, line: str) -> None:
    """Numbers are read whether they count or not."""
    assert proven(nodes, line) == ["MPL402"]
