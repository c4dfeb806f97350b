"""Who a process is follows from the variables of whoever started it, and each value names its variable."""

from __future__ import annotations

import pytest
from maple_miniapps import ranks

TORCHRUN = {
    "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
    "MASTER_ADDR": "gpu-1", "MASTER_PORT": "29500",
}  # fmt: skip
SRUN = {
    "SLURM_JOB_ID": "123456", "SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_NTASKS": "7", "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1", "SLURM_STEP_NODELIST": "gpu-[007-008]", "SLURM_STEP_TASKS_PER_NODE": "4,3",
}  # fmt: skip
HYDRA = {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}  # fmt: skip
PALS = {
    "PALS_RANKID": "3", "PALS_LOCAL_RANKID": "1", "PALS_NODEID": "1", "PMI_RANK": "3", "PMI_SIZE": "4",
    "PALS_LOCAL_SIZE": "2",
}  # fmt: skip


def numbers(place: ranks.Place) -> tuple[int | None, ...]:
    return place.rank, place.world_size, place.local_rank, place.local_world_size, place.node_rank


@pytest.mark.parametrize(
    ("env", "said", "by"),
    [
        (TORCHRUN, (5, 8, 1, 4, 1), ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"]),
        (
            SRUN,
            (5, 7, 1, 3, 1),
            ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID"],
        ),
        (HYDRA, (3, 4, 1, 2, None), ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", None]),
        (OPEN_MPI, (3, 4, 1, 2, None), [*OPEN_MPI, None]),
        (PALS, (3, 4, 1, 2, 1), ["PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "PALS_NODEID"]),
    ],
    ids=["torchrun", "srun", "hydra", "open mpi", "pals"],
)
def test_each_launcher_is_understood_and_named(env, said, by):
    place = ranks.place(env)
    assert numbers(place) == said
    names = ("rank", "world_size", "local_rank", "local_world_size", "node_rank")
    assert [place.origin[name] for name in names] == by


def test_torchs_own_variables_come_before_those_of_the_launcher_around():
    place = ranks.place({**SRUN, **HYDRA, **TORCHRUN})
    assert numbers(place) == (5, 8, 1, 4, 1)
    assert place.origin["rank"] == "RANK"


def test_mpiexec_inside_a_slurm_task_gives_the_rank():
    assert ranks.place({**SRUN, **HYDRA}).origin["rank"] == "PMI_RANK"


def test_the_batch_shell_is_no_task_though_slurm_numbers_it():
    batch = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_JOB_ID": "1"}
    place = ranks.place(batch)
    assert numbers(place) == (None, None, None, None, None)
    assert place.settled().world_size == 1


def test_only_torchs_own_count_where_asked():
    assert numbers(ranks.place({**SRUN, **HYDRA}, env_only=True)) == (None,) * 5


def test_the_master_is_the_first_host_where_nobody_says_it():
    place = ranks.place(SRUN)
    assert (place.master_addr, place.origin["master_addr"]) == ("gpu-007", "SLURM_STEP_NODELIST")
    assert (place.master_port, place.origin["master_port"]) == (20000 + 3456, "SLURM_JOB_ID")
    pbs = ranks.place({**HYDRA, "PBS_JOBID": "77.server"}, nodefile="nid001\nnid002\n")
    assert (pbs.master_addr, pbs.origin["master_addr"], pbs.master_port) == ("nid001", "PBS_NODEFILE", 20077)


def test_a_port_that_was_said_wrongly_is_not_replaced():
    place = ranks.place({**SRUN, "MASTER_PORT": "2950O"})
    assert place.master_port is None and "MASTER_PORT" in place.problems[0]


@pytest.mark.parametrize(
    ("hosts", "first"),
    [
        ("gpu-[007-009,12],login", "gpu-007"),
        ("a1,b[2-3]", "a1"),
        ("r[1-2]n[03,05]", "r1n03"),
        ("node", "node"),
        ("c[1,3]-ib", "c1-ib"),
    ],
)
def test_the_first_host_of_a_list(hosts, first):
    assert ranks.first_of_hostlist(hosts) == first


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"RANK": "two", "WORLD_SIZE": "4"}, "RANK is 'two'"),
        ({"WORLD_SIZE": "4"}, "RANK is not set"),
        ({"RANK": "1"}, "WORLD_SIZE is not set"),
        ({"RANK": "4", "WORLD_SIZE": "4"}, "rank 4 cannot be in a world of 4"),
        ({"RANK": "-1", "WORLD_SIZE": "4"}, "rank -1 cannot be"),
    ],
)
def test_variables_that_leave_a_program_without_a_place_are_told(env, says):
    with pytest.raises(ranks.NoPlace, match=says):
        ranks.place(env).settled()


def test_a_process_that_nobody_numbered_is_alone():
    place = ranks.place({}).settled()
    assert numbers(place)[:3] == (0, 1, 0)
    assert place.origin["rank"] is None


@pytest.mark.parametrize("text", ["4(x2000000000)", "", "x", "1,,2", "9" * 5000])
def test_odd_task_counts_do_no_harm(text):
    place = ranks.place({**SRUN, "SLURM_STEP_TASKS_PER_NODE": text})
    assert place.local_world_size in (None, 4)


def test_what_was_given_is_kept_short_and_holds_nothing_else():
    said = ranks.given({"RANK": "1" * 500, "HF_TOKEN": "secret", "PATH": "/bin"})
    assert said == {"RANK": "1" * 80}
