"""What follows from advice is made unasked only where no right script can feel it."""

from __future__ import annotations

from typing import Optional

import pytest
from maple_submit_filter.answer.decision import decide, examined, understood
from maple_submit_filter.repair.harmless import eased
from maple_submit_filter.repair.search import Again, State
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.submission import Submission

HEAD = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --time=01:00:00
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
"""
RUN = b"torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py\n"


def asked(script: bytes) -> Submission:
    """Return it as it is submitted by `sbatch job.sh`."""
    return Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})


def decided(script: bytes) -> Optional[bytes]:
    """Return the script that is submitted unasked, None where it is as written."""
    made = decide(asked(script), GENERIC_SLURM, None).repaired
    return made.script if made is not None else None


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        (b"srun --gpu-bind=closest ", b"srun --gpu-bind=none "),
        (b"srun --gpu-bind=single:1 ", b"srun --gpu-bind=none "),
        (b"srun --gpus-per-task=1 ", b"srun --gpus-per-task=4 "),
        (b"srun apptainer exec a.sif ", b"srun apptainer exec --nv a.sif "),
        (b"srun apptainer exec --cleanenv --bind /w a.sif ", None),  # advice that a right script may feel
    ],
)
def test_what_no_right_script_can_feel_is_made_unasked(line: bytes, becomes: Optional[bytes]) -> None:
    """And it is said to be made, though it is not proven to be needed."""
    want = HEAD + becomes + RUN if becomes is not None else None
    made = decided(HEAD + line + RUN)
    assert made == want or (want is None and made is not None and b"--cleanenv" in made)


def test_a_binding_that_other_lines_live_by_stays() -> None:
    """Ranks of a second line have a task each, and are bound as they should be."""
    script = HEAD.replace(b"\nHEAD", b"\n#SBATCH --gpu-bind=closest\nHEAD")
    other = b"srun --ntasks=8 --ntasks-per-node=4 --gpus-per-task=1 python eval.py\n"
    assert decided(script + b"srun " + RUN) == script.replace(b"=closest", b"=none") + b"srun " + RUN
    assert decided(script + b"srun " + RUN + other) is None


def test_a_task_that_needs_fewer_than_all_gpus_stays_bound() -> None:
    """It may be bound to those that it needs."""
    assert decided(HEAD + b"srun --gpu-bind=closest " + RUN.replace(b"node=4", b"node=2")) is None


def of_total(gpus: int) -> bytes:
    """Return the script with a total of GPUs for its eight ranks."""
    return (HEAD + b"srun " + RUN).replace(b"--gpus-per-node=4", b"--gpus=%d" % gpus)


@pytest.mark.parametrize("gpus", [2, 5, 8])
def test_a_total_that_is_not_one_nodes_worth_is_no_slip(gpus: int) -> None:
    """Two GPUs for eight ranks may as well mean fewer ranks; eight are enough."""
    assert decided(of_total(gpus)) is None
    assert decided(of_total(4)) == of_total(8)


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        (b"--time=01:00:00", b"--time=01:00:01", True),
        (b"--nodes=2", b"--nodes=1", False),  # asks for less
        (b"--nproc-per-node=4", b"--nproc-per-node=2", False),  # another world
        (b"srun torchrun", b"true torchrun", False),  # a line that starts nothing any more
    ],
)
def test_a_rule_is_not_believed_where_the_job_says_otherwise(old: bytes, new: bytes, made: bool) -> None:
    """A fix that calls itself harmless and changes what is asked for or what starts is not made."""
    script = HEAD + b"srun " + RUN
    at = script.index(old)
    fix = Fix((Edit(Span(at, at + len(old)), new, "MPL999"),), Safety.ASK, "say so", harmless=True)
    advice = Finding("MPL999", "likely", Span(at, at + len(old)), fixes=(fix,))

    def again(job: Job, source: bytes, argv: tuple[bytes, ...]) -> Optional[State]:
        changed = understood(job.submission._replace(script=source, argv=argv), None)
        return examined(changed, GENERIC_SLURM) if changed is not None else None

    def tried(start: State, by: Again) -> bool:
        return eased(start._replace(findings=(advice,)), by) is not None

    job = understood(asked(script), None)
    assert job is not None
    assert tried(examined(job, GENERIC_SLURM), again) is made
