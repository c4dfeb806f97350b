"""Nodes that nothing runs on."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Set

from ...cures.hosts import on_all_hosts
from ...launchers.registry import AGENTS, LAUNCHERS
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import asked, judged

_NAMES_HOSTS = tuple(name for name, launcher in LAUNCHERS.items() if launcher.own_hosts)
_ON_THEIR_OWN = (*AGENTS, *_NAMES_HOSTS)
_SAYS_SO = ("nodes", "select")
# Words by which a script, or a program that is given them, may use the other nodes in a way that is not followed.
_ELSEWHERE = re.compile(
    rb"\b(srun|mpirun|mpiexec|ssh|rsh|pdsh|clush|parallel|ray|dask|spark|sbatch|qsub|jsrun|pbsdsh|pbs_tmrsh"
    rb"|ibrun|aprun|prun|flux|hetjob|het-group|submitit|monarch)\b",
    re.IGNORECASE,
)
_HOSTS = re.compile(rb"\b(hostfile|machinefile)\b", re.IGNORECASE)


@rule("MPL218", "nodes of the job on which nothing starts")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The batch script runs on the job's first node; the others wait for a launcher that starts something there.

    Wrong: #SBATCH --nodes=2 ... torchrun --standalone --nproc-per-node=4 train.py, as a line of the batch script
    Right: #SBATCH --nodes=1, or one torchrun on each node: srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 ...
    Why:   the job trains, exits with 0, and pays for nodes that do nothing. Maple only reports it: what a program
           itself starts on other nodes cannot be seen.
    """
    nodes = plan.allocation.nodes
    if (
        not nodes
        or nodes < 2
        or plan.unread
        or plan.strangers
        or not judged(job, site)
        or not any(asked(job, name) for name in _SAYS_SO)
    ):
        return
    trained = [_alone(step) for step in plan.steps]
    if trained and all(trained) and not _ELSEWHERE.search(_commands(job.source)):
        step = plan.steps[-1]
        agent = AGENTS.get(step.links[-1].name)
        if _HOSTS.search(_commands(job.source)) and not (agent is not None and agent.hosts_by_file):
            return  # the program may be given it
        says = "the job has %d nodes, but all of it runs on the first" % nodes
        name = step.links[-1].name
        other = "name the job's hosts with -H" if name in _NAMES_HOSTS else "start one %s on each node" % name
        fixes = on_all_hosts(step, plan, job.source, "MPL218")
        yield Finding("MPL218", says, step.links[-1].name_span or step.span, fixes=fixes,
                      help="request one node, or " + other)  # fmt: skip


def _alone(step: Step) -> bool:
    """Return whether a launch starts ranks on the first node alone, and knows it."""
    used: Set[Optional[int]] = {process.node for group in step.groups for process in group.processes}
    return (
        bool(step.links)
        and step.links[-1].name in _ON_THEIR_OWN
        and used == {0}
        and not step.breaches
        and not step.unknown
    )


def _commands(source: bytes) -> bytes:
    """Return the script without its comments and directives."""
    return b"\n".join(line for line in source.split(b"\n") if not line.lstrip().startswith(b"#"))
