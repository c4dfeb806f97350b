"""The live path on a lab's Slurm: 200 jobs of seconds, five seeds, what they wait with forecasts and by size alone."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.priority.compressed import table


def test_forecasts_shorten_the_wait(tmp_path: Path) -> None:
    """In four seeds of five, at least; about twelve minutes."""
    assert table(200, range(5), tmp_path) >= 4
