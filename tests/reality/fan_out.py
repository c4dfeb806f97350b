"""Fan-out whose counts come from the number of tasks: the family of launch lines that a cure may shrink.

Each has two nodes of four GPUs, four tasks on a node, and means one world of eight. The counts of the inner launcher
come from what the tasks were asked as: plain, in arithmetic, in a variable, in the task's own shell, in a function, an
array, or a wrapper written by a here-document.
"""

from __future__ import annotations

from typing import Iterator

from tests.reality.corpus import GENERIC, Case

MEANT = 8
HEADS = {
    "a node": "#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --cpus-per-task=2\n",
    "in all": "#SBATCH --nodes=2 --ntasks=8 --gpus-per-node=4\n",
    "both": "#SBATCH -N 2\n#SBATCH -n 8\n#SBATCH --ntasks-per-node=4\n#SBATCH --gres=gpu:4\n",
}
MASTER = 'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
TORCH = (
    "torchrun --nnodes={nodes} --nproc_per_node={workers} --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d"
    " --rdzv_endpoint={head}:29500 train.py"
)
ACCELERATE = (
    "accelerate launch --multi_gpu --num_machines {nodes} --num_processes {workers} --machine_rank {rank}"
    " --main_process_ip {head} --main_process_port 29500 --rdzv_backend c10d train.py"
)
COUNTS = {  # name -> (nodes, workers of torchrun, processes of accelerate in all)
    "tasks and tasks a node": ("$SLURM_NTASKS", "$SLURM_NTASKS_PER_NODE", "$SLURM_NTASKS"),
    "nodes and tasks a node": ("$SLURM_NNODES", "$SLURM_NTASKS_PER_NODE", "$SLURM_NPROCS"),
    "tasks by nodes": ("$SLURM_NNODES", "$((SLURM_NTASKS / SLURM_NNODES))", "$((SLURM_NTASKS))"),
    "nodes typed": ("2", "$((SLURM_NTASKS/2))", "${SLURM_NTASKS}"),
    "all typed": ("2", "4", "8"),
    "a default": ("${SLURM_JOB_NUM_NODES:-1}", "${SLURM_NTASKS_PER_NODE:-4}", "${SLURM_NTASKS:-1}"),
}


def family() -> Iterator[Case]:
    """Return the scripts of the family."""
    for asked, head in HEADS.items():
        for name, (nodes, workers, total) in COUNTS.items():
            if asked == "in all" and "TASKS_PER_NODE}" not in workers and workers.endswith("TASKS_PER_NODE"):
                continue  # nobody set it there
            for launcher, text, count in (("torchrun", TORCH, workers), ("accelerate", ACCELERATE, total)):
                for place, made in _places(text, nodes, count):
                    script = f"#!/bin/bash\n{head}{MASTER}{made}"
                    yield _case(f"{launcher}, {name}, asked {asked}, {place}", script)


def _places(text: str, nodes: str, count: str) -> Iterator[tuple[str, str]]:
    outside = text.format(nodes=nodes, workers=count, head="$HEAD", rank="$SLURM_NODEID")
    yield "plain", f"srun {outside}\n"
    yield (
        "in variables",
        "NN={}\nNP={}\nsrun {}\n".format(nodes, count, text.format(nodes="$NN", workers="$NP", head="$HEAD", rank="0")),
    )
    yield "in the task", f"export HEAD\nsrun bash -c '{outside}'\n"
    yield "in double quotes", f'srun bash -c "{outside}"\n'
    yield "in a function", f"train() {{\n    srun {outside}\n}}\ntrain\n"
    yield "in an array", f'WORDS=({outside})\nsrun "${{WORDS[@]}}"\n'
    yield "in a wrapper", f"export HEAD\ncat > wrap.sh <<'END'\n{outside}\nEND\nsrun bash wrap.sh\n"


def _case(name: str, script: str) -> Case:
    return Case(f"wrong/{name}", GENERIC, script.encode(), ("{}",), False, (), True)
