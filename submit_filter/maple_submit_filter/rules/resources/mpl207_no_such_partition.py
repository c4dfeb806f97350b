"""A partition or queue that the cluster has not."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Sequence, Tuple

from ...cures.option_edits import at, restate
from ...cures.places import moves, needs_of, queues, through_route
from ...launchers.registry import AGENTS
from ...request.scheduler_words import is_pbs, option
from ...request.slurm import values
from ...request.unread_directives import other_scheduler
from ...site.facts import ForeignName, Site, foreign_names
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asks_for_gpus, gpu_count, judged, text
from ..spelling import alike, nearest

_RESERVATION = r"[RSM]\d+(?:\.|\Z)"  # the queue of an advance reservation is called as it is


@rule("MPL207", "no such partition or queue")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A partition or queue must exist, letter for letter, and a queue must be one that jobs may name.

    Wrong: #SBATCH --partition=gpu-A100, where the queue is called gpu-a100; #PBS -q debugging
    Right: #SBATCH --partition=gpu-a100; #PBS -q debug
    Wrong: #SBATCH --partition=gpuA100x4, which is Delta's, on DeltaAI
    Right: #SBATCH --partition=ghx4
    Why:   Slurm says: invalid partition specified; qsub: Unknown queue, or: Access to queue is denied, where only a
           routing queue leads to it. It is certain only where the site file lists every one; otherwise Maple points
           out what the file does not know, because there may be others.
    """
    selector = "queue" if is_pbs(job) else "partition"
    known = [partition.name for partition in site.partitions if partition.selector == selector and not partition.routed]
    names = [name for name in text(job.settings, selector).split(",") if name and "$" not in name]
    if not judged(job, site) or not known:
        return
    if is_pbs(job):
        yield from _routed(job, site)
    for name in names:
        if is_pbs(job) and (re.match(_RESERVATION, name) or any(partition.name == name for partition in queues(site))):
            continue
        near = [other for other in known if alike(name, other)]
        if name not in known and not near:
            foreign = [foreign_name for foreign_name in foreign_names(site, selector) if foreign_name.name == name]
            if foreign or (not site.partitions_complete and _wants_gpus(plan, job)):
                yield _unlisted(name, foreign, plan, job, site, known)
                continue
        if name not in known and (site.partitions_complete or len(near) == 1):
            yield _finding(job, name, near, known, site.partitions_complete)


def _wants_gpus(plan: LaunchPlan, job: Job) -> bool:
    """Return whether a job wants GPUs, whose partitions a site file lists first."""
    if other_scheduler(job):
        return False  # the name is a queue's, and MPL104 speaks of all directives
    agents = any(step.links and step.links[-1].name in AGENTS for step in plan.steps)
    return agents or (not is_pbs(job) and asks_for_gpus(job.settings))


def _unlisted(
    named: str, foreign: Sequence[ForeignName], plan: LaunchPlan, job: Job, site: Site, known: Sequence[str]
) -> Finding:
    """A name that may be of another cluster, or of another year; what has as many GPUs on a node stands in for it."""
    selector = "queue" if is_pbs(job) else "partition"
    where = ", ".join(dict.fromkeys(foreign_name.site for foreign_name in foreign))
    there = foreign[0].gpus if foreign else None
    says = "there is no %s %s" if site.partitions_complete else "the site file lists no %s %s"
    fixes: Tuple[Fix, ...] = ()
    if not is_pbs(job) and "," not in text(job.settings, selector):
        for gpus in dict.fromkeys((_gpus_a_node(job) or there, min(1, there or 0))):
            fixes += tuple(moves(job, site, needs_of(job, gpus), _kinds_like(gpus, site), "MPL207"))
    says = says % (selector, named) + ("; %s has one" % where if where else "")
    fixes = tuple(dict.fromkeys(_renamed(job, named, "" if foreign else nearest(named, known)) + fixes))[:3]
    return Finding("MPL207", says, at(job.settings.get(selector)), site.partitions_complete, selector, fixes,
                   "available: %s" % ", ".join(known), selector)  # fmt: skip


def _gpus_a_node(job: Job) -> Optional[int]:
    nodes, total = values.nodes(job.settings.value("nodes") or b"1"), gpu_count(job.settings, "gpus")
    spread = -(-total // max(nodes[1], 1)) if total and nodes is not None else None
    return gpu_count(job.settings, "gpus-per-node") or gpu_count(job.settings, "gres") or spread


def _kinds_like(gpus: Optional[int], site: Site) -> Tuple[str, ...]:
    """Return the kinds of node with, or without, GPUs."""
    return tuple(node_kind.name for node_kind in site.kinds if bool(node_kind.gpus) == bool(gpus))


def _routed(job: Job, site: Site) -> Iterator[Finding]:
    """A queue behind a route; where the site file has a word of its own for it, MPL202 says that."""
    setting = job.settings.get("queue")
    row = next(
        (
            partition
            for partition in queues(site)
            if setting is not None and partition.name == text(job.settings, "queue")
        ),
        None,
    )
    if setting is None or row is None or not row.routed or _spoken_of(job, site):
        return
    fix = through_route(setting, job, site, "MPL207")
    yield Finding("MPL207", "%s accepts jobs from its routing queue only: qsub denies access to it" % row.name,
                  at(setting), True, "queue", (fix,) if fix is not None else (), "submit to the routing queue",
                  "queue.%s" % row.name)  # fmt: skip


def _spoken_of(job: Job, site: Site) -> bool:
    from .mpl202_option_refused import refuses

    setting = job.settings.get("queue")
    about = [demand for demand in site.refusals if demand.effect == "refused" and "queue" in demand.options]
    return setting is not None and any(refuses(demand, setting, job) for demand in about)


def _finding(job: Job, name: str, near: List[str], known: Sequence[str], proven: bool) -> Finding:
    selector = "queue" if is_pbs(job) else "partition"
    fixes = _renamed(job, name, nearest(name, known))
    says = "there is no %s %s" if proven else "the site file lists no %s %s"
    helps = "did you mean %s?" % near[0] if len(near) == 1 else "available: %s" % ", ".join(known)
    return Finding(
        "MPL207", says % (selector, name), at(job.settings.get(selector)), proven, selector, fixes, helps, selector
    )


def _renamed(job: Job, name: str, other: str) -> Tuple[Fix, ...]:
    """Write the other name in place of the one that there is not, among those that are listed."""
    selector = "queue" if is_pbs(job) else "partition"
    setting = job.settings.get(selector)
    if setting is None or not other:
        return ()
    words = [other if part == name else part for part in text(job.settings, selector).split(",")]
    made = restate(job, setting, ",".join(words).encode(), "MPL207")
    return (made.fix(Safety.ASK, option(job, selector, ",".join(words))),) if made is not None else ()
