"""EASY backfill (Lifka, JSSPP '95): first come, first served; whoever does not delay the first may pass."""

from __future__ import annotations

from ..ordering import Ordering

POLICY = Ordering("easy", "first come, first served, with backfill by limits", lambda job: (job.submitted,))
