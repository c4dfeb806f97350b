"""The master is where rank 0 is."""

from __future__ import annotations

import re
from typing import Iterator

from ...cures.launch_edits import as_offers, first_node_fixes, pointed_at
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule

SAID = {
    breach_kinds.MASTER_ELSEWHERE: "the master address is not the node where rank 0 runs",
    breach_kinds.MASTER_LIST: "the master address is the whole node list, which is not the name of a node",
    breach_kinds.MASTER_OUTSIDE: "the master is a host of its own, and the scheduler chooses the job's nodes",
    breach_kinds.LIST_SAID: "the master is the node list or a piece of it, which is not the name of a node",
}


_OF_NODES = ("nodelist", "nodefile", "select", "nodes")
_ON_NAMED = re.compile(rb"nodelist=.|nodefile=.|\bhost=|\bvnode=")


@rule("MPL504", "the master's address is not the node that listens there")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Rank 0 opens the rendezvous on its own node, so the master's address must be that node's.

    Wrong: MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tail -n 1)
    Right: MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Why:   rank 0 runs on the first node of the list; nothing listens on the last one. The list itself, n[01-02], is
           the name of no node.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.MASTER_OUTSIDE and _ON_NAMED.search(b" ".join(_nodes_asked(job))):
                continue  # the job is for that very node
            if breach.kind in SAID:
                yield _finding(step, breach, plan, site, job)


def _nodes_asked(job: Job) -> Iterator[bytes]:
    """Yield what the request says of its nodes."""
    yield from (
        b"%s=%s" % (name.encode(), job.settings.value(name) or b"") for name in _OF_NODES if name in job.settings
    )


def _finding(step: Step, breach: Breach, plan: LaunchPlan, site: Site, job: Job) -> Finding:
    master = breach.texts.get("master")
    fixes = first_node_fixes(master, site, "MPL504", job.source, plan)
    at = pointed_at(master, step)
    sure = breach.kind not in breach_kinds.UNPROVEN  # a program may read its ranks, and so its master, elsewhere
    listed = breach.kind == breach_kinds.LIST_SAID  # a piece that is a name is the first one, or no name at all
    fixes = fixes if sure else tuple(fix._replace(harmless=listed) for fix in as_offers(fixes))
    return Finding("MPL504", SAID[breach.kind], at, sure, fixes=fixes,
                   help="use the name of the job's first node")  # fmt: skip
