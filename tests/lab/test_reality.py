"""The stand-ins succeed and fail on the launch lines on which the real launchers do.

Measured on torch 2.13, accelerate 1.15 and deepspeed 0.19 over two nodes of two ranks.
"""

from __future__ import annotations

import pathlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab import GPU2X2
from tests.lab.reality import observe

HEAD = """#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=2 --ntasks-per-node={tasks}
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29517
export WORLD_SIZE=4
"""
C10D = "--rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"
STATIC = "--master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
WIDE = GPU2X2._replace(groups=(GPU2X2.groups[0]._replace(count=8),))


def seen(lab, line, tasks=1, deadline=8):
    script = HEAD.format(tasks=tasks) + line + "\n"
    return observe(lab, script.encode(), env={"MAPLE_DOUBLE_DEADLINE": str(deadline)})


@pytest.fixture(scope="session")
def broken(request, lab_of):
    """What became of each wrong line: most of them only wait, so several wait at once, each on nodes of its own."""
    lab = lab_of(WIDE)
    here = [item for item in request.session.items if item.path == pathlib.Path(__file__)]
    cases = {item.callspec.params["case"] for item in here if "broken" in item.fixturenames}
    with ThreadPoolExecutor(4 if lab.own_networks else 1) as pool:
        yield {case: pool.submit(seen, lab, BROKEN[case][1], BROKEN[case][0], 4) for case in BROKEN if case in cases}


RIGHT = {
    "c10d": (1, f"srun torchrun --nnodes=2 --nproc_per_node=2 {C10D} train.py"),
    "c10d, abbreviated and dashed": (
        1,
        f"srun python -m torch.distributed.run --nn 2 --nproc-per-node=gpu {C10D} train.py",
    ),
    "static": (1, f"srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 {STATIC} --node_rank=$SLURM_NODEID train.py'"),
    "srun direct": (2, "srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'"),
    "early node rank under c10d": (
        1,
        f"srun torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID {C10D} train.py",
    ),
    "accelerate": (
        1,
        "srun bash -c 'accelerate launch --num_machines 2 --num_processes 4 --machine_rank $SLURM_NODEID"
        " --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT train.py'",
    ),
    "deepspeed": (
        1,
        "for h in $(scontrol show hostnames); do echo $h slots=2; done > hosts; srun bash -c 'deepspeed"
        " --hostfile=hosts --no_ssh --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py'",
    ),
    "mpirun": (2, "mpirun bash -c 'RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK python train.py'"),
    "hydra": (
        2,
        "MAPLE_MPI=hydra mpiexec -n 4 -ppn 2 bash -c 'RANK=$PMI_RANK LOCAL_RANK=$MPI_LOCALRANKID python train.py'",
    ),
    "container": (
        1,
        f"srun apptainer exec --nv -B /a:/b image.sif torchrun --nnodes=2 --nproc_per_node=2 {C10D} train.py",
    ),
}

