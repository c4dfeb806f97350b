"""SRSF: the least remaining size x time first, with the time known, and others stopped for it."""

from __future__ import annotations

from ..ordering import Preemptive

POLICY = Preemptive("srsf", "least GPUs x remaining true time first", lambda state: (state.left * state.job.size,))
