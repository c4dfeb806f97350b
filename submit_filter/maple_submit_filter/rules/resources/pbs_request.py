"""How many nodes a PBS job asks for, as the limits of a queue count them."""

from __future__ import annotations

from typing import Optional

from ...play.pbs_allocation import WHOLE_NODE, chunks_of
from ...site.facts import Site
from ...types.job import Job


def chunk_count(job: Job, site: Site) -> Optional[int]:
    """Return the nodes, None where chunks may share one.

    PBS itself counts chunks; where nodes are given whole, or chunks scattered, each chunk is a node.
    """
    if not any(name in job.settings for name in ("select", "nodes", "ncpus", "ngpus", "mem")):
        return None  # queue or server may have a number of their own
    chunks = chunks_of(job.settings)
    total = sum(one.count for one in chunks)
    words = (job.settings.value("place") or b"").split(b":")
    if not chunks or b"pack" in words:
        return None
    apart = site.gpu_request.style == WHOLE_NODE or b"scatter" in words or "nodes" in job.settings
    return total if total == 1 or apart else None
