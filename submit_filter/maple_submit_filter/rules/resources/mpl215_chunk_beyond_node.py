"""Chunks that fit no node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Optional, Tuple

from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged

if TYPE_CHECKING:
    from ..limits import Excess


@rule("MPL215", "a chunk asks for more than any node has", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """All that a chunk asks for comes from one host, so one of the nodes that it may land on must have it.

    Wrong: #PBS -l select=2:ngpus=8, on nodes with 4 GPUs
    Right: #PBS -l select=4:ngpus=4
    Why:   qsub takes the job, and it stays queued forever: Not Running: Insufficient amount of resource: ngpus. It
           is certain only where every kind of node that the job may land on is known. Maple asks first: fewer GPUs
           mean fewer ranks, or more chunks, and only you know which was meant.
    """
    from ...play.pbs_allocation import chunks_of
    from ..limits import beyond

    if not judged(job, site):
        return
    for chunk in chunks_of(job.settings):
        for excess in beyond(chunk, plan.allocation.node_kinds):
            yield _finding(excess, plan, job)


def _finding(excess: Excess, plan: LaunchPlan, job: Job) -> Finding:
    from ...cures.counts import fewer_on_a_node  # few submissions need it

    name, value = (raw.decode("utf-8", "replace") for raw in excess.resource[:2])
    setting = job.settings.get("select") or job.settings.get("nodes") or job.settings.get(name)
    says = "a chunk with %s=%s, but the nodes it may run on have %s" % (name, value, excess.shown)
    fix = _less(excess, setting, job) if excess.most.strip(b"0") else None
    fixes: Tuple[Fix, ...] = (fix,) if fix is not None else ()
    if fix is not None and name == "ngpus" and value.isdigit() and excess.most.isdigit():
        fixes = tuple(fewer_on_a_node(int(value), int(excess.most), plan, job, "MPL215", fix.says)) or fixes
    return Finding("MPL215", says, at(setting), True, fixes=fixes,
                   help="request smaller chunks that fit on one node, and more of them")  # fmt: skip


def _less(excess: Excess, setting: Optional[Setting], job: Job) -> Optional[Fix]:
    resource = excess.resource
    if setting is None or setting.name == "nodes" or (resource.start < 0 and setting.name == "select"):
        return None
    start, end = (resource.start, resource.end) if setting.name == "select" else (0, len(setting.value))
    value = setting.value[:start] + excess.most + setting.value[end:]
    made = restate(job, setting, value, "MPL215")
    says = "%s=%s" % (resource.name.decode("utf-8", "replace"), excess.most.decode())
    return made.fix(Safety.ASK, says) if made is not None else None
