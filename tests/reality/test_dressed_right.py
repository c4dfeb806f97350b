"""Right scripts with a line more that starts nothing: what a script asks, notes or prepares is no mistake."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.reality import blind

SETS = sorted((Path(__file__).parents[1] / "cases" / "blind").glob("*.toml"))
EACH = 6  # scripts of a set
LINES = (
    "horovodrun --check-build", "mpirun --version", "mpiexec -V", "torchrun --help > /dev/null 2>&1",
    "accelerate launch --help | head -n 3", "accelerate env", "ds_report", "module list 2>&1", 'echo "it is $(date)"',
    "set -x", "ulimit -l unlimited", "env | sort > env.txt", "printenv | grep -c SLURM || true", "mkdir -p logs",
    "python -c 'import torch; print(torch.__version__)'", "which python", "sleep 5", "export OMP_NUM_THREADS=8",
    "export TMPDIR=/tmp", 'cat "$0"', "# srun --nodes=4 \\", "# mpiexec -n 12 --ppn 4 \\", "hostname; date",
    "git log -1 --oneline || true", "df -h /tmp", "wandb offline", "rm -f *.tmp", "[ -d logs ] || mkdir logs",
    "trap 'echo done' EXIT", "export WANDB_MODE=offline NCCL_DEBUG=WARN", "lscpu | head -n 5", "nproc",
)  # fmt: skip
_STARTS = re.compile(r"(?:srun|torchrun|mpirun|mpiexec|ibrun|accelerate|deepspeed|python3?) ")


def dressed(script: str, line: str) -> str | None:
    """Return the script with *line* before its last launch line; None where that is no line of its own."""
    lines = script.split("\n")
    starts = [at for at, text in enumerate(lines) if at and _STARTS.match(text) and lines[at - 1][-1:] != "\\"]
    return "\n".join((*lines[: starts[-1]], line, *lines[starts[-1] :])) if starts and "<<" not in script else None


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_line_that_starts_nothing_changes_nothing(path: Path) -> None:
    """No finding more, and no script changed that was not; one line for each of some right scripts of a set."""
    chance = random.Random(path.stem)
    right = [case for case in blind.read(str(path)) if case.right]
    felt = {}
    for one in chance.sample(right, min(EACH, len(right))):
        line = chance.choice(LINES)
        script = dressed(one.case.script.decode(), line)
        if script is None:
            continue
        before, after = (
            blind.answered(case, one.files) for case in (one.case, one.case._replace(script=script.encode()))
        )
        more = {found.code for found in after.decision.findings} - {found.code for found in before.decision.findings}
        if more or after.changed and not before.changed:
            felt[one.case.name, line] = sorted(more)
    assert not felt
