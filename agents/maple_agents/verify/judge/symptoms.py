"""What a rank's own error means, and what the launchers' output means where no rank came to say anything.

The words are those of torch 2.13, CPython 3.6 to 3.13, bash, srun 22.05 and Hydra 4.0, as they were seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..run.facts import Fact
from .verdicts import Kind

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
        found = next((line for line in lines if pattern.fullmatch(line)), None)
        if found is not None:
            return kind, found[:300]
    return None
