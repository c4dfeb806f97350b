"""A training that really runs is followed while it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.progress.real_trainings import PYTHON, QUICK, recorded


@pytest.mark.parametrize("kind", ["plain", "bar"])
def test_a_training_is_followed_to_its_end(kind: str, tmp_path: Path) -> None:
    """Half way the time left is about right; no alarm; the last step is the last."""
    if kind != "plain" and not PYTHON.exists():
        pytest.skip("build/heavy-venv is not here")
    one = recorded(tmp_path, [(kind, QUICK)])[0]
    half = one.at(0.6)
    assert half.off is not None and abs(half.off) < 0.5
    assert half.told.alarms == ()
    assert one.at(1.0).told.course.step == 60
