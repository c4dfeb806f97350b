"""Sizes that the program is told, and the processes that start."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional

from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding, counted
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import gpu_count
from ..program_text import Named, is_rank, named_values, parallel_parts, place_of

# What the last part of an option's name counts, as Lightning, NeMo, JAX's examples and Megatron-LM spell it.
_NODES = ("num_nodes", "n_nodes")
_WORLD = ("num_processes", "n_processes", "process_count", "num_procs", "nprocs", "n_procs", "num_ranks", "world_size")
_EACH = ("gpus_per_node", "num_gpus_per_node", "n_gpus_per_node", "procs_per_node", "local_world_size")

_SERVE = re.compile(rb"(?m)^(?![ \t]*#)[^\n]*\bvllm(?:[ \t]+serve|\.entrypoints)\b(?:[^\n\\]|\\\n|\\.)*")
_SIZE = re.compile(rb"(?<=[ \t])(--tensor-parallel-size|-tp|--pipeline-parallel-size|-pp)[ =](\d{1,4})(?![\w.])")


class _Starts(NamedTuple):
    """What a launch line starts, as far as it is known."""

    nodes: int
    each: Optional[int]  # ranks on a node
    world: int


@rule("MPL325", "the program is told another size than what starts")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A program that is told how many nodes, ranks or parallel parts there are must be told what the launcher starts.

    Wrong: #SBATCH --nodes=4 ... srun python train.py --trainer.num_nodes=2
    Wrong: srun --ntasks=8 python train.py --num_processes=$SLURM_NNODES --process_id=$SLURM_PROCID
    Wrong: eight ranks, and --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4
    Wrong: 32 ranks in 8 replicas, and --micro-batch-size 4 --global-batch-size 100
    Wrong: vllm serve MODEL --tensor-parallel-size 8, on four GPUs
    Right: --trainer.num_nodes=4; --num_processes=$SLURM_NTASKS; sizes whose product divides the 8 ranks
    Why:   Lightning ends or builds two worlds, JAX refuses a process id beyond the number, Megatron-LM says that the
           world size is not divisible. `maple check` shows the change; at submission Maple only reports it: what a
           program makes of its arguments is for the program to say.
    """
    yield from _of_server(plan, job)
    for step in plan.steps:
        starts = _starts(step)
        if starts is None or step.maybe:
            continue
        named = [value for value in named_values(step.program) if value.value.isdigit() and len(value.value) < 6]
        yield from _counts(named, starts, step, job)
        parts = parallel_parts(named)
        yield from _parts(parts, starts, step, job)
        yield from _batch(named, parts, starts, step, job)


