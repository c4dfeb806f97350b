"""Launch lines of PBS succeed and fail in the lab as on a cluster, by the real Hydra and the look-alike of PALS."""

from __future__ import annotations

import pytest

from tests.pbs_lab.reality import observe

TWO = "#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2\n#PBS -l place=scatter\n"
ALCF = "#!/bin/bash\n#PBS -A proj\n#PBS -q debug\n#PBS -l select=2\n#PBS -l walltime=10:00\n#PBS -l filesystems=home\n"
MASTER = "cd $PBS_O_WORKDIR\nexport MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29517\n"
PMI = "RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID python train.py"
PALS = "RANK=$PALS_RANKID WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PALS_LOCAL_RANKID python train.py"
STATIC = "--nnodes=2 --nproc_per_node=2 --master_addr=$MASTER_ADDR --master_port=29400"
C10D = "--nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=$PBS_JOBID --rdzv_endpoint=$MASTER_ADDR:29400"
MPI4PY = b"from mpi4py import MPI\nimport torch\n"


def seen(lab, line, head=TWO, deadline="8", **more):
    return observe(lab, (head + MASTER + line + "\n").encode(), deadline=deadline, **more)


HYDRA_RIGHT = {
    "ranks of PMI": f"mpiexec -n 4 -ppn 2 bash -c '{PMI}'",
    "as many as the node file has lines": f"mpiexec bash -c '{PMI}'",
    "another name, forms with one dash and =": f"mpirun --np=4 -ppn 2 bash -c '{PMI}'",
    "torchrun by mpiexec": f"mpiexec -n 2 -ppn 1 torchrun {C10D} train.py",
    "torchrun by ssh": 'r=0; for h in $(uniq $PBS_NODEFILE); do ssh $h "cd $PBS_O_WORKDIR; torchrun --node_rank=$r '
    f'{STATIC} train.py" & r=$((r+1)); done; wait',
    "torchrun by pbsdsh": "for r in 0 1; do pbsdsh -n $((2 * r)) -- sh -c "
    f'"cd $PBS_O_WORKDIR; torchrun --node_rank=$r {STATIC} train.py" & done; wait',
    "its own agent": f"mpiexec -launcher ssh -launcher-exec $(command -v ssh) -n 4 -ppn 2 bash -c '{PMI}'",
    "deepspeed by pdsh": "uniq $PBS_NODEFILE | sed 's/$/ slots=2/' > hostfile; deepspeed --hostfile hostfile train.py",
}


@pytest.mark.parametrize("case", HYDRA_RIGHT)
def test_a_right_line_is_right_under_hydra(pair, case):
    found = seen(pair, HYDRA_RIGHT[case])
    assert (found.verdict, found.reasons) == ("right", ()), found.stderr
    assert [(world.size, dict(world.ranks)) for world in found.worlds] == [(4, {"node1": (0, 1), "node2": (2, 3)})]


HYDRA_BROKEN = {
    "two hosts of one: -launcher fork": f"mpiexec -launcher fork -n 4 -ppn 2 bash -c '{PMI}'",
    "options of PALS": f"mpiexec --cpu-bind depth -n 4 --ppn 2 bash -c '{PMI}'",
    "world of another size": f"mpiexec -n 2 -ppn 2 bash -c 'export PMI_SIZE=4; {PMI}'",
    "more ranks than GPUs": f"mpiexec -n 6 -ppn 3 bash -c '{PMI}'",
    "rank expanded too early": 'mpiexec -n 4 -ppn 2 bash -c "RANK=$PMI_RANK WORLD_SIZE=4 python train.py"',
    "localhost as master": f"export MASTER_ADDR=localhost; mpiexec -n 4 -ppn 2 bash -c '{PMI}'",
    "master of its own for each rank": f"mpiexec -n 4 -ppn 2 bash -c 'MASTER_ADDR=$(hostname) {PMI}'",
    "fan-out": f"mpiexec -n 4 -ppn 2 torchrun {C10D} train.py",
    "only the first node": f"torchrun {C10D} train.py",
    "one node rank for both": f"mpiexec -n 2 -ppn 1 torchrun --node_rank=0 {STATIC} train.py",
    "a variable that ssh loses": "for h in node1 node2; do ssh $h "
    "'cd /; torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29400 train.py' & "
    "done; wait",
    "nobody trains": "true",
    "srun": f"srun -n 4 bash -c '{PMI}'",
}


