"""What the readers make of public training jobs, field by field: precision, and how much they see.

The texts are not carried: MAPLE_PUBLIC_JOBS names a folder with repository/commit/path of each job that was fetched.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.agents.admission.public_jobs import Tally, jobs, judged, read

LEAST = 0.98  # of what is said in all


def test_admission_of_public_jobs():
    """A row a field; what is wrong below."""
    folder = Path(os.environ.get("MAPLE_PUBLIC_JOBS", "/proc/nowhere"))
    texts = [(job, text) for job in jobs() if (text := job.text(folder)) is not None]
    if not texts:
        pytest.skip("MAPLE_PUBLIC_JOBS names no folder with the texts of tests/cases/admission-public/jobs.toml")
    tally = Tally(Counter(), Counter(), Counter(), [])
    for job, text in texts:
        judged(job, read(text), tally)
    print(f"\n{len(texts)} jobs\n{'field':24} {'said':>5} {'precision':>9} {'recall':>6}")
    for name in sorted({*tally.right, *tally.wrong, *tally.missed}):
        row(name, tally.right[name], tally.wrong[name], tally.missed[name])
    row("all", tally.right.total(), tally.wrong.total(), tally.missed.total())
    print("\n".join(tally.lines))
    assert tally.right.total() >= LEAST * (tally.right.total() + tally.wrong.total())


def row(name: str, right: int, wrong: int, missed: int) -> None:
    said = right + wrong
    precision = f"{right / said:.0%}" if said else "-"
    print(f"{name:24} {said:5} {precision:>9} {right / max(1, right + missed):6.0%}")
