"""Two processes that say that they are the same rank: another one is missing, and all wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import LogFile


def lines(folder: Path, text: str) -> list[int]:
    """Return the numbers of the lines in which a rank speaks twice."""
    (folder / "job.log").write_text(text)
    return [line.line for line in read([LogFile(str(folder / "job.log"), "both")]).doubled]


TWICE = {
    "behind labels": (
        "".join("%d: main on g%d: RANK=%d WORLD_SIZE=8\n" % (task, task, task % 2) for task in range(8)), 4
    ),
    "on other nodes": ("start rank 0/4 on gpu-1\nstart rank 0/4 on gpu-2\nstart rank 1/4 on gpu-3\n", 2),
    "all of one rank": ("".join("Node n%02d has rank 0\n" % node for node in range(3)), 3),
    "a variable of the scheduler": (
        "".join("%d: SLURM_PROCID=0 on n%d\n" % (task, task) for task in range(4)), 4
    ),
    "as Lightning says it": ("0: GLOBAL_RANK: 0, MEMBER: 1/4\n1: GLOBAL_RANK: 0, MEMBER: 1/4\n2: ok\n", 2),
}  # fmt: skip
ONCE = {
    "each one": "".join("%d: main on g%d: RANK=%d WORLD_SIZE=4\n" % (task, task, task) for task in range(4)),
    "two groups, each complete": "".join("rank %d/2 on gpu-%d\n" % (number % 2, number) for number in range(4)),
    "said again by the same": "rank 0/4 on gpu-1 saved\nrank 0/4 on gpu-1 saved\n",
    "the ranks of a node": "".join("%d: local rank %d of 4 on g%d\n" % (task, task % 2, task) for task in range(4)),
    "alone, each for itself": "".join("%d: rank 0/1 on g%d\n" % (task, task) for task in range(4)),
    "NCCL tells of each communicator": "".join(
        "g%d:71:71 [0] NCCL INFO comm 0x5 rank 0 nranks 8 - Init COMPLETE\n" % node for node in range(2)
    ),
    "started anew": "0: rank 0/4 on g1\nRuntimeError: lost\n1: rank 0/4 on g2\n",
    "no rank at all": "rank 0 of my list on g1\nloss 3\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_a_rank_that_speaks_twice_is_seen(tmp_path: Path, name: str) -> None:
    """By another label, or from another node."""
    text, count = TWICE[name]
    assert len(lines(tmp_path, text)) == count


@pytest.mark.parametrize("name", ONCE)
def test_a_group_as_it_should_be_is_none(tmp_path: Path, name: str) -> None:
    """Nor who speaks again, or for itself."""
    assert lines(tmp_path, ONCE[name]) == []


@pytest.mark.parametrize(("text", "numbers"), [
    ("SLURM_NTASKS=1\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n", [1, 2]),
    ("#SBATCH --ntasks=2\nrank 0/4 on n1\nrank 1/4 on n1\n", [1, 2]),
    ("SLURM_NTASKS=4\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n", []),
    ("SLURM_NTASKS=1\n+ srun torchrun --nproc-per-node 4 train.py\nrank 0/4\n", []),
    ("SLURM_NTASKS=1\nrank 0/4\nrank 1/4\nrank 2/4\nrank 3/4\n", []),
])  # fmt: skip
def test_members_that_no_task_is_for_are_seen(tmp_path: Path, text: str, numbers: list[int]) -> None:
    """Where nothing but the tasks starts processes."""
    (tmp_path / "job.log").write_text(text)
    assert [line.line for line in read([LogFile(str(tmp_path / "job.log"), "both")]).absent] == numbers


@pytest.mark.parametrize(("text", "numbers"), [
    ("I am node 0 of 2 on k5\nI am node 0 of 2 on k7\n", [1, 2]),
    ("[k5] machine rank 0/2\n[k7] machine rank 0/2\n", [1, 2]),
    ("I am node 0 of 2 on k5\nI am node 1 of 2 on k7\n", []),
    ("I am node 0 of 2 on k5\nI am node 0 of 2 on k5\n", []),
    ("node 0 of 1 on k5\nnode 0 of 1 on k7\n", []),
])  # fmt: skip
def test_nodes_that_are_all_the_same_one_are_seen(tmp_path: Path, text: str, numbers: list[int]) -> None:
    """Each says of how many it is which, and all say the same."""
    (tmp_path / "job.log").write_text(text)
    assert [line.line for line in read([LogFile(str(tmp_path / "job.log"), "both")]).frozen] == numbers


def test_the_lines_are_shown_for_the_cause(tmp_path: Path) -> None:
    """A job that waited to its limit with two ranks 0 and no other: which is said, and shown."""
    from maple_agents.diagnose.diagnosis import diagnose
    from maple_agents.diagnose.values import Case, Ended
    from maple_agents.templates.knowledge import anchors, entries
    from maple_submit_filter.site.facts import GENERIC_SLURM

    log = tmp_path / "job.log"
    told = "".join("%d: worker on g%d: RANK=0 WORLD_SIZE=2\n" % (task, task) for task in range(2))
    log.write_text(told + "slurmstepd: error: *** JOB 7 ON g0 CANCELLED AT 2026-01-01T10:00:00 DUE TO TIME LIMIT ***\n")
    digest = read([LogFile(str(log), "both")], anchors(entries()))
    first = diagnose(Case(Ended(), "slurm", GENERIC_SLURM), digest, None, entries()).causes[0]
    assert first.cause == "wrong_world_size_or_rank"
    assert [line.line for line in first.evidence[:2]] == [1, 2]
