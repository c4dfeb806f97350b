"""The page of what never bends names tests and rules that there are, for every promise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from maple_submit_filter.rules import rules

from tests.bugs import by_hand
from tests.bugs.__main__ import equals
from tests.bugs.python_bugs import bugs, told
from tests.submit_filter import rule_cases

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


def test_a_bug_breaks_each_promise_and_its_row_s_tests_are_tried_with_it() -> None:
    """`python -m tests.bugs.by_hand` runs them; a row of rules has their cases instead."""
    broken = {bug["promise"] for bug in by_hand.known() if "promise" in bug}
    assert {promise for promise, tests in by_hand.promises().items() if tests} == broken


def test_each_bug_put_in_by_hand_has_its_place() -> None:
    """The words that it changes stand there once."""
    assert [bug["name"] for bug in by_hand.known() if by_hand.places(bug) != 1] == []


def test_a_bug_that_has_no_place_is_passed_over_and_said(monkeypatch, capsys) -> None:
    """It ends no run of the others, and the run does not pass."""
    first, second, third = by_hand.known()[:3]
    gone = [{**first, "was": "nothing of the kind"}, {**second, "file": "gone.c"}, third]
    monkeypatch.setattr(by_hand, "known", lambda: gone)
    monkeypatch.setattr(by_hand, "tried", lambda bug, near: "a test")
    assert by_hand.main([]) == 2
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["ASTRAY", "ASTRAY", "noticed", "1"]
    assert "stands 0 times in %s" % first["file"] in said[0] and said[-1] == "1 of 3 noticed"


def test_each_bug_that_is_none_is_one_that_can_be_put_in() -> None:
    """Else it would excuse another one day."""
    for file, function, *texts in equals():
        source = (ROOT / file).read_text("utf-8")
        there = [told(bug, source) for bug in bugs(file, source) if bug.function == function]
        assert tuple(texts) in there, (file, function, texts)


def test_a_rule_that_is_named_speaks_in_a_case() -> None:
    """Where it fell silent, the case would fail."""
    cases = [case for folder in (rule_cases.FOLDER, rule_cases.OF_LAUNCH) for case in rule_cases.cases(folder)]
    named = {code for row in ROWS for code in re.findall(r"MPL\d{3}", row)}
    assert named <= {case.code for case in cases if case.expected}
