"""More GPUs than the partition gives."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...cures.counts import fewer_on_a_node, on_fewer_nodes
from ...cures.option_edits import at, restate
from ...cures.places import moves, needs_of
from ...request.slurm import values
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import Limit, gpu_count, judged, limit, most_of


@rule("MPL214", "more GPUs than the partition gives", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A partition may give a job fewer GPUs than its nodes have.

    Wrong: #SBATCH --partition=gpu-debug --gpus-per-node=4, on Anvil, where two are the most
    Right: #SBATCH --partition=gpu-debug --gpus-per-node=2
    Why:   such a limit belongs to a QOS, which refuses the job or lets it wait forever. `maple check` shows the change;
           at submission Maple only reports it, because the pages do not tell which.
    """
    if not judged(job, site):
        return
    for finding in (_per_node(plan, job, site), _total(plan, job, site)):
        if finding is not None:
            yield finding._replace(fixes=(*_roomier(finding, plan, job, site), *finding.fixes))
            return


def _roomier(finding: Finding, plan: LaunchPlan, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Choose another partition, or QOS, of the same nodes that gives so many."""
    needs = needs_of(job, _on_node(job) or None)
    if needs.gpus is None:
        each = (gpu_count(job.settings, "gpus-per-task") or 0) * (
            values.whole(job.settings.value("ntasks") or b"") or 0
        )
        needs = needs._replace(gpus=-(-(gpu_count(job.settings, "gpus") or each or 1) // (needs.nodes or 1)))
    kinds = tuple(kind.name for kind in plan.allocation.node_kinds)
    return tuple(moves(job, site, needs, kinds, "MPL214", finding.site_fact.partition(".")[0]))[:1]


def _per_node(plan: LaunchPlan, job: Job, site: Site) -> Optional[Finding]:
    most, there = limit(job, site, "gpus_per_node"), most_of(plan.allocation.node_kinds, "gpus")
    for name in ("gpus-per-node", "gres"):
        count = gpu_count(job.settings, name)
        if most is not None and there and count is not None and most.most < count <= there:
            says = "%s on each node" % counted(most.most, "GPU")
            fixes = tuple(fewer_on_a_node(count, most.most, plan, job, "MPL214", says)) if most.most else ()
            return _finding(job.settings.get(name), count, most, most.most)._replace(fixes=fixes)
    each, tasks = gpu_count(job.settings, "gpus-per-task"), values.whole(job.settings.value("ntasks") or b"")
    alone = values.nodes(job.settings.value("nodes") or b"1") == (1, 1)
    if most is not None and there and each and tasks and alone and most.most < each * tasks <= there:
        return _finding(job.settings.get("ntasks"), each * tasks, most, most.most)
    on_node = _of_tasks_on_node(job)
    if most is not None and there and on_node and most.most < on_node <= there:
        return _finding(job.settings.get("ntasks-per-node"), on_node, most, most.most)
    return None


def _on_node(job: Job) -> int:
    """Return the GPUs that the request says for a node, 0 where it says none."""
    return gpu_count(job.settings, "gpus-per-node") or gpu_count(job.settings, "gres") or _of_tasks_on_node(job)


def _of_tasks_on_node(job: Job) -> int:
    """Return the GPUs on a node where each of its tasks is given some, 0 where that is not said."""
    tasks = values.whole(job.settings.value("ntasks-per-node") or b"") or 0
    return tasks * (gpu_count(job.settings, "gpus-per-task") or 0)


def _total(plan: LaunchPlan, job: Job, site: Site) -> Optional[Finding]:
    """More in all than is given on so many nodes, or to one job; what no nodes have is for MPL204."""
    total, nodes = gpu_count(job.settings, "gpus"), values.nodes(job.settings.value("nodes") or b"") or _of_tasks(job)
    there = most_of(plan.allocation.node_kinds, "gpus")
    if total is None and nodes is not None:
        return _by_nodes(nodes[0], plan, job, site)
    if total is None or (nodes is not None and there is not None and total > nodes[1] * there):
        return None
    on_node, in_all = limit(job, site, "gpus_per_node"), limit(job, site, "max_gpus")
    if in_all is not None and total > in_all.most:
        return _finding(job.settings.get("gpus"), total, in_all, in_all.most)
    if on_node is not None and nodes is not None and total > on_node.most * nodes[1]:
        return _finding(job.settings.get("gpus"), total, on_node, on_node.most * nodes[1])
    return None


def _of_tasks(job: Job) -> Optional[Tuple[int, int]]:
    """Return the nodes of a job that says its tasks and no nodes: it gets no more of them than it has tasks."""
    tasks = values.whole(job.settings.value("ntasks") or b"") if "nodes" not in job.settings else None
    return (1, tasks) if tasks else None


def _by_nodes(nodes: int, plan: LaunchPlan, job: Job, site: Site) -> Optional[Finding]:
    """More in all than one job may have, counted by its nodes."""
    each = _on_node(job)
    in_all = limit(job, site, "max_gpus")
    if not each or in_all is None or each * nodes <= in_all.most:
        return None
    setting, fewer = job.settings.get("nodes"), in_all.most // each
    made = restate(job, setting, b"%d" % fewer, "MPL214") if setting is not None and fewer else None
    less = on_fewer_nodes(plan, job, nodes, fewer, "MPL214") if setting is not None and fewer else None
    ways = (made.fix(Safety.ASK, "--nodes=%d" % fewer) if made is not None else None, less)
    return _finding(setting, each * nodes, in_all, in_all.most)._replace(
        fixes=tuple(dict.fromkeys(fix for fix in ways if fix is not None))
    )


def _finding(setting: Optional[Setting], count: int, by: Limit, most: int) -> Finding:
    says = "%d GPUs, but %s allows at most %d" % (count, by.row.name, most)
    return Finding("MPL214", says, at(setting), help="request fewer, or choose another partition", site_fact=by.key)
