"""Mini-apps over the nodes of a real Slurm, each with a host name, an address and ports of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab
from tests.miniapps.schema import wrong
from tests.miniapps.started import APPS, VENV, frameworks

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node={tasks}\n"
MASTER = "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) MASTER_PORT=29517\n"


def facts(lab: Lab, folder: Path, line: str, tasks: int = 2, limit: str = "30") -> list[dict[str, Any]]:
    """Run a job of one launch line on two nodes; return what each rank left, by host and rank."""
    out = folder / "facts"
    out.mkdir()
    script = folder / "job.sh"
    script.write_text(HEAD.format(tasks=tasks) + line + "\n")
    env = lab.environment(doubles_first=False)
    told = {"MAPLE_MINIAPP_OUT": str(out), "MAPLE_MINIAPP_TIMEOUT": limit, "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}
    job = lab.sbatch("-o", str(folder / "out"), str(script), cwd=str(folder), env={**env, **told})
    assert job.id is not None, job.stderr
    try:
        lab.wait(job.id, 180)
    finally:
        lab.cancel(job.id)
    said = [json.loads(path.read_text()) for path in out.glob("*.json")]
    assert said and not [one for one in said if wrong(one)], (folder / "out").read_text()
    return sorted(said, key=lambda one: (one["host"], one["rank"] or 0))


def test_dry_meets_over_two_nodes_with_slurms_own_variables(small_lab, tmp_path):
    said = facts(small_lab, tmp_path, f"srun {sys.executable} {APPS}/dry.py")
    assert [(one["host"], one["rank"], one["local_rank"], one["ok"]) for one in said] == [
        ("gpu-node-1", 0, 0, True), ("gpu-node-1", 1, 1, True), ("gpu-node-2", 2, 0, True), ("gpu-node-2", 3, 1, True)
    ]  # fmt: skip
    assert {one["from"]["master_addr"] for one in said} == {"SLURM_STEP_NODELIST"}
    assert [one["local_world_size"] for one in said] == [2] * 4 and said[0]["rendezvous"]["master_is_here"] is True


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            MASTER + "export RANK=$SLURM_PROCID WORLD_SIZE=4; srun {python} {dry}",
            ["cannot listen", "is not rank 0's host"],
        ),
        (
            MASTER + "export WORLD_SIZE=4; srun bash -c 'MASTER_ADDR=$(hostname) RANK=$SLURM_PROCID {python} {dry}'",
            ["found no rank 0 at gpu-node-2", "missing 2-3"],
        ),
        (
            "export MASTER_ADDR=localhost MASTER_PORT=29517; srun {python} {dry}",
            ["found no rank 0 at localhost", "missing 2-3"],
        ),
        (MASTER + "export WORLD_SIZE=4; srun -N1 -n2 {python} {dry}", ["missing 2-3"]),
    ],
    ids=["rank expanded too early", "master by node", "localhost", "one node only"],
)
def test_wrong_lines_over_two_nodes_are_told_in_words(small_lab, tmp_path, line, says):
    said = facts(small_lab, tmp_path, line.format(python=sys.executable, dry=APPS / "dry.py"), limit="2")
    told = " / ".join(one["error"]["says"] for one in said if one["error"])
    assert not [one for one in said if one["ok"]] and all(words in told for words in says), told


def test_dry_meets_over_two_nodes_beside_torchruns_store(small_lab, tmp_path):
    frameworks()
    line = (
        f"{MASTER}srun {VENV}/bin/torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=7 --rdzv_backend=c10d "
        f"--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT {APPS}/dry.py"
    )
    said = facts(small_lab, tmp_path, line, tasks=1)
    assert sorted(one["rank"] for one in said if one["ok"]) == [0, 1, 2, 3]
    assert [one["host"] for one in said] == ["gpu-node-1"] * 2 + ["gpu-node-2"] * 2


def test_three_dimensions_over_two_nodes_started_by_srun_alone(small_lab, tmp_path):
    frameworks()
    said = facts(small_lab, tmp_path, f"srun {VENV}/bin/python {APPS}/three_d.py")
    assert [one["group"] for one in said if one["ok"]] == [{"rank": n, "world_size": 4} for n in range(4)]
    assert {one["from"]["rank"] for one in said} == {"SLURM_PROCID"}