@pytest.mark.parametrize("case", HYDRA_BROKEN)
def test_a_wrong_line_is_broken_under_hydra(pair, case):
    strict = {"train.py": b"import torch.distributed as dist\ndist.init_process_group()\n"}
    found = seen(pair, HYDRA_BROKEN[case], deadline="1.5", files=strict, timeout=8)
    assert found.verdict == "broken", found.worlds


def test_a_host_that_is_not_there_leaves_hydra_hanging_and_the_lab_says_so(pair):
    found = seen(pair, f"mpiexec -hosts node1,node9 -n 4 -ppn 2 bash -c '{PMI}'", timeout=2)
    assert (found.verdict, found.state) == ("broken", "HANGS")
    assert "Could not resolve hostname node9" in found.stderr


def test_fork_gives_two_hosts_to_hydra_and_one_to_the_ranks(pair):
    line = "mpiexec -launcher fork -n 4 -ppn 2 sh -c 'echo $(hostname) $PMI_RANK $MPI_LOCALRANKID'"
    lines = seen(pair, line).stdout.splitlines()
    assert sorted(lines) == ["node1 0 0", "node1 1 1", "node1 2 0", "node1 3 1"]


PALS_RIGHT = {
    "PALS variables": f"mpiexec -n 8 --ppn 4 --depth=8 --cpu-bind depth bash -c '{PALS}'",
    "PMI variables": "mpiexec -np 8 -ppn 4 bash -c "
    "'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'",
    "counts from the environment": f"export PALS_NRANKS=8 PALS_PPN=4; mpiexec bash -c '{PALS}'",
    "no ranks per node said": f"mpiexec -n 8 bash -c '{PALS}'",
    "a hostfile and --envall": f"mpiexec --envall --hostfile $PBS_NODEFILE -n 8 --ppn 4 bash -c '{PALS}'",
    "the variables that are named": "mpiexec --envlist MASTER_ADDR,MASTER_PORT,PATH,HOME -n 8 --ppn 4 bash -c "
    f"'{PALS}'",
    "ranks inside the program": "mpiexec -n 8 --ppn 4 python train_mpi.py",
    "and without a master": "unset MASTER_ADDR; mpiexec -n 8 --ppn 4 python train_mpi.py",
    "two programs": f"mpiexec -n 4 --ppn 4 bash -c '{PALS}' : -n 4 bash -c '{PALS}'",
}


@pytest.mark.parametrize("case", PALS_RIGHT)
def test_a_right_line_is_right_under_pals(polaris, case):
    found = seen(polaris, PALS_RIGHT[case], ALCF, files={"train_mpi.py": MPI4PY})
    assert (found.verdict, found.reasons) == ("right", ()), found.stderr
    places = {"x3006c0s1b0n0": (0, 1, 2, 3), "x3006c0s2b0n0": (4, 5, 6, 7)}
    assert [(world.size, dict(world.ranks)) for world in found.worlds] == [(8, places)]


PALS_BROKEN = {
    "no count: one rank": f"mpiexec bash -c 'export PMI_SIZE=8; {PALS}'",
    "--envnone": f"mpiexec --envnone --env PATH=$PATH -n 8 --ppn 4 bash -c '{PALS}'",
    "an option of Hydra": f"mpiexec -n 8 --ppn 4 -bind-to none bash -c '{PALS}'",
    "-genv": f"mpiexec -genv A 1 -n 8 --ppn 4 bash -c '{PALS}'",
    "an option of Open MPI": f"mpiexec -n 8 -x MASTER_ADDR bash -c '{PALS}'",
    "eight ranks on a node of four GPUs": f"mpiexec -n 8 --ppn 8 bash -c '{PALS}'",
    "mpirun": f"mpirun -n 8 bash -c '{PALS}'",
}


