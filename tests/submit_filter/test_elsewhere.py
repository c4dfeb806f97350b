"""What is to be changed in a file that the script calls is shown as a line of that file, and nothing is changed."""

from __future__ import annotations

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
