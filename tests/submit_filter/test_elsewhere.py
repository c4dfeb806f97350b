"""What is to be changed in a file that the script calls is shown as a line of that file, and nothing is changed."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.answer.report import report
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\n#SBATCH --nodes=3 --ntasks-per-node=4 --gpus-per-node=4\nsrun bash wrap.sh python -u train.py\n"
WRAP = b"""#!/bin/bash
export MASTER_ADDR=$(hostname)
export MASTER_PORT=29733 WORLD_SIZE=$SLURM_NTASKS RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID
exec "$@"
"""


def _decided(script: bytes, **files: bytes) -> Decision:
    def read(path: bytes) -> bytes | None:
        return files.get(path.rpartition(b"/")[2].decode().replace(".", "_"))

    asked = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/work", 1, {})
    return decide(asked, GENERIC_SLURM, read, read)


def test_a_master_that_each_task_sets_for_itself_is_shown_in_its_file() -> None:
    """With the first node's name in place of the task's own."""
    decision = _decided(SCRIPT, wrap_sh=WRAP)
    (change,) = next(finding for finding in decision.findings if finding.code == "MPL502").elsewhere
    assert (change.file, change.line, change.was) == ("wrap.sh", 2, "export MASTER_ADDR=$(hostname)")
    assert change.becomes.startswith("export MASTER_ADDR=$(scontrol show hostnames")
    assert decision.repaired is None


def test_a_batch_that_does_not_fit_is_shown_in_its_file() -> None:
    """The whole batch, as the two other numbers and the ranks make it."""
    sizes = (
        b'{\n "train_batch_size": 64,\n "train_micro_batch_size_per_gpu": 4,\n "gradient_accumulation_steps": 4\n}\n'
    )
    script = b"#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=8 --ntasks-per-node=1\n"
    script += b"torchrun --standalone --nproc-per-node=8 train.py --deepspeed ds.json\n"
    decision = _decided(script, ds_json=sizes, train_py=b"")
    (finding,) = [finding for finding in decision.findings if finding.code == "MPL326"]
    assert report([finding], script, "job.sh")[-3:] == (
        "the change belongs in ds.json, line 2, which stays as it is:",
        '  -  "train_batch_size": 64,',
        '  +  "train_batch_size": 128,',
    )


@pytest.mark.parametrize(
    ("code", "wrong", "right"),
    [
        ("MPL503", b"--rdzv_id=$RANDOM", "--rdzv_id=$SLURM_JOB_ID"),
        ("MPL503", b'--rdzv_id "run-$RANDOM"', "--rdzv_id $SLURM_JOB_ID"),
        ("MPL335", b"--nproc_per_nodes=4", "--nproc_per_node=4"),
    ],
)
def test_an_option_that_a_called_script_says_is_shown_there(code: str, wrong: bytes, right: str) -> None:
    """With its value, or its name, as it should be; no byte of the script is pointed at."""
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
    script += b"export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\nsrun bash start.sh\n"
    rest = b" --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py\n"
    rest = rest if b"nproc" in wrong else b" --nproc_per_node=4" + rest
    decision = _decided(script, start_sh=b"#!/bin/bash\ntorchrun --nnodes=2 " + wrong + rest)
    (change,) = next(finding for finding in decision.findings if finding.code == code).elsewhere
    assert (change.file, change.line) == ("start.sh", 2)
    assert change.was.replace(wrong.decode(), right) == change.becomes
    assert all(edit.span.start >= 0 for finding in decision.findings for fix in finding.fixes for edit in fix.edits)


def test_an_option_that_stands_in_two_lines_is_left_to_its_owner() -> None:
    """Which of them is started is not known."""
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
    script += b"export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\nsrun bash start.sh\n"
    line = b"torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=$RANDOM --rdzv_backend=c10d"
    line += b" --rdzv_endpoint=$HEAD:29500 t.py\n"
    text = b"#!/bin/bash\nif false; then\n" + line + b"fi\n" + line
    assert not any(finding.elsewhere for finding in _decided(script, start_sh=text).findings)


def test_a_master_that_a_called_file_reads_is_set_in_front_of_its_line() -> None:
    """What the line hands the file as words is nothing that the tasks lack."""
    wrap = b"torchrun --nnodes=3 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT $1\n"
    script = SCRIPT.replace(b"node=4 --gpus", b"node=1 --gpus").replace(b"srun", b"PROGRAM=train.py\nsrun")
    decision = _decided(script.replace(b"python -u train.py", b'"$PROGRAM"'), wrap_sh=wrap)
    (finding,) = (finding for finding in decision.findings if finding.code == "MPL402")
    assert "PROGRAM" not in finding.says
    assert decision.offered is not None and b" MASTER_PORT=29500; srun" in (decision.offered.script or b"")


def test_a_port_that_each_task_draws_in_its_file_is_shown_there() -> None:
    """With one that the job's number gives, which is the same for all tasks."""
    drawn = b"$((20000 + RANDOM % 1000))"
    wrap = WRAP.replace(b"$(hostname)", b"$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)")
    decision = _decided(SCRIPT, wrap_sh=wrap.replace(b"29733", drawn))
    (change,) = next(finding for finding in decision.findings if finding.code == "MPL509").elsewhere
    assert (change.file, change.line) == ("wrap.sh", 3)
    assert change.was.replace(drawn.decode(), "$((20000 + $SLURM_JOB_ID % 20000))") == change.becomes
    assert decision.repaired is None


def test_ranks_of_slurm_that_a_program_reads_are_shown_by_their_other_names() -> None:
    """One line for each that reads one, by its number in the file, and none that is a comment."""
    program = b"""import os

# SLURM_PROCID: "SLURM_PROCID"
import torch.distributed as dist
rank, local = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_LOCALID"])
dist.init_process_group("nccl", rank=rank, world_size=int(os.environ.get('SLURM_NTASKS')))
"""
    script = b"#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=4 --ntasks-per-node=1\n"
    decision = _decided(script + b"srun torchrun --standalone --nproc-per-node=4 train.py\n", train_py=program)
    first, second = next(finding for finding in decision.findings if finding.code == "MPL323").elsewhere
    assert (first.line, first.becomes) == (5, 'rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])')
    assert (second.line, second.becomes[-34:]) == (6, "int(os.environ.get('WORLD_SIZE')))")
