"""How many nodes a PBS job asks for, as the limits of a queue count them.

What of a chunk no node has. For MPL215.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from ...play.pbs_allocation import WHOLE_NODE, chunks_of
from ...request.pbs.select import Chunk, Resource, size
from ...site.facts import NodeKind, Site
from ...types.findings import counted
from ...types.job import Job
from ..limits import most_of

GIB = 1 << 30


def chunk_count(job: Job, site: Site) -> Optional[int]:
    """Return the nodes, None where chunks may share one.

    PBS itself counts chunks; where nodes are given whole, or chunks scattered, each chunk is a node.
    """
    if not any(name in job.settings for name in ("select", "nodes", "ncpus", "ngpus", "mem")):
        return None  # queue or server may have a number of their own
    chunks = chunks_of(job.settings)
    total = sum(chunk.count for chunk in chunks)
    words = (job.settings.value("place") or b"").split(b":")
    if not chunks or b"pack" in words:
        return None
    apart = site.gpu_request.style == WHOLE_NODE or b"scatter" in words or "nodes" in job.settings
    return total if total == 1 or apart else None


class Excess(NamedTuple):
    """What of a chunk is too much, and the most that a node has of it, in a sentence and in a request."""

    resource: Resource
    shown: str
    most: bytes


def beyond(chunk: Chunk, kinds: Sequence[NodeKind]) -> Iterator[Excess]:
    """Yield what is too much of each resource that all *kinds* are known to have, or not to have."""
    gpus, cpus, memory = most_of(tuple(kinds), "gpus"), _threads(kinds), most_of(tuple(kinds), "memory_gib")
    for resource in chunk.resources:
        count = int(resource.value) if resource.value.isdigit() and len(resource.value) < 10 else None
        if resource.name == b"ngpus" and gpus is not None and count is not None and count > gpus:
            yield Excess(resource, counted(gpus, "GPU") if gpus else "no GPU", b"%d" % gpus)
        elif resource.name == b"ncpus" and cpus is not None and count is not None and count > cpus:
            yield Excess(resource, "%d CPUs" % cpus, b"%d" % cpus)
        elif resource.name == b"mem" and memory and (size(resource.value) or 0) > memory * GIB:
            yield Excess(resource, "%d GiB" % memory, b"")


def _threads(kinds: Sequence[NodeKind]) -> Optional[int]:
    """Return the most CPUs of any of the nodes, every hardware thread counted; None where one is not known."""
    counts = [kind.cores * kind.threads_per_core for kind in kinds if kind.cores and kind.threads_per_core]
    return max(counts) if counts and len(counts) == len(kinds) else None
