"""A port for each run."""

from __future__ import annotations

import re
from typing import Iterator, List

from ...launchers.registry import AGENTS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule

_OWN_NETWORK = re.compile(rb"\b(?:podman|docker|nerdctl|unshare)\b")  # ports inside are none of the node's


@rule("MPL510", "runs side by side on one node use one port")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Each run on a node listens on a port there; torchrun takes 29500 by default.

    Wrong: CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 a.py &
           CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc-per-node=2 b.py &
    Right: torchrun --standalone --nproc-per-node=2 a.py & (each takes a free port)
    Why:   the second run ends with: address already in use (EADDRINUSE), and the first one goes on alone.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.PORT_TAKEN and not _OWN_NETWORK.search(job.source):
                yield _finding(step, breach, plan)


def _finding(step: Step, breach: Breach, plan: LaunchPlan) -> Finding:
    edits: List[Edit] = []
    for other in plan.steps:
        link = other.links[-1] if other.links else None
        option = AGENTS[link.name].standalone if link is not None and link.name in AGENTS else ""
        beside = other.background and other.phase == step.phase
        if beside and option and link is not None and link.options_at is not None and link.option(option) is None:
            edits.append(Edit(Span(link.options_at, link.options_at), b" --" + option.encode(), "MPL510"))
    fixes = (Fix(tuple(edits), Safety.SAFE, "give each run a free port"),) if edits else ()
    says = "%s runs side by side on one node use one port" % (breach.numbers["runs"])
    return Finding("MPL510", says, step.span, True, fixes=fixes, help="start each by torchrun --standalone")
