"""What a judgement looks at: a run, what is known beside it, and which of its facts failed in which way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maple_submit_filter.launchers.agents import AGENTS
from maple_submit_filter.types.launch_plan import Step

from ...ask.schedulers import Job as Submitted
from ..run.facts import Fact
from ..run.runs import Run
from ..run.watch import Until
from .comparison import Names
from .symptoms import kind_of
from .verdicts import Kind, Reason


@dataclass(frozen=True)
class Scene:
    """What is known beside the facts. *seconds*: how long was waited for them; *findings*: what the rules say."""

    until: Until
    job: Submitted | None
    names: Names
    output: str
    seconds: float
    findings: tuple[tuple[int, str], ...] = ()  # line of the script, words
    wants_gpus: bool = True


def reason(run: Run, kind: Kind, says: str, facts: Sequence[Fact] = ()) -> Reason:
    ranks = tuple(sorted({fact.rank for fact in facts if fact.rank is not None}))
    hosts = tuple(sorted({fact.host for fact in facts}))
    return Reason(kind, says, about(kind, run.step), run.step.line, ranks, hosts)


def failed(run: Run) -> list[Fact]:
    return [fact for fact in run.facts if not fact.ok]


def of_kind(run: Run, kind: Kind) -> list[Fact]:
    return [fact for fact in run.facts if fact.ok is False and kind_of(fact) is kind]


def ranks(facts: Sequence[Fact]) -> list[int]:
    return [fact.rank for fact in facts if fact.rank is not None]


# What to do about each kind of breakage, by launcher where that makes a difference.

_GENERAL = {
    Kind.REFUSED: "correct the request as the scheduler says",
    Kind.QUEUE: "try again when nodes are free, or verify with fewer nodes: -- --nodes=2",
    Kind.NOTHING: "see what the job said with --keep",
    Kind.INTERPRETER: "load the module or activate the environment that has this Python, on every node",
    Kind.MODULE: "activate the environment that has it before the launch line, or install it there",
    Kind.LAUNCHER: "see maple check, and the launcher's own words",
    Kind.PORT: "take a port that follows from the job, such as $((20000 + SLURM_JOB_ID % 10000))",
    Kind.DUPLICATE: "let each task expand its own number: inside single quotes, with bash -c",
    Kind.FAN_OUT: "start one launcher on each node: srun --ntasks=$SLURM_NNODES --ntasks-per-node=1",
    Kind.RANK: "set RANK, LOCAL_RANK and WORLD_SIZE in each task, from its launcher's own variables",
    Kind.WORLD: "let the world size follow from the allocation, such as $SLURM_NTASKS",
    Kind.MASTER: "set MASTER_ADDR once, in the batch script, to the first node of the job",
    Kind.GPU: "let each rank see as many GPUs as there are local ranks; unset CUDA_VISIBLE_DEVICES if it hides them",
    Kind.NODE: "start a task on every node of the allocation",
    Kind.MISSING: "start as many processes as the world size says",
    Kind.RENDEZVOUS: "see that the nodes reach each other at this address, and that all are started",
    Kind.COLLECTIVE: "try another interface (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME), and tell your site",
    Kind.KILLED: "see the memory limit of the job, and the node's log",
    Kind.CRASHED: "the program would fail in the same way: see the message",
    Kind.WALLTIME: "give it longer: --time",
    Kind.UNCLEAR: "see what the job left behind with --keep",
}
_BY_AGENT = {
    Kind.FAN_OUT: "start one {agent} on each node: srun --ntasks=$SLURM_NNODES --ntasks-per-node=1",
    Kind.DUPLICATE: "start one {agent} on each node: srun --ntasks=$SLURM_NNODES --ntasks-per-node=1",
    Kind.WORLD: "let {agent} count as many nodes and processes as the job has",
    Kind.MISSING: "let {agent} count as many nodes and processes as the job has",
    Kind.RENDEZVOUS: "start one {agent} on each node, all with one address, one id and the job's number of nodes",
    Kind.RANK: "let {agent} start the ranks: it sets RANK where it starts several",
}


def about(kind: Kind, step: Step | None = None) -> str:
    """Return what to do about *kind*, on the launch line of *step*."""
    agent = step.links[-1].name if step is not None and step.links else ""
    if agent in AGENTS and kind in _BY_AGENT:
        return _BY_AGENT[kind].format(agent=agent)
    return _GENERAL[kind]
