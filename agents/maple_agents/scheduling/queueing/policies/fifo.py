"""First come, first served; nobody passes the first of the line."""

from __future__ import annotations

from ..ordering import Ordering, Passing

POLICY = Ordering("fifo", "first come, first served", lambda job: (job.submitted,), Passing.NOBODY)
