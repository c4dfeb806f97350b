"""The whole of what each command prints for programs, on a case of its own, byte for byte.

The files are what was printed before the shapes had types. A key that comes is written by `MAPLE_WRITE_JSON=1`; the
diff is what other programs see.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

import pytest

CASES = Path(__file__).parents[1] / "cases" / "json"
AT = 1_770_000_000  # seconds since 1970: when the answers are given


class Call(NamedTuple):
    """A call of `maple`, the files that it finds, and its exit code."""

    words: str
    files: dict[str, str]
    code: int


JOB = """\
#!/bin/bash
#SBATCH --partition=gpuA100x4
#SBATCH --account=abcd-delta-gpu
#SBATCH --job-name=sft
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --time=12:00:00
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d \\
    --rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$HOST:29500 train.py
"""
RIGHT = JOB.replace("--ntasks-per-node=4", "--ntasks-per-node=1")
DEALT = """\
#!/bin/bash
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
srun -m cyclic python pretrain_gpt.py --tensor-model-parallel-size 4
"""
LOG = """\
torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?
torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed.
srun: error: gpub002: task 4: Exited with exit code 1
"""  # noqa: E501
STEPS = "".join(
    f" [{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(AT - 60 + at))}] iteration {at:8}/    1000 | consumed samples:"
    f" {at * 8:12} | elapsed time per iteration (ms): 1000.0 | learning rate: 1.0E-05 | global batch size:     8 |"
    f" lm loss: {9 - at / 10:.6E} | loss scale: 1.0 | grad norm: 1.000 |\n"
    for at in range(10, 60, 10)
)
RUNS = (
    "JobID|User|JobName|WorkDir|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|AllocTRES|ReqMem|MaxRSS\n"
    + "".join(
        f"{at}|{{user}}|sft|{{folder}}|2026-01-0{at}T10:00:00|2026-01-0{at}T10:00:00|2026-01-0{at}T11:00:00|"
        f"{2600 + 20 * at}|720|COMPLETED|2|cpu=8|200G|{40 + at}G\n"
        for at in range(1, 5)
    )
)
ON_DELTA = "--site ncsa-delta"
CALLS = {
    "check": Call(f"check job.sh {ON_DELTA} --json", {"job.sh": JOB}, 1),
    "check-right": Call(f"check job.sh {ON_DELTA} --json", {"job.sh": RIGHT}, 1),
    "check-several": Call(f"check right.sh job.sh none.sh {ON_DELTA} --json", {"job.sh": JOB, "right.sh": RIGHT}, 2),
    "plan": Call(f"plan job.sh {ON_DELTA} --json", {"job.sh": RIGHT}, 0),
    "fix": Call(f"fix --log slurm.out --script job.sh {ON_DELTA} --json", {"job.sh": JOB, "slurm.out": LOG}, 0),
    "fix-unknown": Call(
        "fix --log slurm.out --site generic-slurm --state failed --exit-code 3 --json",
        {"slurm.out": "epoch 1\nabandoned\n"},
        1,
    ),
    "fix-applied": Call(
        f"fix --log slurm.out --script job.sh {ON_DELTA} --json --apply", {"job.sh": JOB, "slurm.out": LOG}, 0
    ),
    "progress": Call("progress train.log --json", {"train.log": STEPS}, 0),
    "progress-of-nothing": Call("progress train.log --json", {"train.log": "no step\n"}, 1),
    "progress-eta": Call("progress train.log --ask eta", {"train.log": STEPS}, 0),
    "forecast": Call(
        "forecast job.sh --sacct sacct.txt --site generic-slurm --json", {"job.sh": RIGHT, "sacct.txt": RUNS}, 0
    ),
    "forecast-of-nothing": Call(
        "forecast job.sh --sacct sacct.txt --site generic-slurm --json",
        {"job.sh": RIGHT, "sacct.txt": RUNS.splitlines()[0] + "\n"},
        1,
    ),
    "map": Call(f"map check job.sh {ON_DELTA} --json", {"job.sh": DEALT}, 1),
    "map-of-a-rendezvous": Call(f"map show job.sh {ON_DELTA} --json", {"job.sh": RIGHT}, 1),
    "new": Call(
        "new fine-tune~Llama-3.1-8B~with~ZeRO-3~on~4~nodes,~12~hours,~account~abcd-delta-gpu,~run~train.py"
        f" {ON_DELTA} --json",
        {},
        0,
    ),
    "new-lacking": Call(f"new train~with~FSDP~on~2~nodes,~run~train.py {ON_DELTA} --json", {}, 3),
}


@pytest.fixture
def at_a_time(monkeypatch):
    """The clock stands, in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: float(AT))
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", CALLS)
def test_the_whole_answer_is_as_it_was(name, maple, at_a_time, tmp_path):
    call = CALLS[name]
    for file, text in call.files.items():
        written = text.replace("{user}", _user()).replace("{folder}", str(tmp_path))
        (tmp_path / file).write_text(written)
        os.utime(file, (AT, AT))
    said = maple(*(word.replace("~", " ") for word in call.words.split()))
    printed = said.out.replace(str(tmp_path), "FOLDER")
    kept = CASES / f"{name}.json"
    if os.environ.get("MAPLE_WRITE_JSON"):
        kept.write_text(printed)
    assert (said.code, printed) == (call.code, kept.read_text()), said.err


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name
