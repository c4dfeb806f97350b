"""The page of what never bends names tests and rules that there are, for every promise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from maple_submit_filter.rules import rules

ROOT = Path(__file__).resolve().parents[1]
ROWS = [
    line
    for line in (ROOT / "docs" / "invariants.md").read_text().splitlines()
    if line.startswith("| ") and not line.endswith(("| Tests |", "| Rules |"))
]
SAID = {name for row in ROWS for name in re.findall(r"`([\w/]+\.py::test_\w+)`", row)}


def test_there_is_a_row_for_every_promise() -> None:
    """And each names a test or a rule."""
    assert len(ROWS) >= 37 and len(SAID) >= 60
    assert [row for row in ROWS if not re.search(r"`[\w/]+\.py::test_\w+`|MPL\d{3}", row)] == []


@pytest.mark.parametrize("file", sorted({name.partition("::")[0] for name in SAID}))
def test_the_tests_that_are_named_are_there(file: str) -> None:
    there = set(re.findall(r"^def (test_\w+)", (ROOT / "tests" / file).read_text(), re.MULTILINE))
    assert {name.partition("::")[2] for name in SAID if name.startswith(file + "::")} <= there


def test_the_rules_that_are_named_are_there() -> None:
    assert {code for row in ROWS for code in re.findall(r"MPL\d{3}", row)} <= {rule.code for rule in rules()}
