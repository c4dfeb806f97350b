"""Nodes that nothing runs on."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Set, Tuple

from ...cures.hosts import on_all_hosts
from ...launchers.registry import AGENTS, LAUNCHERS
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
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
# What is said for programs whose processes meet: JAX's and NCCL's variables, and the names of what spreads a model.
_OF_SEVERAL = re.compile(
    rb"(?i)(?<![a-z])(?:jax|xla_|nccl_|ddp|fsdp|hvd|horovod|megatron|zero[123]|multi_?(?:host|node)|torch\.distributed)"
    rb"(?![a-z])|(?:jax|xla|nccl)_[a-z]"
)
_HOSTS = re.compile(rb"\b(hostfile|machinefile)\b", re.IGNORECASE)


@rule("MPL218", "nodes of the job on which nothing starts")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The batch script runs on the job's first node; the others wait for a launcher that starts something there.

    Wrong: #SBATCH --nodes=2 ... torchrun --standalone --nproc-per-node=4 train.py, as a line of the batch script
    Wrong: #SBATCH --nodes=2 --ntasks-per-node=4 ... python pretrain.py (JAX or torch, by no srun: one process)
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
    if plan.steps and all(map(_bare, plan.steps)) and (plan.allocation.tasks or 0) > nodes:
        yield from _unstarted(plan, job, site)
        return
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


def _unstarted(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Say that a program of several processes is started once: its job asks for several tasks a node, none starts."""
    commands, step = _commands(job.source), plan.steps[-1]
    if step.program_span is None or _ELSEWHERE.search(commands) or not _OF_SEVERAL.search(commands):
        return
    says = "the job has %d tasks on %d nodes, but one process of the program starts, on the first" % (
        plan.allocation.tasks or 0, plan.allocation.nodes or 0)  # fmt: skip
    launcher = "mpiexec" if site.scheduler == "pbs" else "srun"
    at = step.program_span.start
    fixes: Tuple[Fix, ...] = ()
    if launcher == "srun" and site.launcher("srun") not in ("absent", "discouraged") and _begins(job.source, at):
        edit = Edit(Span(at, at), b"srun ", "MPL218")
        fixes = (Fix((edit,), Safety.ASK, "srun starts a process for each task"),)
    yield Finding("MPL218", says, step.program_span, fixes=fixes, help="start it with %s, or request one" % launcher)


def _begins(source: bytes, at: int) -> bool:
    """Return whether a command begins its line there."""
    return not source[source.rfind(b"\n", 0, at) + 1 : at].strip()


def _bare(step: Step) -> bool:
    """Return whether a line surely starts one process of Python's, on the first node, by no launcher."""
    nodes = [process.node for group in step.groups for process in group.processes]
    bare = not (step.links or step.breaches or step.unknown or step.images or step.maybe or step.background)
    return bare and nodes == [0] and bool(step.program) and step.program[0].rsplit(b"/", 1)[-1].startswith(b"python")


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