@pytest.mark.parametrize("case", PALS_BROKEN)
def test_a_wrong_line_is_broken_under_pals(polaris, case):
    strict = {"train.py": b"import torch.distributed as dist\ndist.init_process_group()\n"}
    found = seen(polaris, PALS_BROKEN[case], ALCF, deadline="1.5", files=strict, timeout=8)
    assert found.verdict == "broken", found.worlds


def test_twelve_tiles_of_aurora_take_a_rank_each(aurora):
    line = f"mpiexec -n 24 --ppn 12 bash -c '{PALS}'"
    found = seen(aurora, line, ALCF)
    assert (found.verdict, [world.size for world in found.worlds]) == ("right", [24])
    assert {fact["device"] for fact in found.facts} == set(range(12))


def test_a_bound_tile_is_the_only_device_of_its_rank(aurora):
    tiles = ":".join(f"{card}.{tile}" for card in range(6) for tile in (0, 1))
    alone = "RANK=$PALS_RANKID WORLD_SIZE=$PMI_SIZE LOCAL_RANK=0 python train.py"
    found = seen(aurora, f"mpiexec -n 24 --ppn 12 --gpu-bind list:{tiles} bash -c '{alone}'", ALCF)
    assert found.verdict == "right", found.reasons
    assert sorted({tuple(fact["gpus"]) for fact in found.facts}) == [(tile,) for tile in range(12)]


def test_aurora_gives_the_rank_of_pmix_too(aurora):
    found = seen(aurora, "mpiexec -n 2 --ppn 1 printenv PMIX_RANK PALS_NODEID", ALCF)
    assert sorted(found.stdout.split()) == ["0", "0", "1", "1"]


def test_a_program_that_counts_its_devices_may_have_one(polaris):
    program = b"import os, torch\ntorch.cuda.set_device(int(os.environ['LOCAL_RANK']) % torch.cuda.device_count())\n"
    line = f"mpiexec -n 8 --ppn 4 bash -c 'export CUDA_VISIBLE_DEVICES=$((3 - PALS_LOCAL_RANKID)); {PALS}'"
    assert seen(polaris, line, ALCF, files={"train.py": program}).verdict == "right"
    assert "invalid device ordinal" in seen(polaris, line, ALCF, deadline="1.5").reasons[-1]


def test_ranks_that_do_not_come_to_mpi_are_missed(pair):
    line = "mpiexec -n 4 -ppn 2 bash -c '[ $PMI_RANK = 3 ] && exec sleep 9; exec python train_mpi.py'"
    found = seen(pair, "unset MASTER_ADDR\n" + line, deadline="1", files={"train_mpi.py": MPI4PY}, timeout=8)
    assert found.verdict == "broken"
    assert any("not every rank of the launch came to MPI_Init" in reason for reason in found.reasons)


def test_a_refused_submission_is_an_observation(polaris):
    found = observe(polaris, b"#PBS -l filesystems=home\ntrue\n")
    assert (found.verdict, found.submitted.id, found.exit_code) == ("refused", None, 32)
    assert found.reasons == ("qsub: Account_Name is required to be set.",)


def test_what_can_never_run_is_an_observation(pair):
    found = observe(pair, b"#PBS -l select=1:ngpus=3\ntrue\n")
    assert (found.verdict, found.state, found.facts) == ("broken", "NEVER", ())


def test_a_job_that_stays_is_said_to_hang(pair):
    found = observe(pair, b"sleep 300\n", timeout=1)
    assert (found.verdict, found.state) == ("broken", "HANGS")


def test_a_script_may_come_on_stdin_and_words_from_the_command_line(pair):
    script = b"cd $PBS_O_WORKDIR\npython train.py\n"
    found = observe(pair, script, ["-N", "piped", "-v", "A=1"], stdin=True)
    assert (found.verdict, found.singles) == ("right", 1)


def test_a_program_beside_the_script_is_not_in_the_home_directory(pair):
    found = observe(pair, b"python train.py\n", files={"train.py": b"import torch\n"})
    assert (found.verdict, found.exit_code) == ("broken", 2)
    assert "can't open file" in found.stderr
