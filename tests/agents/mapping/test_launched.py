"""What is written of a mapping, launched: each rank says where it is, and that is the mapping."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from maple_agents.mapping import emit, language, placement
from maple_agents.mapping.emit import Job
from maple_agents.mapping.placement import Placement
from maple_agents.mapping.topology import Hardware

from tests.agents.mapping.cray_mpich import host_lines
from tests.lab.lab import Lab
from tests.pbs_lab import PAIR, PbsLab
from tests.wanted import up

NODES, EACH = 4, 4
CLUSTER = language.read(f"cluster node {NODES} / gpu {EACH}")
SHUFFLED = placement.on([3, 0, 0, 1, 2, 2, 1, 3, 0, 1, 2, 3, 3, 2, 1, 0])


def _ran(lab: Lab, folder: Path, step: str) -> list[str]:
    """Return the host of each rank of a step."""
    script = f"#!/bin/bash\nsrun hostname > hosts.txt\n{step} bash -c 'echo $SLURM_PROCID $(hostname)' > ranks.txt\n"
    (folder / "job.sh").write_text(script)
    words = (f"-N{NODES}", f"--ntasks-per-node={EACH}", f"--gpus-per-node={EACH}", "-o", str(folder / "out"))
    job = lab.sbatch(*words, str(folder / "job.sh"), cwd=str(folder))
    assert job.id is not None, job.stderr
    ended = lab.wait(job.id)
    assert ended.state == "COMPLETED", (folder / "out").read_text()
    rows = sorted(line.split() for line in (folder / "ranks.txt").read_text().splitlines())
    return [host for _, host in sorted((int(rank), host) for rank, host in rows)]


def _hosts(lab: Lab) -> tuple[str, ...]:
    return tuple(f"gpu-node-{index}" for index in range(1, NODES + 1))


@pytest.mark.parametrize("placed", [placement.block(NODES, EACH), placement.cyclic(NODES, EACH), SHUFFLED])
def test_a_host_file_puts_each_rank_on_its_node(lab: Lab, placed: Placement, tmp_path: Path) -> None:
    """By `-m arbitrary` inside the allocation."""
    made = emit.written("slurm-hostfile", Job(CLUSTER, placed, _hosts(lab)))
    (tmp_path / made.name).write_text(made.text)
    assert _ran(lab, tmp_path, made.use) == [_hosts(lab)[seat.node] for seat in placed.seats]


@pytest.mark.parametrize("width", [1, 2, 4])
def test_planes_put_each_rank_on_its_node(lab: Lab, width: int, tmp_path: Path) -> None:
    """By `-m plane=`; the launch plan lays them out in the same way (`launchers/srun.py`)."""
    placed = language.read(f"cluster node {NODES} / gpu {EACH}\nmap plane {width}").placement()
    made = emit.written("slurm-plane", Job(CLUSTER, placed, _hosts(lab)))
    assert made.text == f"-m plane={width}"
    assert _ran(lab, tmp_path, made.use) == [_hosts(lab)[seat.node] for seat in placed.seats]


def test_a_node_file_puts_each_rank_on_its_node(tmp_path: Path) -> None:
    """By the real Hydra on two hosts: repeated lines are one rank each, in their order."""
    placed = placement.on([1, 0, 0, 1, 1, 0, 1, 0])
    made = emit.written("pbs-nodefile", Job(language.read("cluster node 2 / gpu 4"), placed, ("node1", "node2")))
    (tmp_path / made.name).write_text(made.text)
    line = made.use.partition(" (")[0]
    (tmp_path / "job.sh").write_text(f"cd $PBS_O_WORKDIR\n{line} bash -c 'echo $PMI_RANK $(hostname)'\n")
    with up(PbsLab(PAIR)) as pair:
        sent = pair.qsub("-l", "select=2:ncpus=8:ngpus=2", "job.sh", cwd=str(tmp_path))
        assert sent.id is not None, sent.stderr
        ended = pair.run(sent.id, 30)
    rows = dict(line.split() for line in ended.stdout.splitlines())
    assert {int(rank): host for rank, host in rows.items()} == {
        seat.rank: ("node1", "node2")[seat.node] for seat in placed.seats
    }, ended


@pytest.mark.parametrize("nodes", [[0, 1, 0, 1, 0, 1, 0, 1], [1, 0, 0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1]])
def test_a_rank_order_puts_each_rank_on_its_node(nodes: list[int], tmp_path: Path) -> None:
    """Ranks of the real Hydra, started where a look-alike of Cray MPICH reads in the file that they belong."""
    placed, hosts = placement.on(nodes), ("node1", "node2")
    made = emit.written("mpich-order", Job(language.read("cluster node 2 / gpu 4"), placed, hosts))
    (tmp_path / "nodes.cray").write_text(host_lines(made.text, hosts, 4))
    line = f"mpiexec -f nodes.cray -n {len(nodes)}"
    (tmp_path / "job.sh").write_text(f"cd $PBS_O_WORKDIR\n{line} bash -c 'echo $PMI_RANK $(hostname)'\n")
    with up(PbsLab(PAIR)) as pair:
        said = _printed(pair, tmp_path)
    assert made.name == "MPICH_RANK_ORDER"
    assert said == {str(rank): [hosts[node]] for rank, node in enumerate(nodes)}


def test_a_list_of_cores_binds_each_rank(tmp_path: Path) -> None:
    """By the look-alike of PALS on two hosts: each rank says host and cores, and these are near its GPU."""
    cores = sorted(os.sched_getaffinity(0))
    hardware = Hardware(gpus=2, near=(frozenset({cores[-1]}), frozenset({cores[0]})))
    placed, hosts = placement.block(2, 2), ("node1", "node2")
    made = emit.written("pals-cpu-bind", Job(language.read("cluster node 2 / gpu 2"), placed, hosts, hardware))
    say = f"{sys.executable} -c 'import os; print(*sorted(os.sched_getaffinity(0)))'"
    (tmp_path / "say.sh").write_text(f"echo $PALS_RANKID $(hostname) $({say})\n")
    line = made.use.replace("mpiexec", "mpiexec -n 4", 1)
    (tmp_path / "job.sh").write_text(f"cd $PBS_O_WORKDIR\n{line} bash say.sh\n")
    with up(PbsLab(PAIR._replace(launcher="pals"))) as pair:
        said = _printed(pair, tmp_path)
    wanted = {str(seat.rank): [hosts[seat.node], *map(str, hardware.near[seat.gpu or 0])] for seat in placed.seats}
    assert said == wanted


def _printed(pair: PbsLab, folder: Path) -> dict[str, list[str]]:
    """Return the words that each rank of a job printed, by its number."""
    sent = pair.qsub("-l", "select=2:ncpus=8:ngpus=2", "job.sh", cwd=str(folder))
    assert sent.id is not None, sent.stderr
    ended = pair.run(sent.id, 60)
    assert not ended.stderr, ended
    return {rank: words for rank, *words in (line.split() for line in ended.stdout.splitlines())}
