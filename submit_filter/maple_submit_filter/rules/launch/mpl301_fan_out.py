"""One launcher a node, not one a task."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from ...cures.host_loops import on_its_host
from ...cures.launch_edits import by_directive, once_a_node, placed, put
from ...cures.option_edits import restate
from ...launchers.rank_words import takers
from ...launchers.registry import OUTER
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Step
from ...types.text import number
from .. import rule


@rule("MPL301", "a launcher that starts all ranks of a node runs several times on it")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """torchrun, accelerate and deepspeed start the ranks of a node themselves, so one of them belongs on each node.

    Wrong: #SBATCH --ntasks-per-node=4 ... srun torchrun --nnodes=2 --nproc-per-node=4 train.py
    Right: srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 train.py
    Why:   4 tasks with 4 workers each make 16 ranks for 4 GPUs; the rendezvous takes the agents that come first, all
           on one node, and the others fail. srun must be told --ntasks too: it inherits SLURM_NTASKS, which beats
           --ntasks-per-node on its line (measured, Slurm 22.05). The one task gets the CPUs of all four.
           Where the tasks fill the GPUs of a node and the workers of one do not, Maple asks first. A loop over the
           job's hosts whose line names none of them gets --nodelist="$host".
    """
    for step in plan.steps:
        yield from _several_runners(step)
        for breach in step.breaches:
            most, twice = breach.numbers.get("most on a node"), breach.numbers.get("together")
            together = (
                twice if breach.kind == breach_kinds.GPU_TWICE else most if breach.kind == breach_kinds.AGENTS else None
            )
            if together and together > 1 and step.links:
                yield _finding(step, breach, together, plan, job, site)
                break


def _several_runners(step: Step) -> Iterator[Finding]:
    """Yield that a runner which reaches all nodes of its hostfile is started on more than one of them."""
    outer, inner = (step.links[0], step.links[-1]) if len(step.links) == 2 else (None, None)
    if outer is None or inner is None or (outer.name, inner.name) != ("srun", "deepspeed") or step.maybe:
        return
    alone = inner.option("hostfile") is None or inner.option("no-ssh", "launcher", "node-rank") is not None
    if alone or inner.open or (step.tasks or 1) < 2 or step.breaches:
        return
    says = "deepspeed reaches the nodes of its hostfile itself, and srun would start it %d times" % (step.tasks or 0)
    ends = inner.name_span.start if inner.name_span is not None else None
    begins = outer.name_span.start if outer.name_span is not None else None
    fixes: List[Fix] = []
    if begins is not None and ends is not None and begins < ends:
        fixes.append(Fix((Edit(Span(begins, ends), b"", "MPL301"),), Safety.ASK, "start it once, in the batch shell"))
    yield Finding("MPL301", says, outer.name_span, fixes=tuple(fixes),
                  help="start it without srun, or with --no_ssh and --node_rank")  # fmt: skip


def _finding(step: Step, breach: Breach, together: int, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    inner = step.links[-1]
    where = "each node" if step.nodes or together == 1 else "some node"  # where nobody knows how many nodes there are
    says = "%s starts all ranks of a node, but %d copies of it would start on %s" % (inner.name, together, where)
    outer = next((link for link in step.links if link.name in OUTER), step.links[0])
    return Finding("MPL301", says, outer.name_span, True, fixes=tuple(_fixes(step, outer, plan, job, site)),
                   help="start one task per node")  # fmt: skip


def _fixes(step: Step, outer: Link, plan: LaunchPlan, job: Job, site: Site) -> Iterator[Fix]:
    why = "MPL301"
    apart_by_host = on_its_host(step, plan, job.source, why)
    if apart_by_host:
        yield apart_by_host[0]
        return
    line = once_a_node(step, outer, plan, why) if outer.name == "srun" else None
    nodes = step.nodes or plan.allocation.nodes
    if outer.name == "mpiexec" and nodes:
        line = _mpiexec(outer, step, nodes, site)
    safety = Safety.ASK if _fewer_than_gpus(step, plan) else Safety.SAFE
    if line:
        yield Fix(tuple(line), safety, "one %s per node" % step.links[-1].name)
    apart = _scattered(step, job)
    if apart is not None:
        yield apart
    asked = by_directive(job, plan, step, why) if outer.name not in OUTER or OUTER[outer.name].reads_job else None
    if asked:
        yield Fix(tuple(asked), safety, "one task, and so one %s, per node" % step.links[-1].name)


def _scattered(step: Step, job: Job) -> Optional[Fix]:
    """Ask for a host for each chunk, where the copies run on one because all chunks were packed there."""
    place = job.settings.get("place")
    if place is None or b"pack" not in place.value.split(b":") or step.links[0].name not in ("ssh", "pbsdsh"):
        return None
    made = restate(job, place, place.value.replace(b"pack", b"scatter"), "MPL301")
    return made.fix(Safety.ASK, "each chunk on a host of its own") if made is not None else None


def _fewer_than_gpus(step: Step, plan: LaunchPlan) -> bool:
    """Return whether the tasks of a node fill its GPUs, and the workers of one task do not: which are ranks?"""
    gpus, workers = plan.allocation.gpus_per_node, step.workers_per_task
    return bool(gpus and workers) and step.tasks_per_node == gpus and (workers or 0) < (gpus or 0)


def _mpiexec(outer: Link, step: Step, nodes: int, site: Site) -> List:  # type: ignore[type-arg]
    """Give each node one rank: the options of the maker that the line already speaks to."""
    total = outer.option("np", "n")
    if total is None or total.value_span is None:
        return []
    cpus = _cpus_of_all(outer, step) if takers(outer, site) == ("pals",) else []
    for name, value in (("map-by", b"ppr:1:node"), ("npernode", b"1"), ("ppn", b"1"), ("N", b"1")):
        if outer.option(name) is not None:
            return put(outer, [(total.name, b"%d" % nodes), (name, value), *cpus], "MPL301") or []
    words = _ONE.get(takers(outer, site), b"")
    edits = placed(outer, words, "MPL301") if words else []
    return edits + (put(outer, [(total.name, b"%d" % nodes), *cpus], "MPL301") or []) if edits else []


_ONE: Dict[Tuple[str, ...], bytes] = {
    ("openmpi",): b"--map-by ppr:1:node",
    ("pals",): b"--ppn 1",
    ("hydra",): b"-ppn 1",
}


def _cpus_of_all(outer: Link, step: Step) -> List[Tuple[str, bytes]]:
    """Return what gives the one rank of a node the CPUs that all had there: PALS binds each rank to few."""
    depth, bind = outer.option("depth"), outer.option("cpu-bind")
    each = number(depth.value) if depth is not None else None
    if each and step.tasks_per_node and (bind is None or bind.value is None or bind.value.raw.endswith(b"depth")):
        return [("depth", b"%d" % (each * step.tasks_per_node))]
    return [("cpu-bind", b"none")]
