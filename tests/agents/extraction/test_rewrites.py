"""A request written otherwise, or with another value, gives no script that is silently wrong: a small seeded sample."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.agents.extraction.rewrite_measure import requests, rewritten
from tests.agents.extraction.rewrites import REWRITES, Rewrite

COUNT, SEED = 3, 27  # of each rewrite


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_rewritten_is_never_silently_wrong(rewrite: Rewrite, tmp_path: Path) -> None:
    """Right, told or asked for, by the label that follows; where the meaning was kept, the very same script."""
    rows = list(rewritten(rewrite, COUNT, SEED, str(tmp_path)))
    assert len(rows) == COUNT
    assert [one.after.case["words"] for one in rows if one.verdict == "silently wrong"] == []


def test_each_rewrite_fits_many_requests() -> None:
    """A rewrite that fits hardly any request measures nothing."""
    chance = random.Random(SEED)
    few = {rewrite.name: sum(rewrite.make(case, chance) is not None for case in requests()) for rewrite in REWRITES}
    assert {name: count for name, count in few.items() if count < 20} == {}
