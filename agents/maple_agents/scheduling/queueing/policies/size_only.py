"""The smallest first: what an ordering can do that knows nothing but what was asked for."""

from __future__ import annotations

from ..ordering import Ordering

POLICY = Ordering("size-only", "the smallest first; no forecast", lambda job: (job.size, job.submitted))