def _of_server(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that vLLM, which starts its ranks itself, is told more of them than the one node has GPUs for."""
    given, counts = plan.allocation, [kind.gpus for kind in plan.allocation.node_kinds]
    here = given.gpus_per_node or gpu_count(job.settings, "gpus") or max((count or 0 for count in counts), default=0)
    many = given.nodes != 1 and ("nodes" in job.settings or "select" in job.settings) or b"ray" in job.source
    for match in _SERVE.finditer(joined(job.source)) if here and not many else ():
        sizes = {}
        for size in _SIZE.finditer(job.source, *match.span()):
            sizes[size.group(1)] = size
        product = 1
        for size in sizes.values():
            product *= int(size.group(2))
        if product > here:
            at = Span(*next(iter(sizes.values())).span(2))
            fix = Fix((Edit(at, b"%d" % here, "MPL325"),), Safety.ASK, "%d parts" % here)
            says = "the server wants %d GPUs, and the node gives it %d" % (product, here)
            yield Finding("MPL325", says, at, fixes=(fix,) if len(sizes) == 1 else (),
                          help="as many parts as there are GPUs, or more GPUs")  # fmt: skip


def _starts(step: Step) -> Optional[_Starts]:
    """Return what starts where all of it is ranks of one world, None otherwise.

    A server that is started once a node begins its ranks itself, as what runs `torchrun` in its turn does.
    """
    if not is_rank(step) or len(step.groups) != 1 or not step.nodes or step.breaches:
        return None
    group = step.groups[0]
    world = group.world_size or (step.tasks if group.launcher not in AGENTS else None) or 0
    return _Starts(step.nodes, group.ranks_per_node, world) if world > 1 else None


def _counts(named: List[Named], starts: _Starts, step: Step, job: Job) -> Iterator[Finding]:
    """Yield the counts that are none of what starts."""
    for size in named:
        count = int(size.value)
        if size.last in _NODES and count and count != starts.nodes:
            yield _finding(size, "node", starts.nodes, step, job)
        elif size.last in _WORLD and count != starts.world and _is_another_count(size.last, count, starts):
            yield _finding(size, "process", starts.world, step, job)
        elif size.last in _EACH and starts.each and count not in (starts.each, starts.world, 0):
            yield _finding(size, "process", starts.each, step, job)


def _is_another_count(name: str, count: int, starts: _Starts) -> bool:
    """Return whether a number is surely a count of the launch: `--num-processes 3` may be readers of data."""
    return name == "world_size" or (count > 1 and count in (starts.nodes, starts.each))


def _finding(named: Named, noun: str, right: int, step: Step, job: Job) -> Finding:
    where = "on each node " if named.last in _EACH else ""
    does = "starts on" if noun == "node" else "starts"
    many = counted(right, noun)
    says = "the program is told %s=%s, but the launch line %s %s %s" % (
        named.name.decode("utf-8", "replace"), named.value.decode("utf-8", "replace"), does, many, where)  # fmt: skip
    fix = _restated(named, right, step, job)
    return Finding("MPL325", says.rstrip(), place_of(named, step), fixes=(fix,) if fix is not None else (),
                   help="say what starts, or start what is said")  # fmt: skip


def _batch(named: List[Named], sizes: Dict[str, Named], starts: _Starts, step: Step, job: Job) -> Iterator[Finding]:
    """Yield that Megatron's global batch is no multiple of the micro batch times the replicas of the model."""
    batch = {size.last: size for size in named if size.last in ("micro_batch_size", "global_batch_size")}
    parts = 1
    for size in sizes.values():
        parts *= int(size.value)
    if len(batch) != 2 or starts.world % parts or not int(batch["micro_batch_size"].value):
        return
    micro, whole = (int(batch[name].value) for name in ("micro_batch_size", "global_batch_size"))
    replicas = starts.world // parts
    if whole and whole % (micro * replicas):
        named_whole, fits = batch["global_batch_size"], max(whole // (micro * replicas), 1) * micro * replicas
        fix = _restated(named_whole, fits, step, job)
        says = "a global batch of %d is no multiple of %d x %d, the micro batch times the %d replicas" % (
            whole, micro, replicas, replicas)  # fmt: skip
        yield Finding("MPL325", says, place_of(named_whole, step), fixes=(fix,) if fix is not None else (),
                      help="Megatron-LM ends at once: take a multiple of %d" % (micro * replicas))  # fmt: skip


def _parts(sizes: Dict[str, Named], starts: _Starts, step: Step, job: Job) -> Iterator[Finding]:
    """Yield that the parallel parts of a model do not divide the world."""
    product = 1
    for size in sizes.values():
        product *= int(size.value)
    if not sizes or starts.world % product == 0:
        return
    shown = " x ".join("%s %d" % (kind, int(size.value)) for kind, size in sizes.items())
    need = "needs" if len(sizes) == 1 else "need"
    says = "%s %s a multiple of %d ranks, and %d start" % (shown, need, product, starts.world)
    last = list(sizes.values())[-1]
    yield Finding("MPL325", says, place_of(last, step), fixes=tuple(_smaller(sizes, product, starts, step, job)),
                  help="the number of ranks must be a multiple of the product")  # fmt: skip


def _smaller(sizes: Dict[str, Named], product: int, starts: _Starts, step: Step, job: Job) -> Iterator[Fix]:
    """Yield a size that one of the parts could have while the others stay; the pipeline's first, which costs least."""
    for kind in sorted(sizes, key=lambda name: name != "pipeline parallel"):
        others = product // int(sizes[kind].value)
        room = starts.world // others if starts.world % others == 0 else 0
        fits = [size for size in range(min(room, int(sizes[kind].value)), 0, -1) if room % size == 0]
        fix = _restated(sizes[kind], fits[0], step, job) if fits else None
        if fix is not None:
            yield fix


def _restated(named: Named, right: int, step: Step, job: Job) -> Optional[Fix]:
    """Say another number where the value stands in the script as such; a variable in its place that tasks read."""
    span = place_of(named, step)
    if span is None:
        return None
    head, _, value = job.source[span.start : span.end].rpartition(b"=")
    start = span.end - len(value)
    new = _of_task(named, right, step) if b"$" in value else b"%d" % right
    if b"$" in head or (b"$" not in value and value.strip(b"\"'") != named.value):
        return None
    edit = Edit(Span(start, span.end), new, "MPL325")
    return Fix((edit,), Safety.ASK, "%s %s" % (named.name.decode("utf-8", "replace"), new.decode()))


def _of_task(named: Named, right: int, step: Step) -> bytes:
    """Return the number, or what srun tells each of its tasks, where the task's own shell reads the word."""
    inside = bool(step.links) and step.links[0].name == "srun" and step.links[-1].quoted == b"'"
    return b"$SLURM_NTASKS" if inside and named.last in _WORLD and right == step.tasks else b"%d" % right
