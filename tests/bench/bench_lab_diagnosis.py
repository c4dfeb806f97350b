"""Failures provoked on a real Slurm, and what `maple-fix` makes of them: `make bench-lab-diagnosis`.

MAPLE_ONLY chooses failures by a part of their name or subject; MAPLE_KEEP=1 writes each as a case that needs no lab.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agents.debug.lab import table
from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import failures
from tests.agents.debug.lab.keeping import keep
from tests.miniapps.started import frameworks

ONLY = os.environ.get("MAPLE_ONLY", "")


@pytest.mark.timeout(0)
def test_failures_provoked_on_a_lab(tmp_path: Path) -> None:
    """A line for each failure, and the shares below."""
    frameworks()
    chosen = [one for one in failures().values() if ONLY in one.name or one.subject == ONLY]
    there = [one for one in chosen if not one.needs or os.path.exists(one.needs)]
    left = [one.name for one in chosen if one not in there]
    print(f"\n\n{len(there)} failures; not to be provoked here: {', '.join(left) or 'none'}\n{table.HEAD}")
    seen = []
    with FailingLab() as lab:
        for one in table.outcomes(lab, there, tmp_path):
            seen.append(one)
            print(table.row(one), flush=True)
            if os.environ.get("MAPLE_KEEP"):
                keep(one)
    print(table.totals(seen))
    assert all(one.asked.told for one in seen), "maple-fix gave no answer"
