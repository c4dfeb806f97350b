"""Slips of placement, put into right scripts of every site in the ways people write them, each with a harmless twin.

`python -m tests.agents.mapping.slips`, and part of `make bench-mapping`: how many of each are found, and how many
twins are accused. Where a slip breaks is said by the script's text, its site's file and the shape of its ranks.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from maple_agents.ask import sites
from maple_agents.mapping.topology import Hardware
from maple_submit_filter.types.launch_plan import LaunchPlan

from tests.agents.mapping import blind, cases
from tests.reality.asked import ask, site
from tests.reality.slips.measure import rights, sound
from tests.reality.slips.script import Script

_PROGRAM = re.compile(rb"[\w./$-]+\.py\b")


class Shape(NamedTuple):
    """A right script with the shape of its ranks: *each* a node, started by *outer*, at last by *inner*."""

    script: Script
    nodes: int
    each: int
    outer: str
    inner: str
    hardware: Hardware

    @property
    def is_tasks(self) -> bool:
        """Whether each task is a rank."""
        return self.outer == self.inner

    def told(self, words: str, before: str = "", front: str = "") -> bytes | None:
        """Return the script with *words* behind the program, lines *before* its launch, and *front* in front of it."""
        places = list(_PROGRAM.finditer(self.script.text, self.script.line.start, self.script.line.end))
        if not places:
            return None
        place = places[-1]
        start = re.search(rb"(?:python3?(?: -u)? +)?[\w./$-]+\.py\Z", self.script.text[: place.end()])
        at = start.start() if start is not None else place.start()
        if front and not front.endswith("python ") and b"python" not in self.script.text[at : place.start()]:
            return None  # what starts Python is a wrapper's own business, and would start these words as a program
        text = self.script.put(at, place.end(), front.encode() + self.script.text[at : place.end()] + words.encode())
        return text[: self.script.line.start] + before.encode() + text[self.script.line.start :]

    def by(self, word: str, words: str = "", before: str = "") -> bytes | None:
        """Return the script with an option behind its outer launcher, and what `told` takes."""
        text = self.told(words, before)
        name = rb"(?m)^([ \t]*(?:time +)?)(srun|mpirun|mpiexec|ibrun)\b"
        at = self.script.line.start + len(before)
        if text is None or not re.compile(name).match(text, at):
            return None
        return text[:at] + re.compile(name).sub(rb"\1\2 " + word.encode(), text[at:], count=1)

    def asked(self, directive: str, words: str) -> bytes | None:
        """Return the script with one more directive, and words behind its program."""
        text = self.told(words)
        return text.replace(b"#SBATCH", b"#SBATCH " + directive.encode() + b"\n#SBATCH", 1) if text else None


Change = Callable[[Shape], "bytes | None"]


class Slip(NamedTuple):
    """One way to write a mistake, the scripts that it breaks, and a twin that breaks nothing."""

    name: str
    where: Callable[[Shape], bool]
    wrong: Change
    twin: Change


def _tp(shape: Shape, size: int, *, pattern: str = " --tensor-model-parallel-size {}") -> str:
    return pattern.format(size)


def _dealt(shape: Shape) -> bool:
    return shape.outer == "srun" and shape.is_tasks and shape.nodes > 1 and shape.each > 1


def _dealing(name: str, wrong: str, twin: str) -> Slip:
    def made(word: str) -> Change:
        return lambda shape: shape.by(word.format(each=shape.each), _tp(shape, shape.each))

    return Slip(f"dealing {name}", _dealt, made(wrong), made(twin))


def _directive(name: str, wrong: str, twin: str) -> Slip:
    def made(word: str) -> Change:
        return lambda shape: shape.asked(word, _tp(shape, shape.each)) if not shape.script.is_pbs else None

    return Slip(f"dealing {name}", _dealt, made(wrong), made(twin))


def _wide(shape: Shape) -> bool:
    gpus = shape.hardware.gpus
    return shape.nodes > 1 and shape.each > 1 and gpus == shape.each and (shape.hardware.domain or gpus) <= gpus


def _size(name: str, words: str, before: str = "") -> Slip:
    """A tensor axis of twice a node's ranks, and one of as many."""

    def made(times: int) -> Change:
        def change(shape: Shape) -> bytes | None:
            size, others = str(shape.each * times), str(shape.nodes // times)
            return shape.told(*(text.replace("@", size).replace("%", others) for text in (words, before)))

        return change

    return Slip(f"wide {name}", lambda shape: _wide(shape) and shape.nodes % 2 == 0, made(2), made(1))


_MESH = """cat > mesh_train.py <<'PY'
import torch
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cuda", {}, mesh_dim_names={})
PY
"""


def _mesh(shape: Shape, turned: bool) -> bytes | None:
    size = shape.nodes, shape.each
    dims = f"({size[1]}, {size[0]})", '("tp", "dp")'
    dims = (f"({size[0]}, {size[1]})", '("dp", "tp")') if not turned else dims
    text = shape.told("", _MESH.format(*dims))
    at = shape.script.line.start + len(_MESH.format(*dims))
    return text[:at] + re.sub(_PROGRAM, b"mesh_train.py", text[at:], count=1) if text is not None else None


def _near(shape: Shape) -> bool:
    near, hardware = shape.hardware.near, shape.hardware
    distinct = len(set(near)) == len(near) == shape.each and len(near) > 1
    return distinct and shape.outer in ("srun", "mpiexec") and shape.is_tasks and hardware.gpus == shape.each


def _lists(shape: Shape, wrong: bool) -> list[str]:
    near = [sorted(cores - shape.hardware.reserved) for cores in shape.hardware.near]
    near = near[1:] + near[:1] if wrong else near
    return [f"{cores[0]}-{cores[-1]}" for cores in near]


def _mask(text: str) -> str:
    low, _, high = text.partition("-")
    return hex(sum(1 << cpu for cpu in range(int(low), int(high) + 1)))


_LOCAL = {"srun": "$SLURM_LOCALID", "mpiexec": "$PALS_LOCAL_RANKID"}


def _bound(name: str, made: Callable[[Shape, list[str]], "bytes | None"]) -> Slip:
    def change(wrong: bool) -> Change:
        return lambda shape: made(shape, _lists(shape, wrong)) if b"bind" not in shape.script.launch else None

    return Slip(f"bound {name}", _near, change(True), change(False))


def _wrapper(shape: Shape, lists: list[str], word: str, array: bool) -> bytes | None:
    local = _LOCAL[shape.outer]
    if array:
        body = f'C=({" ".join(lists)})\nexec {word} ${{C[{local}]}} "$@"\n'
    else:
        body = f"case {local} in\n" + "".join(f"  {at}) c={cpus} ;;\n" for at, cpus in enumerate(lists))
        body += f'esac\nexec {word} $c "$@"\n'
    return shape.told("", f"cat > bind.sh <<'W'\n#!/bin/bash\n{body}W\nchmod +x bind.sh\n", "./bind.sh ")


def _agent_wrapper(shape: Shape, wrong: bool) -> bytes | None:
    """Workers of torchrun, each with a wrapper that reads LOCAL_RANK."""
    lists = _lists(shape, wrong)
    body = "".join(f"  {at}) c={cpus} ;;\n" for at, cpus in enumerate(lists))
    body = f'case $LOCAL_RANK in\n{body}esac\nexec taskset -c $c "$@"\n'
    name = "$HOME/bind.sh" if re.search(rb"\bcd\b", shape.script.launch) else "./bind.sh"
    before = f"cat > {name} <<'W'\n#!/bin/bash\n{body}W\nchmod +x {name}\n"
    return shape.told("", before, f"--no-python {name} python ")


def _of_agent(shape: Shape) -> bool:
    near = shape.hardware.near
    return shape.inner == "torchrun" and shape.hardware.gpus == shape.each == len(set(near)) and b"python" not in (
        shape.script.launch.rpartition(b"torchrun")[2])  # fmt: skip


def _network(word: str) -> Callable[[Shape], bool]:
    return lambda shape: shape.nodes > 1 and shape.each > 1 and word in shape.hardware.network.lower()


def _setting(name: str, network: str, wrong: str, twin: str) -> Slip:
    def made(line: str) -> Change:
        def change(shape: Shape) -> bytes | None:
            variable = line.partition("=")[0].encode()
            return shape.told("", f"export {line}\n") if variable not in shape.script.text else None

        return change

    return Slip(f"network {name}", _network(network), made(wrong), made(twin))


def _shared(name: str, wrong: Change, twin: Change, outer: str = "srun") -> Slip:
    return Slip(f"shared {name}", lambda shape: shape.is_tasks and shape.each > 1 and shape.outer == outer, wrong, twin)


def _on_one_core(outer: str) -> Slip:
    """Every rank behind `taskset -c 0`, as another launcher than srun starts it."""
    return _shared(
        f"taskset by {outer}", lambda s: s.told("", "", "taskset -c 0 ") if b"bind" not in s.script.launch else None,
        lambda s: s.told("", "", f"taskset -c {_all_cores(s)} ") if b"bind" not in s.script.launch else None, outer,
    )  # fmt: skip


_COUNT = re.compile(rb"\s(?:-n|-np|--np)\b")


def _rank_file(shape: Shape, in_turn: bool) -> bytes | None:
    """A rankfile of Open MPI that deals ranks in turn, or fills one node after the other."""
    count = shape.nodes * shape.each
    node_of = [rank % shape.nodes if in_turn else rank // shape.each for rank in range(count)]
    lines = "".join(f"rank {rank}=+n{node} slot={rank // shape.nodes}\n" for rank, node in enumerate(node_of))
    words = "--rankfile ranks.map" + ("" if _COUNT.search(shape.script.launch) else f" -np {count}")
    return shape.by(words, _tp(shape, shape.each), f"cat > ranks.map <<R\n{lines}R\n")


def _of_open_mpi(shape: Shape) -> bool:
    launch = shape.script.launch
    placed = re.search(rb"\s(?:--?map-by|--?rank-by|-N|--?ppn|--?npernode|--?hostfile|-f|--?machinefile)\b", launch)
    return launch.startswith(b"mpirun") and shape.is_tasks and shape.nodes > 1 and shape.each > 1 and not placed


def _by_accelerate(shape: Shape, times: int) -> bytes | None:
    """Accelerate's own option for Megatron's tensor axis, behind its launcher."""
    text = shape.told("")
    option = b" --megatron_lm_tp_degree %d" % (shape.each * times)
    at = shape.script.line.start
    return text[:at] + text[at:].replace(b"accelerate launch", b"accelerate launch" + option, 1) if text else None


def _axes_of_jax(shape: Shape, turned: bool) -> bytes | None:
    size, names = (shape.nodes, shape.each), '("data", "tensor")'
    size, names = ((shape.each, shape.nodes), '("tensor", "data")') if turned else (size, names)
    text = f"cat > mesh_train.py <<'PY'\nimport jax\nmesh = jax.make_mesh({size}, {names})\nPY\n"
    made, at = shape.told("", text), shape.script.line.start + len(text)
    return made[:at] + re.sub(_PROGRAM, b"mesh_train.py", made[at:], count=1) if made is not None else None


def _ports_by_memory(shape: Shape) -> bool:
    return (_dealt(shape) and len(shape.hardware.numa) > 1 and "slingshot" in shape.hardware.network.lower()
            and b"bind" not in shape.script.launch)  # fmt: skip


def _all_cores(shape: Shape) -> str:
    return f"0-{(shape.hardware.cores or 64) - 1}"


_YAML = "cat > nanotron.yaml <<Y\nparallelism:\n  dp: %\n  pp: 1\n  tp: @\nY\n"
_TOML = "TP=@\ncat > titan.toml <<T\n[parallelism]\ntensor_parallel_degree = $TP\nT\n"
_JSON = 'cat > ds.json <<J\n{"bf16": {"enabled": true}, "tensor_parallel": {"autotp_size": @}}\nJ\n'
_READ = 'sizes() { case $1 in big) echo @ 1 ;; *) echo 1 1 ;; esac; }\nread -r TP PP <<< "$(sizes big)"\nexport TP PP\n'
SLIPS = [
    _dealing("-m", "-m cyclic", "-m block"),
    _dealing("--distribution=", "--distribution=cyclic:cyclic", "--distribution=block:cyclic"),
    _dealing("--distribution ", "--distribution cyclic", "--distribution block"),
    _dealing("-m plane", "-m plane=1", "-m plane={each}"),
    _directive("directive", "--distribution=cyclic", "--distribution=block"),
    _directive("short directive", "-m cyclic", "-m *:cyclic"),
    Slip("dealing variable", _dealt, lambda s: s.told(_tp(s, s.each), "export SLURM_DISTRIBUTION=cyclic\n"),
         lambda s: s.told("", "export SLURM_DISTRIBUTION=cyclic\n")),
    Slip("dealing --map-by node",
         lambda s: s.outer == "mpiexec" and s.is_tasks and s.nodes > 1 and s.each > 1 and b"ppn" not in s.script.launch,
         lambda s: s.by("--map-by node", _tp(s, s.each)) if b"map-by" not in s.script.launch else None,
         lambda s: s.by("--map-by slot", _tp(s, s.each)) if b"map-by" not in s.script.launch else None),
    _size("megatron", " --tensor-model-parallel-size @"),
    _size("megatron by a variable", " --tensor-model-parallel-size $TP", "export TP=@\n"),
    _size("megatron by read", " --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP", _READ),
    _size("torchtitan words", " --parallelism.tensor_parallel_degree=@"),
    _size("NeMo override", " model.tensor_model_parallel_size=@"),
    _size("NeMo ++override", " ++trainer.strategy.tensor_model_parallel_size=@"),
    _size("short words", " --tp @"),
    _size("mesh in a word", " --mesh dp=%,tp=@"),
    _size("nanotron yaml", " --config-file nanotron.yaml", _YAML),
    _size("torchtitan toml", " --job.config_file titan.toml", _TOML),
    _size("DeepSpeed json", " --deepspeed ds.json", _JSON),
    Slip("wide Accelerate", lambda s: _wide(s) and s.inner == "accelerate",
         lambda s: _by_accelerate(s, 2), lambda s: _by_accelerate(s, 1)),
    _size("MaxText words", " ici_tensor_parallelism=@"),
    Slip("outer dimension of JAX", lambda s: _wide(s) and s.is_tasks and b".py" in s.script.launch,
         lambda s: _axes_of_jax(s, True), lambda s: _axes_of_jax(s, False)),
    Slip("dealing --rankfile", _of_open_mpi, lambda s: _rank_file(s, True), lambda s: _rank_file(s, False)),
    Slip("network MPICH_OFI_NIC_POLICY", _ports_by_memory,
         lambda s: s.by("--cpu-bind=none", before="export MPICH_OFI_NIC_POLICY=NUMA\n"),
         lambda s: s.by("--cpu-bind=none", before="export MPICH_OFI_NIC_POLICY=GPU\n")),
    Slip("outer dimension of a mesh", lambda s: _wide(s) and b".py" in s.script.launch,
         lambda s: _mesh(s, True), lambda s: _mesh(s, False)),
    _bound("map_cpu", lambda s, lists: s.by("--cpu-bind=map_cpu:" + ",".join(one.split("-")[0] for one in lists))
           if s.outer == "srun" else None),
    _bound("mask_cpu", lambda s, lists: s.by("--cpu-bind=mask_cpu:" + ",".join(map(_mask, lists)))
           if s.outer == "srun" else None),
    _bound("SLURM_CPU_BIND", lambda s, lists: s.told("", "export SLURM_CPU_BIND=mask_cpu:"
           + ",".join(map(_mask, lists)) + "\n") if s.outer == "srun" else None),
    _bound("list of PALS", lambda s, lists: s.by("--cpu-bind=list:" + ":".join(lists))
           if s.outer == "mpiexec" else None),
    _bound("wrapper, case and taskset", lambda s, lists: _wrapper(s, lists, "taskset -c", False)),
    _bound("wrapper, array and numactl", lambda s, lists: _wrapper(s, lists, "numactl -C", True)),
    Slip("bound wrapper of an agent", _of_agent, lambda s: _agent_wrapper(s, True), lambda s: _agent_wrapper(s, False)),
    _shared("map_cpu", lambda s: s.by("--cpu-bind=map_cpu:0") if b"bind" not in s.script.launch else None,
            lambda s: s.by("--cpu-bind=none") if b"bind" not in s.script.launch else None),
    _shared("taskset", lambda s: s.told("", "", "taskset -c 0 "),
            lambda s: s.told("", "", f"taskset -c {_all_cores(s)} ")),
    _on_one_core("ibrun"),
    _on_one_core("mpiexec"),
    _shared("GOMP_CPU_AFFINITY", lambda s: s.told("", "export GOMP_CPU_AFFINITY=0-1\n"),
            lambda s: s.told("", "export OMP_PROC_BIND=false\n")),
    _setting("NCCL_IB_DISABLE", "infiniband", "NCCL_IB_DISABLE=1", "NCCL_IB_DISABLE=0"),
    _setting("NCCL_NET", "infiniband", "NCCL_NET=Socket", "NCCL_NET=IB"),
    _setting("UCX_TLS", "infiniband", "UCX_TLS=tcp,self", "UCX_TLS=rc,self,sm"),
    _setting("NCCL_IB_HCA of another", "infiniband", "NCCL_IB_HCA=hsn0", "NCCL_IB_HCA=mlx5"),
    _setting("NCCL_SOCKET_IFNAME", "infiniband", "NCCL_SOCKET_IFNAME=lo", "NCCL_SOCKET_IFNAME=ib0"),
    _setting("FI_PROVIDER", "slingshot", "FI_PROVIDER=tcp", "FI_PROVIDER=cxi"),
    _setting("NCCL_NET", "slingshot", "NCCL_NET=Socket", "FI_CXI_RX_MATCH_MODE=software"),
    _setting("NCCL_SOCKET_IFNAME of another", "slingshot", "NCCL_SOCKET_IFNAME=ib0", "NCCL_SOCKET_IFNAME=hsn"),
    _setting("NCCL_NET_GDR_LEVEL", "slingshot", "NCCL_NET_GDR_LEVEL=LOC", "NCCL_NET_GDR_LEVEL=PHB"),
    Slip("segment", lambda s: s.nodes > 2 and not s.script.is_pbs and s.outer == "srun",
         lambda s: s.asked(f"--segment={s.nodes - 1}", ""), lambda s: s.asked(f"--segment={s.nodes}", "")),
]  # fmt: skip


@cache
def shapes() -> tuple[Shape, ...]:
    """Return the right scripts with known ranks, of which nothing is said as they are."""
    return tuple(shape for script in rights() if (shape := _shape(script)) is not None)


def _shape(script: Script) -> Shape | None:
    plan = _asked(script, script.text)[1]
    steps = [step for step in plan.steps if step.links] if plan is not None else []
    if plan is None or len(steps) != 1 or len(steps[0].groups) != 1 or _said(script, script.text):
        return None
    step, group = steps[0], steps[0].groups[0]
    if not group.ranks_per_node or not step.nodes or step.maybe or step.unknown or step.breaches:
        return None
    here = site(script.case.site)
    hardware = cases.hardware(plan, here) if here.id in sites.ids() else Hardware()
    return Shape(script, step.nodes, group.ranks_per_node, step.links[0].name, step.links[-1].name, hardware)


def _asked(script: Script, text: bytes) -> tuple[tuple[str, ...], LaunchPlan | None]:
    with tempfile.TemporaryDirectory(prefix="maple-mapping-") as folder:
        asked, decision = ask(script.case._replace(script=text), folder)
        if decision.plan is None:
            return (), None
        rules = [f"{one.code} {one.says}" for one in decision.findings if one.code in blind.RULES]
        told = [one.sentence for one in cases.of_mapping(decision, asked, site(script.case.site))]
        return (*rules, *told), decision.plan


def _said(script: Script, text: bytes) -> tuple[str, ...]:
    return _asked(script, text)[0]


class Row(NamedTuple):
    """A slip in one script: whether it is *found*, and its twin *accused*; None where it could not be made."""

    slip: str
    name: str
    found: bool | None
    accused: bool | None
    says: tuple[str, ...] = ()


def made(slip: Slip, most: int = 4) -> Iterator[Row]:
    """Yield up to *most* scripts with a slip, of as many sites as there are."""
    fitting = [shape for shape in shapes() if slip.where(shape)]
    seen: Counter[str] = Counter()
    fitting.sort(key=lambda shape: seen.update([shape.script.case.site]) or seen[shape.script.case.site])
    for shape in fitting:
        wrong, twin = slip.wrong(shape), slip.twin(shape)
        if not sound(wrong, shape.script) or wrong is None:
            continue
        accused = _said(shape.script, twin) if twin is not None and sound(twin, shape.script) else None
        name = f"{shape.script.case.site} {shape.script.case.name}"
        yield Row(slip.name, name, bool(_said(shape.script, wrong)), bool(accused) if accused is not None else None,
                  accused or ())  # fmt: skip
        most -= 1
        if not most:
            return


def table(rows: list[Row]) -> str:
    """Return found and accused of each slip, the worst first."""
    lines = []
    for name in dict.fromkeys(row.slip for row in rows):
        mine = [row for row in rows if row.slip == name]
        found, twins = sum(bool(row.found) for row in mine), [row for row in mine if row.accused is not None]
        accused = sum(bool(row.accused) for row in twins)
        lines.append(
            (found / len(mine), f"  {name:<32} found {found} of {len(mine)}, twins accused {accused} of {len(twins)}")
        )
    found, accused = sum(bool(row.found) for row in rows), sum(bool(row.accused) for row in rows)
    twins = sum(row.accused is not None for row in rows)
    head = f"slips found {found} of {len(rows)}, twins accused {accused} of {twins}, {len(shapes())} right scripts"
    return "\n".join([head, *(line for _, line in sorted(lines))])


def measured(word: str = "", most: int = 4) -> list[Row]:
    """Return the rows of all slips, or of those whose name has a word."""
    return [row for slip in SLIPS if word in slip.name for row in made(slip, most)]


if __name__ == "__main__":
    everything = measured(*sys.argv[1:2])
    print(table(everything))
    for row in everything:
        if not row.found or row.accused:
            print("   ", "missed" if not row.found else "ACCUSED", row.slip, "/", row.name, *row.says[:1])
