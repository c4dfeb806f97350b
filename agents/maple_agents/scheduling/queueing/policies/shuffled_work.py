"""The least size x somebody else's run time first: a forecast without information, the control of every forecast."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ..jobs import Job
from ..ordering import Ordering


def policy(jobs: Sequence[Job], seed: int = 0) -> Ordering:
    """Return the ordering; the run times are dealt out anew among *jobs* by *seed*."""
    times = [job.seconds for job in jobs]
    random.Random(seed).shuffle(times)
    dealt = {job.name: time for job, time in zip(jobs, times)}
    return Ordering(
        "control",
        "least size x another job's run time first; no information",
        lambda job: (job.size * dealt[job.name], job.submitted),
    )
