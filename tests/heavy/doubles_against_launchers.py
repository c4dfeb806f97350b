"""Each stand-in against the launcher it stands for: the same lines in the same lab, and what each rank was given.

    python tests/heavy/doubles_against_launchers.py --venv DIR

DIR is a virtual environment with torch, accelerate and deepspeed (CPU builds will do); `--make` makes it. Exit 1 when
any line came out otherwise. Lines on which the real launcher waits for minutes are not among them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Mapping, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tests.lab import GPU2X2, Lab  # noqa: E402

PACKAGES = ["torch==2.13.0", "accelerate==1.15.0", "deepspeed==0.19.8", "numpy"]
COMPARED = ("host", "local_rank", "world_size", "local_world_size", "agent_store", "omp", "visible", "own_port", "ok")
HEAD = """#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=2 --ntasks-per-node={tasks}
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29517 ASKED_PORT=29517 WORLD_SIZE=4
"""
EACH = "--nnodes=2 --nproc_per_node=2"
HOSTS = "for h in $(scontrol show hostnames); do echo $h slots=2; done > hosts"
PET = "PET_NNODES=2 PET_NPROC_PER_NODE=2 PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=$MASTER_ADDR:29517"
OWN = "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID"
C10D = "--rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"
STATIC = "--master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
ACCELERATE = (
    "accelerate launch --multi_gpu --num_machines 2 --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT"
)


class Line(NamedTuple):
    """A launch line, and how many tasks a node its job has."""

    name: str
    tasks: int
    text: str


LINES = (
    Line("torchrun, c10d", 1, f"srun torchrun {EACH} {C10D} ranks.py"),
    Line("torchrun, abbreviated", 1, f"srun torchrun --nn 2 --nproc-per-node=2 {C10D} ranks.py"),
    Line("python -m, c10d", 1, f"srun python -m torch.distributed.run {EACH} {C10D} ranks.py"),
    Line(
        "torchrun, static",
        1,
        f"srun bash -c 'torchrun {EACH} {STATIC} --node_rank=$SLURM_NODEID ranks.py'",
    ),
    Line("torchrun, standalone", 1, "srun torchrun --standalone --nproc_per_node=2 ranks.py"),
    Line(
        "torchrun, 1 and 2",
        1,
        "srun bash -c 'torchrun --nnodes=2 --nproc_per_node=$((SLURM_NODEID+1))"
        f" {STATIC} --node_rank=$SLURM_NODEID ranks.py'",
    ),
    Line(
        "torchrun, PET",
        1,
        f"{PET} srun torchrun ranks.py",
    ),
    Line("torchrun, one node", 1, "torchrun --nproc_per_node=2 ranks.py"),
    Line("torchrun, given python", 1, "torchrun --nproc_per_node=2 python ranks.py"),
    Line("srun direct", 2, f"srun bash -c '{OWN} python ranks.py'"),
    Line("accelerate", 1, f"srun bash -c '{ACCELERATE} --num_processes 4 --machine_rank $SLURM_NODEID ranks.py'"),
    Line(
        "accelerate, total of 2",
        1,
        f"srun bash -c '{ACCELERATE} --num_processes 2 --machine_rank $SLURM_NODEID ranks.py'",
    ),
    Line("accelerate, no machine rank", 1, f"srun {ACCELERATE} --num_processes 4 ranks.py"),
    Line(
        "deepspeed, no node rank",
        1,
        f"{HOSTS}; srun deepspeed --hostfile=hosts --no_ssh --master_addr=$MASTER_ADDR ranks.py",
    ),
    Line(
        "deepspeed, no ssh",
        1,
        f"{HOSTS}; srun bash -c 'deepspeed --hostfile=hosts --no_ssh --node_rank=$SLURM_NODEID"
        f" {STATIC} --no_local_rank ranks.py'",
    ),
    Line("deepspeed, two nodes, no hostfile", 1, "srun deepspeed --num_nodes=2 ranks.py"),
    Line("fan-out, c10d", 2, f"srun torchrun {EACH} {C10D} ranks.py"),
    Line(
        "world too small",
        2,
        f"export WORLD_SIZE=2; srun bash -c '{OWN} python ranks.py'",
    ),
    Line("nobody sets the rank", 2, "srun python ranks.py"),
    Line("unknown option", 1, "srun torchrun --no-such-option ranks.py"),
)


def main() -> int:
    """Run every line twice and print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--venv", required=True)
    asked.add_argument("--make", action="store_true", help="make the virtual environment first")
    asked.add_argument("--only", default="", help="only lines whose name has this in it")
    chosen = asked.parse_args()
    if chosen.make:
        subprocess.run([sys.executable, "-m", "venv", chosen.venv], check=True)
        subprocess.run([f"{chosen.venv}/bin/pip", "install", "-q", *PACKAGES], check=True)
    lines = [line for line in LINES if chosen.only in line.name]
    with Lab(GPU2X2) as lab:
        different = [line.name for line in lines if not _same(lab, line, chosen.venv)]
    print(f"\n{len(lines) - len(different)} of {len(lines)} lines came out alike")
    return 1 if different else 0


