"""What a judgement looks at: a run, what is known beside it, and which of its facts failed in which way.

What a rank's own error means, and what the launchers' output means where no rank came to say anything.

The words are those of torch 2.13, CPython 3.6 to 3.13, bash, srun 22.05 and Hydra 4.0, as they were seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.launch_plan import Step

from ...ask.schedulers import Job as Submitted
from ..run.facts import Fact
from ..run.runs import Run
from ..run.watch import Until
from .comparison import Names
from .verdicts import Kind, Reason

# What follows from another rank's trouble: never a cause where another is known.
LEFT = re.compile(
    r"was left by the rank|closed the connection|Connection (closed|reset)|did not reach rank|heard nothing from|"
    r"cannot reach rank|a stranger listens|Broken pipe|Failed to recv|Connection refused",
    re.I,
)
_TAKEN = re.compile(r"Address already in use|EADDRINUSE|errno: 98\b", re.I)
_UNRESOLVED = re.compile(
    r"Name or service not known|name resolution|nodename nor servname|gai error|\[Errno -\d\]", re.I
)
_WAITED = re.compile(r"timed? ?out|found no rank 0|only ranks .* came|DistStoreError|no answer", re.I)
# NCCL 2.28 and gloo of torch 2.11, where the interface that a variable names is not on the node.
_NO_INTERFACE = re.compile(r"no socket interface found|Unable to find address for|interface name does not exist", re.I)
_DEVICE = re.compile(r"invalid device ordinal|no CUDA|No HIP|no XPU|CUDA driver|CUDA_ERROR|No devices found", re.I)

EARLY = ("started", "import", "device")  # phases in which a rank has met nobody yet

_OUTPUT = (  # the first that is found in the order of belief
    (Kind.MODULE, re.compile(r"ModuleNotFoundError: .*|.*No module named '?[\w.]+.*")),
    (Kind.INTERPRETER, re.compile(r".*python[\w.-]*: (command not found|No such file or directory|not found).*")),
    (Kind.INTERPRETER, re.compile(r".*(execve|couldn't exec|cannot execute|bad interpreter).*")),
    (Kind.INTERPRETER, re.compile(r".*SyntaxError.*")),
    (Kind.INTERPRETER, re.compile(r".*[Nn]o such file.*python.*|.*python.*[Nn]o such file.*")),
    (Kind.LAUNCHER, re.compile(r".*: (command )?not found")),
    (Kind.RENDEZVOUS, re.compile(r".*(Rendezvous(Timeout|Connection)?Error|RendezvousTimeout|DistStoreError).*")),
    (Kind.RANK, re.compile(r"TypeError: int\(\) argument .*NoneType.*|.*node_rank.* is not set correctly.*")),
    (Kind.RANK, re.compile(r".*invalid (int|literal).*value: ''.*|.*argument --\w*rank\w*: .*")),
    (Kind.NODE, re.compile(r".*(not reachable via ssh|connect to host|Could not resolve hostname|unknown host).*")),
    (Kind.WORLD, re.compile(r".*extra nodes available via hostfile.*")),
    (Kind.LAUNCHER, re.compile(r".*(hostfile|machine ?file).*", re.I)),
    (Kind.PORT, re.compile(r".*(EADDRINUSE|[Aa]ddress already in use).*")),
    (Kind.KILLED, re.compile(r".*(Out [Oo]f [Mm]emory|oom.kill|\bKilled\b).*")),
    (Kind.LAUNCHER, re.compile(r"(srun|mpi\w+|\[mpiexec.*\]|torchrun|accelerate|deepspeed)\S*:? .*error.*")),
    (Kind.CRASHED, re.compile(r".*(Segmentation fault|Illegal instruction|Bus error|Aborted).*")),
    (Kind.LAUNCHER, re.compile(r"\w*(Error|Exception)\b.*")),
    (Kind.LAUNCHER, re.compile(r".*\b[Ee]rror\b.*")),
)  # fmt: skip
# Mini-apps' own lines, what our cancelling says, and what srun says of a task whose own words stand elsewhere.
_OURS = re.compile(
    r"MAPLE-FACTS|CANCELLED AT|Exited with exit code|Job step aborted|: Terminated|forcing job termination"
)


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
    Kind.NETWORK: "name an interface that every node has (ip -br link), in NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME",
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


def kind_of(fact: Fact) -> Kind | None:
    """Return what a failed fact tells by itself, None where it only tells that another rank is in trouble."""
    own = _OWN.get(fact.error)
    if own is not None:
        return own(fact)
    return _of_text(fact)


def _meeting(fact: Fact) -> Kind | None:
    if "claimed twice" in fact.says:
        return Kind.DUPLICATE
    if "believes in a world" in fact.says:
        return Kind.WORLD
    if "do not both say where" in fact.says:
        return Kind.MASTER
    return _of_text(fact)


def _of_text(fact: Fact) -> Kind | None:
    if _TAKEN.search(fact.says):
        return Kind.PORT
    if _NO_INTERFACE.search(fact.says):
        return Kind.NETWORK
    if _UNRESOLVED.search(fact.says):
        return Kind.MASTER
    if LEFT.search(fact.says) and not _WAITED.search(fact.says):
        return None
    if _WAITED.search(fact.says) and fact.phase in ("rendezvous", "device"):
        return Kind.RENDEZVOUS
    if _DEVICE.search(fact.says):
        return Kind.GPU
    return Kind.COLLECTIVE if _WAITED.search(fact.says) else Kind.CRASHED


def _stuck(fact: Fact) -> Kind | None:
    """A rank that is stopped before it meets anybody is no cause; one that took too long by itself is."""
    if fact.phase in EARLY:
        return Kind.WALLTIME if fact.error == "TimedOut" else None
    return Kind.RENDEZVOUS if fact.phase == "rendezvous" else Kind.COLLECTIVE


_OWN: dict[str, Callable[[Fact], Kind | None]] = {
    "NoPlace": lambda fact: Kind.WORLD if "cannot be in a world" in fact.says else Kind.RANK,
    "MeetingFailed": _meeting,
    "CheckFailed": lambda _: Kind.COLLECTIVE,
    "TimedOut": _stuck,
    "Stopped": _stuck,
    "ModuleNotFoundError": lambda _: Kind.MODULE,
    "ImportError": lambda _: Kind.MODULE,
}


def in_output(text: str) -> tuple[Kind, str] | None:
    """Return what the launchers' own words mean, with the line that says so; None where nothing tells."""
    lines = [line.strip() for line in text[-100_000:].splitlines() if line.strip() and not _OURS.search(line)]
    for kind, pattern in _OUTPUT:
        match = next((line for line in lines if pattern.fullmatch(line)), None)
        if match is not None:
            return kind, match[:300]
    return None
