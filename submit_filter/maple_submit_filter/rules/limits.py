"""What the site's tables say of one request: the rows that hold for it, and the most that it may have.

A limit is returned only where it surely holds: the rows are sure, every partition (or queue) named is known, and
nothing is said that may lift it (a QOS that the tables do not know, a reservation).
"""

from __future__ import annotations

from typing import FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..play.pbs_allocation import WHOLE_NODE, chunks_of
from ..request.pbs.select import Chunk, Resource, size
from ..request.scheduler_words import is_pbs
from ..request.slurm import values
from ..site.facts import NodeKind, Partition, Site, kinds_with
from ..types.findings import counted
from ..types.job import Job, Settings


class Limit(NamedTuple):
    """The most of something, the table row that says so, and the row's key in the site file."""

    most: int
    row: Partition

    @property
    def key(self) -> str:
        """Return the key of the row in the site file."""
        return "%s.%s" % (self.row.selector, self.row.name)


def text(settings: Settings, name: str) -> str:
    """Return the value in force as text, "" where nobody said it."""
    return (settings.value(name) or b"").decode("utf-8", "replace")


def judged(job: Job, site: Site) -> bool:
    """Return whether the request may be held against the site: it is for this cluster, and every setting was read.

    Behind a word that sbatch does not take, or that a plug-in knows of which the site file does not tell, nothing is
    read. Under PBS `-q queue@server` may name another cluster.
    """
    if job.script.refused and not _by_plugin(job, site):
        return False
    return "@" not in text(job.settings, "queue") if is_pbs(job) else "clusters" not in job.settings


def _by_plugin(job: Job, site: Site) -> bool:
    """Return whether all that sbatch itself would refuse are options of the site's plug-ins."""
    refused = [oddity.span for oddity in job.script.oddities if oddity.kind == "refused"]
    words = [
        job.source[span.start : span.end].lstrip(b"-").split(b"=")[0].decode("utf-8", "replace") for span in refused
    ]
    return bool(words) and all(word in site.plugin_options for word in words)


def rows_in_force(job: Job, site: Site) -> List[Partition]:
    """Return the rows of partition (or queue) and QOS that surely hold for the request."""
    names = (("queue", site.default_partition),) if is_pbs(job) else (
        ("partition", site.default_partition), ("qos", site.default_qos))  # fmt: skip
    partitions: List[Partition] = []
    for selector, default in names:
        name = text(job.settings, selector) or default
        partitions += _rows(job.settings, site, selector, name) if name and "reservation" not in job.settings else []
    return partitions


def surely_openpbs(job: Job, site: Site) -> bool:
    """Return whether the job does not go to Torque, which is called PBS as well and whose qsub takes more.

    A site that is described has none, and Torque knows no chunks.
    """
    return bool(site.version) or "select" in job.settings or "place" in job.settings


def asked(job: Job, name: str) -> bool:
    """Return whether a setting is said; under PBS a chunk may say it, and what makes a chunk is as good as `select`."""
    if name in job.settings or not is_pbs(job):
        return name in job.settings
    from ..play.pbs_allocation import chunks_of  # not on the way of a Slurm job

    if name == "select":
        return any(name in job.settings for name in ("nodes", "ncpus"))
    return any(chunk.value(name.encode()) is not None for chunk in chunks_of(job.settings))


def limit(job: Job, site: Site, field: str) -> Optional[Limit]:
    """Return the least of what partition (or queue) and QOS allow in *field* ("max_nodes" ...), None unknown."""
    if is_pbs(job):
        rows = _rows(job.settings, site, "queue", text(job.settings, "queue") or site.default_partition)
        return _least(rows, field)
    limits = [
        bound for bound in (_of_partition(job.settings, site, field), _of_qos(job.settings, site, field)) if bound
    ]
    return min(limits, key=lambda bound: bound.most) if limits else None


def _of_partition(settings: Settings, site: Site, field: str) -> Optional[Limit]:
    if "qos" in settings or "reservation" in settings:
        return None  # either may lift what the partition says
    limits: List[Limit] = []
    for name in filter(None, (text(settings, "partition") or site.default_partition).split(",")):
        limit = _least(_rows(settings, site, "partition", name), field)
        if limit is None:
            return None
        limits.append(limit)
    return max(limits, key=lambda limit: limit.most) if limits else None  # the job goes where it fits


def _of_qos(settings: Settings, site: Site, field: str) -> Optional[Limit]:
    name = text(settings, "qos") or site.default_qos
    return _least(_rows(settings, site, "qos", name), field) if name and "reservation" not in settings else None


def _least(rows: List[Partition], field: str) -> Optional[Limit]:
    limits = [Limit(getattr(row, field), row) for row in rows if getattr(row, field) is not None]
    return min(limits, key=lambda limit: limit.most) if limits else None


def _rows(settings: Settings, site: Site, selector: str, name: str) -> List[Partition]:
    featured = _featured(site, text(settings, "constraint"))
    rows = [row for row in site.partitions if row.sure and row.selector == selector and row.name == name]
    return [row for row in rows if not row.constraint or _within(site, featured, row.constraint)]


def _featured(site: Site, constraint: str) -> Optional[FrozenSet[str]]:
    return kinds_with(constraint, {kind.name: kind.features for kind in site.kinds})


def _within(site: Site, featured: Optional[FrozenSet[str]], constraint: str) -> bool:
    meant = _featured(site, constraint)
    return featured is not None and meant is not None and featured <= meant


def most_of(kinds: Tuple[NodeKind, ...], field: str) -> Optional[int]:
    """Return the most of "memory_gib" (or another count) that any of *kinds* has, None where one is not known."""
    counts = [getattr(kind, field) for kind in kinds]
    return max(counts) if counts and None not in counts else None


def gpu_items(settings: Settings, name: str) -> Tuple[values.Gres, ...]:
    """Return the GPUs that one option asks for, by type; () where it asks for none or cannot be read."""
    value = settings.value(name)
    if value is None:
        return ()
    items = values.gres(value) if name == "gres" else values.gpus(value)
    return tuple(gres for gres in items or () if gres.name == b"gpu")


def gpu_count(settings: Settings, name: str) -> Optional[int]:
    """Return how many GPUs one option asks for, None where it asks for none."""
    items = gpu_items(settings, name)
    return sum(item.amount for item in items) if items else None


GPU_OPTIONS = ("gpus-per-node", "gres", "gpus", "gpus-per-task", "gpus-per-socket")


def asks_for_gpus(settings: Settings) -> bool:
    """Return whether the request says a number of GPUs in any of the ways there are."""
    return (
        any(gpu_items(settings, name) for name in GPU_OPTIONS)
        or any(b"gpu" in (settings.value(name) or b"") for name in ("tres-per-task", "gres", "licenses"))
        or _chunks_with_gpus(settings)
    )


def _chunks_with_gpus(settings: Settings) -> bool:
    """Return whether a chunk of PBS, or the whole job, asks for ngpus; a site may call them otherwise."""
    requests = [settings.value(name) or b"" for name in ("select", "nodes")]
    return any(b"gpu" in request.replace(b"ngpus=0", b"") for request in requests) or bool(
        (settings.value("ngpus") or b"").strip(b"0")
    )


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