def _same(lab: Lab, line: Line, venv: str) -> bool:
    path = lab.environment(doubles_first=False)["PATH"]
    real = _ran(lab, line, {**lab.environment(), "PATH": f"{os.path.abspath(venv)}/bin:{path}"})
    double = _ran(lab, line, {**lab.environment(), "ASKED_PORT": "29517"})
    alike = real["ok"] == double["ok"] and (not real["ok"] or real["ranks"] == double["ranks"])
    print(f"{'same     ' if alike else 'DIFFERENT'} {line.name:36} {_short(real):40} {_short(double)}", flush=True)
    if not alike:
        for one, other in zip(real["ranks"], double["ranks"]):
            print("            real  ", one, "\n            double", other)
    return alike


def _short(ran: Mapping[str, Any]) -> str:
    worlds = sorted({rank.get("world_size") for rank in ran["ranks"]}, key=str)
    return f"{'exit 0' if ran['ok'] else 'fails'} {len(ran['ranks'])} ranks, world {worlds}"


def _ran(lab: Lab, line: Line, env: Mapping[str, str]) -> dict[str, Any]:
    """Return whether the job did well, and what each rank was given, in no order that chance decides."""
    with tempfile.TemporaryDirectory() as folder:
        script = f"{folder}/job.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(HEAD.format(tasks=line.tasks) + line.text + "\n")
        shutil.copy(f"{ROOT}/tests/heavy/ranks.py", folder)
        env = {**env, "MAPLE_FACTS": f"{folder}/facts", "MAPLE_DEVICE": "cpu", "MAPLE_TIMEOUT": "20"}
        job = lab.sbatch("-o", f"{folder}/out", script, cwd=folder, env=env)
        assert job.id is not None, job.stderr
        try:
            ended = lab.wait(job.id, 180)
            fine = ended.state == "COMPLETED"
        except TimeoutError:
            lab.cancel(job.id)
            fine = False
        if os.environ.get("MAPLE_SHOW"):
            with open(f"{folder}/out", encoding="utf-8", errors="replace") as file:
                print(file.read()[-2000:])
        names = os.listdir(f"{folder}/facts") if os.path.isdir(f"{folder}/facts") else []
        ranks = [_given(f"{folder}/facts/{name}") for name in names if name.endswith(".json")]
    return {"ok": fine, "ranks": sorted(ranks, key=lambda rank: json.dumps(rank, sort_keys=True))}


def _given(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        fact = json.load(file)
    if "env" in fact:  # a stand-in's: the same names for the same things
        env = fact["env"]
        names = {
            "local_rank": "LOCAL_RANK",
            "world_size": "WORLD_SIZE",
            "local_world_size": "LOCAL_WORLD_SIZE",
            "agent_store": "TORCHELASTIC_USE_AGENT_STORE",
            "omp": "OMP_NUM_THREADS",
            "visible": "CUDA_VISIBLE_DEVICES",
        }
        fact.update(
            {name: env.get(variable) for name, variable in names.items()}, own_port=env.get("MASTER_PORT") == "29517"
        )
    return {name: fact.get(name) for name in COMPARED}


if __name__ == "__main__":
    sys.exit(main())
