"""The smallest first: what an ordering can do that knows nothing but what was asked for."""

from __future__ import annotations

from ..ordering import Ordering

POLICY = Ordering("size-only", "fewest GPUs first; no forecast", lambda job: (job.size, job.submitted))
