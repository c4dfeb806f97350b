"""A count that is typed in several places is one decision, and each reading of it is one offer."""

from __future__ import annotations

import re

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.answer.fate import offers, suggested
from maple_submit_filter.answer.reply import Rewritten
from maple_submit_filter.types.submission import Submission

HEAD = 'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
DELTA = "#SBATCH -A abcd-delta-gpu -p gpuA100x4 --nodes=2 --time=02:00:00 --mem=200g --cpus-per-task=8\n"
MEET = "--rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py\n"
RANKS = "'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'\n"
MASTER = "export MASTER_PORT=29500 MASTER_ADDR=" + HEAD[5:]
POLARIS = "#PBS -A Proj -q prod -l walltime=01:00:00 -l filesystems=home:eagle\n"

SCRIPTS = {
    "torchrun": (
        "ncsa-delta",
        DELTA + "#SBATCH --ntasks-per-node=1 --gpus-per-node={8}\n" + HEAD
        + "srun torchrun --nnodes={2} --nproc-per-node={8} " + MEET,
    ),
    "a variable": (
        "ncsa-delta",
        DELTA + "#SBATCH --ntasks-per-node=1 --gres=gpu:{8}\nN={8}\n" + HEAD
        + "srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=$N " + MEET,
    ),
    "tasks": (
        "ncsa-delta",
        DELTA + "#SBATCH --ntasks-per-node={8} --gpus-per-node={8}\n" + MASTER
        + "export WORLD_SIZE=$((SLURM_NNODES*{8}))\nsrun bash -c " + RANKS,
    ),
    "a world": (
        "ncsa-delta",
        DELTA + "#SBATCH --ntasks-per-node={8} --gpus-per-node={8}\n" + MASTER
        + "export WORLD_SIZE={16}\nsrun --ntasks-per-node={8} bash -c " + RANKS,
    ),
    "accelerate": (
        "ncsa-delta",
        DELTA + "#SBATCH --ntasks-per-node=1 --gpus-per-node={8}\nexport " + HEAD
        + "srun bash -c 'accelerate launch --num_machines {2} --num_processes {16} --machine_rank $SLURM_NODEID"
        + " --main_process_ip $HEAD --main_process_port 29500 train.py'\n",
    ),
    "chunks": (
        "alcf-polaris",
        POLARIS + "#PBS -l select={10}:ncpus=64:ngpus={8}\ncd $PBS_O_WORKDIR\nHEAD=$(head -n 1 $PBS_NODEFILE)\n"
        + "mpiexec -n {10} --ppn 1 torchrun --nnodes={10} --nproc-per-node={8} " + MEET,
    ),
}  # fmt: skip


def written(script: str, of_node: int, nodes: int, was: int) -> bytes:
    """Return a script with its counts as so many on each of so many nodes make them; *was*: nodes at first."""
    script = script.replace("--nodes=2", "--nodes=%d" % nodes)
    numbers = {"8": of_node, str(was): nodes, "16": of_node * nodes}
    return ("#!/bin/bash\n" + re.sub(r"\{(\d+)\}", lambda found: str(numbers[found[1]]), script)).encode()


def ways(site: str, source: bytes) -> list[Rewritten]:
    """Return every way on offer."""
    here = sites.load(site)
    asked = Submission(here.scheduler, (b"submit", b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})
    return list(offers(suggested(decide(asked, here, None), asked, here, None), asked, here, None))


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_is_changed_in_all_of_them(name: str) -> None:
    """Fewer ranks first, then as many on more nodes; no way leaves one place as it was."""
    site, script = SCRIPTS[name]
    nodes = 10 if site == "alcf-polaris" else 2
    made = [way.script for way in ways(site, written(script, 8, nodes, nodes))]
    assert made == [written(script, 4, nodes, nodes), written(script, 4, 2 * nodes, nodes)]


def test_a_launcher_for_other_nodes_is_told_its_ranks_as_well() -> None:
    """accelerate counts all ranks; the other way round the job gets the nodes."""
    script = SCRIPTS["accelerate"][1].replace("{8}", "4")
    right = written(script, 4, 2, 2)
    wrong = right.replace(b"num_machines 2 --num_processes 8", b"num_machines 4 --num_processes 16")
    assert [way.script for way in ways("ncsa-delta", wrong)] == [right, wrong.replace(b"--nodes=2", b"--nodes=4")]


def test_an_agent_that_is_alone_gets_no_more_nodes() -> None:
    """Nobody would start it there."""
    script = (
        DELTA.replace("--nodes=2", "--nodes=1")
        + "#SBATCH --gpus-per-node=%d\ntorchrun --standalone --nproc-per-node=%d a.py\n"
    )
    made = ways("ncsa-delta", ("#!/bin/bash\n" + script % (8, 8)).encode())
    assert [way.script for way in made] == [("#!/bin/bash\n" + script % (4, 4)).encode()]
