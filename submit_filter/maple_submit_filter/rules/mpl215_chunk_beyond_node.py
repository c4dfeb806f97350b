"""Chunks that fit no node."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from ..edits import Fix, Safety
from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..limits import judged, most_of
from ..saying import at, restate
from ..schedulers.pbs_allocation import chunks_of
from ..schedulers.resources import size
from ..schedulers.select import Chunk, Resource
from ..settings import Setting
from ..site import NodeKind, Site
from . import rule

GIB = 1 << 30


class _Excess(NamedTuple):
    """What of a chunk is too much, and the most that a node has of it, in a sentence and in a request."""

    resource: Resource
    shown: str
    most: bytes


@rule("MPL215", "a chunk asks for more than any node has", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """All that a chunk asks for comes from one host, so one of the nodes that it may land on must have it.

    Wrong: #PBS -l select=2:ngpus=8, on nodes with 4 GPUs
    Right: #PBS -l select=4:ngpus=4
    Why:   qsub takes the job, and it stays queued for ever: Not Running: Insufficient amount of resource: ngpus. It is
           proven only where every kind of node that the job may land on is known. Asks first: fewer GPUs mean fewer
           ranks, or more chunks, and only you know which was meant.
    """
    if not judged(job):
        return
    for chunk in chunks_of(job.settings):
        for excess in _beyond(chunk, plan.allocation.node_kinds):
            yield _finding(excess, chunk, job)


def _beyond(chunk: Chunk, kinds: Sequence[NodeKind]) -> Iterator[_Excess]:
    gpus, cpus, memory = most_of(tuple(kinds), "gpus"), _threads(kinds), most_of(tuple(kinds), "memory_gib")
    for one in chunk.resources:
        count = int(one.value) if one.value.isdigit() and len(one.value) < 10 else None
        if one.name == b"ngpus" and gpus is not None and count is not None and count > gpus:
            yield _Excess(one, "%d GPU%s" % (gpus, "s" if gpus != 1 else "") if gpus else "no GPU", b"%d" % gpus)
        elif one.name == b"ncpus" and cpus is not None and count is not None and count > cpus:
            yield _Excess(one, "%d CPUs" % cpus, b"%d" % cpus)
        elif one.name == b"mem" and memory and (size(one.value) or 0) > memory * GIB:
            yield _Excess(one, "%d GiB" % memory, b"")


def _threads(kinds: Sequence[NodeKind]) -> Optional[int]:
    """Return the most CPUs of any of the nodes, every hardware thread counted; None where one is not known."""
    counts = [kind.cores * kind.threads_per_core for kind in kinds if kind.cores and kind.threads_per_core]
    return max(counts) if counts and len(counts) == len(kinds) else None


def _finding(excess: _Excess, chunk: Chunk, job: Job) -> Finding:
    name, value = (raw.decode("utf-8", "replace") for raw in excess.resource[:2])
    setting = job.settings.get("select") or job.settings.get("nodes") or job.settings.get(name)
    says = "a chunk with %s=%s, but the nodes it may run on have %s" % (name, value, excess.shown)
    fix = _less(excess, setting, job) if excess.most.strip(b"0") else None
    return Finding("MPL215", says, at(setting), True, fixes=(fix,) if fix is not None else (),
                   help="ask for more chunks that one node has room for")  # fmt: skip


def _less(excess: _Excess, setting: Optional[Setting], job: Job) -> Optional[Fix]:
    one = excess.resource
    if setting is None or setting.name == "nodes" or (one.start < 0 and setting.name == "select"):
        return None
    start, end = (one.start, one.end) if setting.name == "select" else (0, len(setting.value))
    value = setting.value[:start] + excess.most + setting.value[end:]
    made = restate(job, setting, value, "MPL215")
    says = "%s=%s" % (one.name.decode("utf-8", "replace"), excess.most.decode())
    return made.fix(Safety.ASK, says) if made is not None else None
