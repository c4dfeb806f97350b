"""Which mini-app fits, which ranks count, and where the folder stands."""

from __future__ import annotations

import pytest
from maple_agents.verify.exchange.exchange import fit, needs
from maple_agents.verify.judge.sanity import warnings_of
from maple_agents.verify.run.runs import Stage
from maple_agents.verify.run.workplace import shared_first

from tests.agents.verify.planned import DRY, fact, run_of, state

MOUNTS = [
    "/dev/sda / ext4 rw 0 0",
    "tmpfs /tmp tmpfs rw 0 0",
    "fs:/home /home nfs4 rw 0 0",
    "mgs:/l /lustre lustre rw 0 0",
]


@pytest.mark.parametrize(
    ("line", "text", "app"),
    [
        ("srun python train.py", "import torch", "ddp"),
        ("srun torchrun train.py", "from torch.distributed.fsdp import fully_shard", "fsdp"),
        ("srun accelerate launch train.py", "", "accelerate_ddp"),
        ("srun accelerate launch --use_fsdp train.py", "", "fsdp"),
        ("srun deepspeed train.py", "", "zero3"),
        ("srun torchrun train.py --deepspeed ds.json", "", "zero3"),
        ("srun torchrun pretrain.py --tensor-model-parallel-size 4", "", "three_d"),
    ],
)
def test_the_launch_line_and_the_programs_text_choose_the_mini_app(line, text, app):
    (step,) = state(f"{line}\n".encode()).plan.steps
    assert fit(step, "auto", lambda _: text.encode(), False).name == app
    assert fit(step, "dry", lambda _: text.encode(), False).name == "dry"


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        (b"dist.init_process_group('nccl')", True),
        (b"rank = os.environ['SLURM_PROCID']\ndist.init_process_group('nccl')", False),
        (b"import lightning\ndist.init_process_group()", False),
        (b"", False),
    ],
)
def test_only_rank_counts_where_the_program_reads_nothing_else(text, strict):
    (step,) = state(b"srun python train.py\n").plan.steps
    assert fit(step, "auto", lambda _: text, False).strict is strict
    assert fit(step, "auto", lambda _: text, True).strict


def test_what_a_mini_app_and_a_program_import_is_known():
    (step,) = state(b"srun python train.py\n").plan.steps
    assert fit(step, "auto", lambda _: b"import torch\nfrom accelerate import A\n", False).imports == (
        "torch",
        "accelerate",
    )
    assert (needs("zero3"), needs("ddp"), needs("dry")) == (("torch", "deepspeed"), ("torch",), ())


def test_a_mini_app_that_was_not_run_is_told():
    run = run_of([fact(rank) for rank in range(4)], stages=(DRY, Stage("ddp", 5.0, False)))
    assert "ddp was not run, for /usr/bin/python3 has no torch" in [warning.says for warning in warnings_of(run)]


def test_a_folder_that_the_nodes_see_comes_first():
    assert shared_first(["/tmp/x", "/lustre/y", "/home/z"], MOUNTS) == ["/lustre/y", "/home/z", "/tmp/x"]
    assert shared_first(["/tmp/x", "/var/y"], MOUNTS) == ["/tmp/x", "/var/y"]
    assert shared_first(["/a"], []) == ["/a"]
