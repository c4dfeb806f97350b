"""What is written of a mapping, launched by the real torchrun: each rank says where it is, and in which groups."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from maple_agents.mapping import emit, language, placement
from maple_agents.mapping.emit import Job

pytestmark = pytest.mark.heavy

_TORCHRUN = """\
import sys, types, io, torch
from torch.numa import binding
NEAR = {near!r}
def opened(path, *more):
    if path.startswith("/sys/bus/pci/devices/"):
        return io.StringIO(str(int(path.split(":")[1], 16)))
    if path.startswith("/sys/devices/system/node/node"):
        return io.StringIO(NEAR[int(path.split("/")[5][4:])])
    return open(path, *more)
binding.open = opened
torch.cuda.get_device_properties = lambda gpu: types.SimpleNamespace(pci_domain_id=0, pci_bus_id=gpu, pci_device_id=0)
from torch.distributed.run import main
main(sys.argv[1:])
"""
_NUMACTL = """\
#!/bin/sh
cpus=${1#--physcpubind=}
shift
exec taskset -c "$cpus" "$@"
"""


@pytest.fixture
def python() -> str:
    """The interpreter that has torch."""
    found = os.environ.get("MAPLE_HEAVY_PYTHON")
    if not found:
        pytest.skip("MAPLE_HEAVY_PYTHON names no interpreter with torch")
    return found


def test_numa_binding_puts_each_rank_near_its_gpu(python: str, tmp_path: Path) -> None:
    """It is told of two GPUs, which are not here, what /sys says of them on a node that has them."""
    cores = sorted(os.sched_getaffinity(0))
    near = [str(cores[-1]), str(cores[0])]
    job = Job(language.read("cluster node 1 / gpu 2"), placement.block(1, 2), ("here",))
    option = emit.written("numa-binding", job).text
    (tmp_path / "run.py").write_text(_TORCHRUN.format(near=near))
    (tmp_path / "numactl").write_text(_NUMACTL)
    (tmp_path / "numactl").chmod(0o755)
    (tmp_path / "say.py").write_text("import os; print(os.environ['RANK'], *os.sched_getaffinity(0), flush=True)\n")
    words = [python, "run.py", "--standalone", "--nproc-per-node=2", option, "say.py"]
    around = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(words, cwd=tmp_path, env=around, capture_output=True, text=True, timeout=240)
    assert sorted(ran.stdout.splitlines()) == [f"{rank} {cpus}" for rank, cpus in enumerate(near)], ran.stderr


_AXES = """\
import json, os, torch.distributed as dist
dist.init_process_group("gloo")
{made}
groups = {{name: dist.get_process_group_ranks(group) for name, group in made.items()}}
os.write(1, (json.dumps([dist.get_rank(), groups]) + "\\n").encode())
"""
_MESH = """\
from torch.distributed.device_mesh import init_device_mesh
mesh = {line}
made = {{name: mesh.get_group(name) for name in mesh.mesh_dim_names}}
"""
_MEGATRON = """\
import sys
from megatron.core import parallel_state
words = {words!r}
sizes = {{word[2:].replace("-parallel-size", "_parallel_size").replace("-", "_"): int(words[at + 1])
         for at, word in enumerate(words) if word.endswith("-parallel-size")}}
order = "tp-cp-ep-pp-dp" if "--use-tp-pp-dp-mapping" in words else "tp-cp-ep-dp-pp"  # as its initialize.py does
parallel_state.initialize_model_parallel(**sizes, order=order)
made = {{"pp": parallel_state.get_pipeline_model_parallel_group(), "dp": parallel_state.get_data_parallel_group()}}
"""


@pytest.mark.parametrize("order", ["pp < dp", "dp < pp"])
@pytest.mark.parametrize("target", ["device-mesh", "megatron"])
def test_each_rank_is_in_the_groups_of_the_mapping(target: str, order: str, python: str, tmp_path: Path) -> None:
    """By gloo: a mesh, and Megatron's groups where megatron-core is there, are what ranks say."""
    if target == "megatron" and subprocess.run([python, "-c", "import megatron.core"], capture_output=True).returncode:
        pytest.skip("megatron-core is not there: pip install --no-deps megatron-core")
    mapping = language.read(f"cluster node 1 / gpu 4\naxes pp 2, dp 2\norder {order}")
    said = emit.written(target, Job(mapping, mapping.placement(), ("here",))).text
    made = _MEGATRON.format(words=said.split()) if target == "megatron" else _MESH.format(line=said)
    (tmp_path / "say.py").write_text(_AXES.format(made=made.replace('"cuda"', '"cpu"')))
    words = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4", "say.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert mapping.mesh is not None
    wanted = {rank: {axis: list(group) for axis in ("pp", "dp") for group in mapping.mesh.groups(axis) if rank in group}
              for rank in range(4)}  # fmt: skip
    assert dict(json.loads(line) for line in ran.stdout.splitlines()) == wanted, ran.stderr


def test_static_node_ranks_give_each_node_its_ranks(python: str, tmp_path: Path) -> None:
    """By the real torchrun, an agent a node; nodes are taken in another order than their names."""
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
