"""What a PBS job asks for, in numbers: nodes, seconds, memory. Sizes and times as pbs_resources(7B) has them."""

from __future__ import annotations

import re
from typing import Optional, Tuple

from ..job import Job
from ..schedulers.pbs_allocation import WHOLE_NODE, chunks_of
from ..schedulers.select import Chunk
from ..site import Site

_DURATION = re.compile(rb"(?:(?:(\d{1,9}):)?(\d{1,9}):)?(\d{1,9})(?:\.\d*)?\Z")
_SIZE = re.compile(rb"(\d{1,15})([kmgtp]?)([bw]?)\Z", re.IGNORECASE)
_SCALE = b" kmgtp"
WORD = 8  # bytes


def seconds(value: bytes) -> Optional[int]:
    """Return the seconds of `S`, `M:S` or `H:M:S`, also where minutes or seconds exceed 59; None for other forms."""
    match = _DURATION.match(value)
    if not match:
        return None
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return (hours * 60 + minutes) * 60 + rest


def size(value: bytes) -> Optional[int]:
    """Return the bytes of `4gb`, `512mb`, `1000`, `4gw` (in words); None for other forms."""
    match = _SIZE.match(value)
    if not match:
        return None
    amount, scale, unit = match.groups()
    each = WORD if unit.lower() == b"w" else 1
    return int(amount) * each << 10 * (_SCALE.index(scale.lower()) if scale else 0)


def own_chunks(job: Job) -> Tuple[Chunk, ...]:
    """Return the chunks of the request with their bytes in the value of `select`; () where that cannot be read."""
    return chunks_of(job.settings)


def chunk_count(job: Job, site: Site) -> Optional[int]:
    """Return how many nodes the limits of a queue count, None where chunks may share a node.

    PBS itself counts chunks; on nodes that are given whole, or scattered, each chunk is a node.
    """
    chunks = own_chunks(job)
    total = sum(one.count for one in chunks)
    if not chunks:
        return None
    words = (job.settings.value("place") or b"").split(b":")
    if b"pack" in words:
        return None
    apart = site.gpu_request.style == WHOLE_NODE or b"scatter" in words or "nodes" in job.settings
    return total if total == 1 or apart else None
