"""The least size x run time first, with the run time known: the ceiling of what forecasts can bring."""

from __future__ import annotations

from ..ordering import Ordering

POLICY = Ordering("oracle", "least size x true run time first", lambda job: (job.size * job.seconds, job.submitted))
