"""A fixed sample of the 567: every case once, the ways in rotation; all of them: `make bench-567`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.new567.answering import forked
from tests.new567.asked import WAYS, sample
from tests.new567.table import Result, keep, results, table

CASES = sample()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    every = results(CASES, str(tmp_path_factory.mktemp("cache")), start=forked)
    keep(every, "build/567-sample.json")
    print("\n" + table(every))
    return {one.asked.name: one for one in every}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
def test_what_was_asked_for_in_this_way_runs_right(way: str, found: dict[str, Result]) -> None:
    wrong = {one.asked.name: one.wrong for one in found.values() if one.asked.way == way and one.wrong}
    assert wrong == {}


def test_scripts_differ_where_requests_do(found: dict[str, Result]) -> None:
    """Each of them has a program line, an account or a size of its own; only what is refused has none."""
    scripts = Counter(one.made.script for one in found.values() if one.made.script)
    assert len(scripts) >= len(CASES) - sum(bool(one.lacks) for one in CASES)


def test_questions_are_asked_where_something_was_left_out(found: dict[str, Result]) -> None:
    asked = [one.made.asked for one in found.values() if one.asked.way == "asked"]
    assert all("?" not in told for told in asked)
    assert sum(bool(told) for told in asked) >= len(asked) // 2
