"""What is made of every script in the tree is what it was; `python -m tests.submit_filter.seen` writes it anew."""

from __future__ import annotations

import difflib

import pytest

from tests.submit_filter import seen


@pytest.fixture(scope="module")
def now() -> dict[str, str]:
    """The text of each file as it would be written."""
    return seen.blocks()


def test_every_kind_of_script_is_there(now: dict[str, str]) -> None:
    """And no file of a kind that is gone."""
    assert sorted(now) == sorted(path.name for path in seen.FOLDER.glob("*.txt"))
    assert sum(text.count("\n== ") for text in now.values()) > 1000


@pytest.mark.parametrize("name", sorted(path.name for path in seen.FOLDER.glob("*.txt")))
def test_what_is_made_of_a_script_is_what_it_was(now: dict[str, str], name: str) -> None:
    """Its plan, its findings with their sentences and places, what is repaired and offered."""
    before = (seen.FOLDER / name).read_text().splitlines()
    changed = list(difflib.unified_diff(before, now[name].splitlines(), "as it was", "now", lineterm="", n=2))
    assert changed == [], "\n".join(changed[:60])
