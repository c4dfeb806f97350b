"""One master that every node can reach."""

from __future__ import annotations

from typing import Iterator, List, Optional

from ...cures.launch_edits import as_first_node, as_offers, put, replacements
from ...launchers.rank_words import first_node
from ...launchers.registry import AGENTS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule


@rule("MPL501", "on several nodes, the master's address means each node itself")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The ranks meet at one address, so it has to be the name of one node of the job.

    Wrong: export MASTER_ADDR=localhost
    Right: export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Why:   on every node localhost is that node: each rank waits on its own node, without a message, until the
           rendezvous times out after ten to fifteen minutes.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind in (breach_kinds.MASTER_LOCAL, breach_kinds.LOCAL_SAID):
                yield _finding(step, breach, site, job)


def _finding(step: Step, breach: Breach, site: Site, job: Job) -> Finding:
    master = breach.texts.get("master")
    at = master.span() if master is not None and master.raw else None
    said = master.raw.decode("ascii", "replace") if master is not None and master.raw else "its own address"
    nodes = breach.numbers.get("nnodes") or breach.numbers.get("nodes")
    says = "the master address of a run on %s nodes is %s, which means each node itself" % (nodes, said)
    ways = replacements(master, first_node(site), "MPL501", job.source) + _said(step, site)
    sure = (
        breach.kind == breach_kinds.MASTER_LOCAL
    )  # else nobody knows on which nodes the ranks run, only that one has not the GPUs
    where: Optional[Span] = at or (step.links[-1].name_span if step.links else step.span)
    fixes = as_first_node(ways) if sure else as_offers(as_first_node(ways))
    return Finding("MPL501", says, where, sure, fixes=fixes,
                   help="use the name of the job's first node")  # fmt: skip


def _said(step: Step, site: Site) -> List[List[Edit]]:
    """The address is the launcher's default: say it."""
    link = step.links[-1] if step.links else None
    if link is None or link.name not in AGENTS or not AGENTS[link.name].endpoint:
        return []
    static = link.option("rdzv-backend") is None
    name = "master-addr" if static else AGENTS[link.name].endpoint
    port = b"" if static else b":29400"
    ways = (put(link, [(name, b'"' + first + port + b'"')], "MPL501") for first in first_node(site))
    return [edits for edits in ways if edits]
