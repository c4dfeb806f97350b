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
from ...types.text import Piece, Text
from .. import rule
from .rendezvous import LAST, LIST, on_several_nodes, which_node, written

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
    known = [breach.kind for step in plan.steps for breach in step.breaches if breach.kind in SAID]
    if not known and on_several_nodes(plan, job):
        yield from _as_written(plan, job, site)
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.MASTER_OUTSIDE and _ON_NAMED.search(b" ".join(_nodes_asked(job))):
                continue  # the job is for that very node
            if breach.kind in SAID:
                yield _finding(step, breach, plan, site, job)


_WRITTEN = {
    LAST: "is not the first node of the list, where rank 0 runs",
    LIST: SAID[breach_kinds.LIST_SAID][11:],
}


def _as_written(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that an address is no first node by the words alone, whatever reads it."""
    places = list(written(plan, job.source, "address"))
    kinds = {which_node(place.value) for place in places}
    if len(kinds) != 1 or not kinds <= set(_WRITTEN):
        return  # of several nobody knows which is taken
    if LAST in kinds and b"c10d" in job.source:
        return  # its agents meet at any node of the job
    for place in places:
        kind = which_node(place.value)
        text = Text((Piece(place.value, place.span.start),))
        fixes = as_offers(first_node_fixes(text, site, "MPL504", job.source, plan))
        yield Finding("MPL504", "%s %s" % (place.name.decode(), _WRITTEN[kind]), place.span, fixes=fixes,
                      help="use the name of the job's first node")  # fmt: skip


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
