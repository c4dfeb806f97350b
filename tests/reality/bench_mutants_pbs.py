"""`make bench-mutants-pbs`: every mutant of every right PBS script, all operators, all sites; the table is printed."""

from __future__ import annotations

import os

import pytest

from tests.reality.mutants import PBS, Range, main


@pytest.mark.timeout(0)
@pytest.mark.parametrize("within", [pytest.param(PBS, id="mutants-pbs")])
def test_every_mutant(within: Range) -> None:
    """MAPLE_SEED chooses another draw, MAPLE_MUTANTS a sample of so many."""
    words = [os.environ.get("MAPLE_SEED", "1"), os.environ.get("MAPLE_MUTANTS", "")]
    assert main([word for word in words if word], within, "build/mutants-pbs.json") == 0
