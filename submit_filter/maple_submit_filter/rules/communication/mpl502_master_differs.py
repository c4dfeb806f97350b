"""One master that all nodes agree on."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from ...cures.launch_edits import as_offers, first_node_fixes, pointed_at
from ...launchers.rank_words import first_node
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Fix, Span
from ...types.findings import FileLine, Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule
from ..program_text import files_read, line_of_file


@rule("MPL502", "each node names another master")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """All ranks of a run meet at one address; a host name that each task asks for itself differs by node.

    Wrong: srun bash -c 'torchrun --rdzv-endpoint=$(hostname):29500 ...'
    Wrong: srun bash -c 'python train.py --coordinator_address=$(hostname):1234 ...'
    Right: MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1), in the batch script, before srun
    Why:   each node waits on itself, without a message, until the rendezvous times out after ten to fifteen minutes.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.MASTER_DIFFERS:
                yield _finding(step, breach, site, job, plan)
            if breach.kind == breach_kinds.TOLD_APART:
                says = "the program is told its own node as the place where all meet, on each node another"
                yield Finding("MPL502", says, step.span, fixes=_first_told(breach, site, job, plan),
                              help="use the name of the job's first node")  # fmt: skip


_HOST = re.compile(rb"\0(?:host|addr|name):\d+\0")


def _first_told(breach: Breach, site: Site, job: Job, plan: LaunchPlan) -> Tuple[Fix, ...]:
    """Offer the first node's name for the node's own within an argument of the program."""
    word = breach.texts["master"]
    match = _HOST.search(word.raw)
    host = word.slice(*match.span()) if match is not None else None
    return as_offers(first_node_fixes(host, site, "MPL502", job.source, plan))


def _finding(step: Step, breach: Breach, site: Site, job: Job, plan: LaunchPlan) -> Finding:
    master = breach.texts.get("master")
    fixes = first_node_fixes(master, site, "MPL502", job.source, plan)
    at = pointed_at(master, step)
    return Finding(
        "MPL502",
        "each node uses its own name as the master address",
        at,
        True,
        fixes=fixes,
        help="use the name of the job's first node",
        elsewhere=() if fixes else _in_file(plan, job, site),
    )


_OWN = re.compile(rb"(?m)^[^#\n]*\bMASTER_ADDR=(\"?\$\(hostname[^()\n]*\)\"?|`hostname[^`\n]*`)")


def _in_file(plan: LaunchPlan, job: Job, site: Site) -> Tuple[FileLine, ...]:
    """Return what a file that each task runs should set: PBS has the list of nodes on the first node alone."""
    if site.scheduler == "pbs":
        return ()
    for name, text in files_read(plan, job):
        match = _OWN.search(text)
        if match is not None:
            return (line_of_file(name, text, Span(*match.span(1)), first_node(site)[0]),)
    return ()
