"""QSSF (Hu et al., SC '21, Helios): the least size x forecast first; without a forecast a job counts as usual."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..jobs import Job
from ..ordering import Ordering


def policy(jobs: Sequence[Job]) -> Ordering:
    """Return the ordering; usual is the median of the forecasts, of the run times where there are none."""
    known = [job.expected for job in jobs if job.expected is not None] or [job.seconds for job in jobs]
    usual = statistics.median(known) if known else 1.0
    return Ordering(
        "forecast",
        "least size x forecast first",
        lambda job: (job.size * (usual if job.expected is None else job.expected), job.submitted),
    )
