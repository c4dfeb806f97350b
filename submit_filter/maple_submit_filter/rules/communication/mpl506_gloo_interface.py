"""The network interface that gloo takes."""

from __future__ import annotations

from typing import Iterator

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..program_text import value_of

_NAMES = (b"GLOO_SOCKET_IFNAME", b"TP_SOCKET_IFNAME")


@rule("MPL506", "gloo is not told which network to take")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """On nodes with several networks gloo takes the one that the host name stands for, often the slow one.

    Wrong: torchrun --nnodes=2 ... train.py --backend gloo, and nothing more, on Delta
    Right: export GLOO_SOCKET_IFNAME=hsn0
    Why:   the ranks meet over the management network, slowly or not at all. Maple speaks where the site file names the
           interface, and only reports it: the line is to be a new one of the script, and no line is ever added.
    """
    if not site.interface or any(name in job.source or name in job.submission.environment for name in _NAMES):
        return
    for step in plan.steps:
        backend = value_of(step.program, b"backend")
        if (step.nodes or 1) > 1 and backend is not None and backend.value == b"gloo":
            yield Finding("MPL506", "gloo on several nodes, and the network interface is not set",
                          step.program_span or step.span, help="export GLOO_SOCKET_IFNAME=%s" % site.interface,
                          site_fact="network.interface")  # fmt: skip
            return
