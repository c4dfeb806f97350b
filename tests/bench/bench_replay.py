"""Thousands of submissions by many users, replayed with and without memory; prints what was found, and how much."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.daemon.replay import Replay


@pytest.mark.timeout(0)
def test_replay(tmp_path: Path) -> None:
    """MAPLE_REPLAY submissions (5000), MAPLE_SEED another course of events."""
    number, seed = int(os.environ.get("MAPLE_REPLAY", "5000")), int(os.environ.get("MAPLE_SEED", "1"))
    counts = asyncio.run(Replay(seed, str(tmp_path)).run(number, 0.1))
    print()
    for name, value in counts._asdict().items():
        print("%-12s %d" % (name, value))
    assert (counts.unequal, counts.false, counts.differ) == (0, 0, 0)
