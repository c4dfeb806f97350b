"""What is written of a mapping, launched: each rank says where it is, and that is the mapping."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from maple_agents.mapping import emit, language, placement
from maple_agents.mapping.emit import Job
from maple_agents.mapping.placement import Placement

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


@pytest.mark.heavy
def test_static_node_ranks_give_each_node_its_ranks(tmp_path: Path) -> None:
    """By the real torchrun, an agent a node; nodes are taken in another order than their names."""
    python = os.environ.get("MAPLE_HEAVY_PYTHON")
    if not python:
        pytest.skip("MAPLE_HEAVY_PYTHON names no interpreter with torch")
    made = language.read("cluster node 2 / gpu 2\nnodes list b,a")
    written = emit.written("torchrun-static", Job(made, made.placement(), made.hosts))
    (tmp_path / "say.py").write_text("import os\nos.write(1, ('%(RANK)s %(NODE)s\\n' % os.environ).encode())\n")
    words = written.use.partition("torchrun ")[2].partition(" with")[0]
    words = words.replace("--master-addr=b", "--master-addr=127.0.0.1")
    agents = []
    for line in written.text.splitlines():
        host, rank = line.split()
        command = [python, "-m", "torch.distributed.run", *words.split(), rank, "say.py"]
        agents.append(subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "NODE": host},
                                       stdout=subprocess.PIPE, text=True))  # fmt: skip
    rows = dict(line.split() for agent in agents for line in agent.communicate(timeout=120)[0].splitlines())
    assert rows == {str(seat.rank): made.hosts[seat.node] for seat in made.placement().seats}
