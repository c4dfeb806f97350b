"""EASY-SJBF (Tsafrir et al., TPDS '07): the first of the line by submission, those that pass it by the shortest run."""

from __future__ import annotations

from ..ordering import Ordering

POLICY = Ordering(
    "easy-sjbf",
    "as easy, the shortest tried first behind the first",
    lambda job: (job.submitted,),
    behind=lambda job: (job.seconds if job.expected is None else job.expected,),
)
