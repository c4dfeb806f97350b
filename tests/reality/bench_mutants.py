"""`make bench-mutants`: every mutant of every right script, all operators, all sites; the table is printed."""

from __future__ import annotations

import os

import pytest

from tests.reality.mutants import main


@pytest.mark.timeout(0)
def test_mutants() -> None:
    """MAPLE_SEED chooses another draw, MAPLE_MUTANTS a sample of so many."""
    words = [os.environ.get("MAPLE_SEED", "1"), os.environ.get("MAPLE_MUTANTS", "")]
    assert main([word for word in words if word]) == 0