BROKEN = {
    "fan-out, c10d": (2, f"srun torchrun --nnodes=2 --nproc_per_node=2 {C10D} train.py"),
    "fan-out, static": (
        2,
        f"srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 {STATIC} --node_rank=$SLURM_NODEID train.py'",
    ),
    "fan-out, node rank from the task": (
        2,
        f"srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 {STATIC} --node_rank=$SLURM_PROCID train.py'",
    ),
    "no node rank": (1, f"srun torchrun --nnodes=2 --nproc_per_node=2 {STATIC} train.py"),
    "early node rank, static": (
        1,
        f"srun torchrun --nnodes=2 --nproc_per_node=2 {STATIC} --node_rank=$SLURM_NODEID train.py",
    ),
    "master on each node": (
        1,
        "srun bash -c 'export MASTER_ADDR=$(hostname); torchrun --nnodes=2 --nproc_per_node=2"
        f" {STATIC} --node_rank=$SLURM_NODEID train.py'",
    ),
    "endpoint on each node": (
        1,
        "srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d"
        " --rdzv_endpoint=$(hostname):29400 train.py'",
    ),
    "ids differ": (
        1,
        "srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=$SLURM_PROCID"
        " --rdzv_endpoint=$MASTER_ADDR:29400 train.py'",
    ),
    "localhost": (
        1,
        "srun torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:29400 train.py",
    ),
    "one node only": (1, f"torchrun --nnodes=2 --nproc_per_node=2 {C10D} train.py"),
    "more nodes than there are": (1, f"srun torchrun --nnodes=3 --nproc_per_node=2 {C10D} train.py"),
    "more workers than GPUs": (1, f"srun torchrun --nnodes=2 --nproc_per_node=4 {C10D} train.py"),
    "one GPU for two ranks": (1, "CUDA_VISIBLE_DEVICES=0 bash -c 'torchrun --nnodes=1 --nproc_per_node=2 train.py'"),
    "rank expanded early": (2, "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID srun python train.py"),
    "world too big": (
        2,
        "export WORLD_SIZE=8; srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'",
    ),
    "world too small": (
        2,
        "export WORLD_SIZE=2; srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'",
    ),
    "nobody sets the rank": (2, "MAPLE_NEEDS_RANK=1 srun python train.py"),
    "unknown master": (
        2,
        "export MASTER_ADDR=gpu-node-9; srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'",
    ),
    "accelerate without machine rank": (
        1,
        "srun accelerate launch --num_machines 2 --num_processes 4"
        " --main_process_ip $MASTER_ADDR --main_process_port 29500 train.py",
    ),
    "deepspeed without node rank": (
        1,
        "for h in $(scontrol show hostnames); do echo $h slots=2; done > hosts;"
        " srun deepspeed --hostfile=hosts --no_ssh --master_addr=$MASTER_ADDR train.py",
    ),
    "deepspeed without hostfile": (1, "srun deepspeed --num_nodes=2 train.py"),
    "deepspeed over ssh": (
        1,
        "for h in $(scontrol show hostnames); do echo $h slots=2; done > hosts; deepspeed --hostfile=hosts train.py",
    ),
    "option that does not exist": (1, "srun torchrun --no-such-option train.py"),
    "more slots than tasks": (1, "mpirun -np 4 python train.py"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_line_trains_every_rank_once(small_lab, case):
    tasks, line = RIGHT[case]
    found = seen(small_lab, line, tasks)
    assert (found.verdict, found.reasons) == ("right", ())
    assert [world.size for world in found.worlds] == [4]
    assert sorted(rank for ranks in found.worlds[0].ranks.values() for rank in ranks) == [0, 1, 2, 3]
    assert all(len(ranks) == 2 for ranks in found.worlds[0].ranks.values())


@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_line_breaks(broken, case):
    found = broken[case].result(timeout=120)
    assert found.verdict == "broken", found
    assert found.state != "HANGS"


def test_different_counts_make_a_world_of_their_sum(small_lab):
    workers = "--nproc_per_node=$((SLURM_NODEID+1))"
    line = f"srun bash -c 'torchrun --nnodes=2 {workers} {STATIC} --node_rank=$SLURM_NODEID train.py'"
    assert [(world.size, [len(r) for r in world.ranks.values()]) for world in seen(small_lab, line).worlds] == [
        (3, [1, 2])
    ]


def test_accelerate_counts_all_machines_together(small_lab):
    line = (
        "srun bash -c 'accelerate launch --multi_gpu --num_machines 2 --num_processes 2 --machine_rank $SLURM_NODEID"
        " --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT train.py'"
    )
    assert [(world.size, [len(r) for r in world.ranks.values()]) for world in seen(small_lab, line).worlds] == [
        (2, [1, 1])
    ]


def test_a_launcher_on_every_node_without_nodes_makes_a_world_on_each(small_lab):
    found = seen(small_lab, "srun torchrun --standalone --nproc_per_node=2 train.py")
    assert [(world.size, list(world.ranks.values())) for world in found.worlds] == [(2, [(0, 1)])] * 2
    assert found.verdict == "right"


def test_facts_say_where_each_number_came_from(small_lab):
    found = seen(small_lab, RIGHT["c10d"][1])
    one = next(fact for fact in found.facts if fact["rank"] == 3)
    assert (one["world_size"], one["local_rank"], one["device"], one["gpus"]) == (4, 1, 1, [0, 1])
    assert one["env"]["TORCHELASTIC_USE_AGENT_STORE"] == "True"
    assert one["env"]["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert one["master_port"] != "29517"  # the workers' own store, as with torch
    assert one["chain"][0].startswith("torchrun@gpu-node-")


def test_a_refused_submission_is_an_observation(small_lab):
    found = observe(small_lab, b"#!/bin/bash\n#SBATCH --gpus-per-node=9\ntrue\n")
    assert (found.verdict, found.submitted.returncode) == ("refused", 1)
    assert "not available" in found.reasons[0]


def test_a_job_that_trains_nothing_is_broken(small_lab):
    assert observe(small_lab, b"#!/bin/bash\ntrue\n").reasons == ("no training process ran",)


def test_a_job_that_stays_is_said_to_hang(small_lab):
    found = observe(small_lab, b"#!/bin/bash\nsleep 300\n", timeout=2)
    assert (found.verdict, found.state) == ("broken", "HANGS")


def test_helpers_are_run_by_the_real_python(small_lab):
    script = b"#!/bin/bash\npython -c 'print(6*7)'\npython3 prepare.py\npython train.py\n"
    found = observe(small_lab, script, ["--gpus-per-node=1"], files={"prepare.py": b"print('prepared')"})
    assert found.stdout.split("\n")[:2] == ["42", "prepared"]
    assert (found.verdict, found.singles) == ("right", 1)


def test_a_program_that_reads_slurm_itself_needs_no_launcher(small_lab):
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2\nsrun python train.py\n"
    found = observe(small_lab, script, files={"train.py": b"import lightning\n"})
    assert [(world.size, sorted(world.ranks)) for world in found.worlds] == [(4, ["gpu-node-1", "gpu-node-2"])]


def test_a_program_that_wants_ranks_fails_without(small_lab):
    script = b"#!/bin/bash\n#SBATCH --ntasks=2 --gpus-per-node=2\nsrun python train.py\n"
    found = observe(small_lab, script, files={"train.py": b"import torch; torch.distributed.init_process_group()\n"})
    assert found.verdict == "broken"
    assert "RANK expected, but not set" in found.reasons[-1]
