"""The real torchrun, accelerate, deepspeed and mpiexec, and srun alone: how each starts two ranks a node."""

from __future__ import annotations

from collections.abc import Mapping

from tests.agents.verify.in_lab import C10D, OWN, Case
from tests.lab import Lab
from tests.miniapps.started import VENV

APPS = ("ddp", "fsdp", "zero3", "accelerate_ddp", "three_d")
HOSTS = "for host in $(scontrol show hostnames); do echo $host slots=2; done > hosts\n"
# name -> tasks on a node, launch line
LINES = {
    "srun direct": (2, f"srun bash -c '{OWN} exec python train.py'\n"),
    "srun torchrun": (1, f"srun torchrun --nnodes={{nodes}} --nproc_per_node=2 {C10D} train.py\n"),
    "accelerate": (
        1,
        "srun bash -c 'accelerate launch --multi_gpu --num_machines {nodes} --num_processes {ranks}"
        " --mixed_precision no --dynamo_backend no --machine_rank $SLURM_NODEID --main_process_ip $MASTER_ADDR"
        " --main_process_port $MASTER_PORT train.py'\n",
    ),
    "deepspeed": (
        1,
        HOSTS + "srun bash -c 'deepspeed --hostfile=hosts --no_ssh --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR"
        " --master_port=$MASTER_PORT train.py'\nrm hosts\n",
    ),
    "mpiexec": (2, "mpiexec -n {ranks} -ppn 2 python train.py\n"),
}


def case(app: str, line: str, nodes: int, seconds: float = 240) -> Case:
    """Return the case of a mini-app, a launch line and so many nodes."""
    tasks, text = LINES[line]
    return Case(text.format(nodes=nodes, ranks=2 * nodes), nodes, tasks, app, seconds)


def environment(lab: Lab) -> Mapping[str, str]:
    """Return what makes the lab's jobs find the real launchers, on CPUs, one thread each."""
    path = lab.environment(doubles_first=False)["PATH"]
    return {
        "PATH": f"{VENV.resolve()}/bin:{path}",
        "MAPLE_MINIAPP_DEVICE": "cpu",
        "OMP_NUM_THREADS": "1",
        "DS_ACCELERATOR": "cpu",
    }
