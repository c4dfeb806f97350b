"""What a plan finds broken has a name, an invariant and a rule that speaks of it; no rule asks for another kind."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_submit_filter.plan import breach_kinds

HERE = Path(breach_kinds.__file__).parents[1]
KINDS = {name: value for name, value in vars(breach_kinds).items() if name.isupper() and isinstance(value, str)}
SEEN = Path(__file__).parents[1] / "cases" / "seen"
RULES = sorted(
    path for path in (HERE / "rules").glob("*/*.py") if path.name.startswith("mpl") or path.name == "continuation.py"
)


def named(path: Path) -> set[str]:
    """Return the kinds that a module names, by their names there."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "breach_kinds"
    }


def literals(path: Path) -> Iterator[str]:
    """Yield the kinds that a module compares, or makes, by a word in place of its name."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "breach.kind":
            words = (one.value for side in node.comparators for one in ast.walk(side) if isinstance(one, ast.Constant))
            yield from (f"{path.name}:{node.lineno} {word}" for word in words if word in KINDS.values())
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Breach" and isinstance(node.args[0], ast.Constant):
            yield f"{path.name}:{node.lineno} {node.args[0].value}"


def test_every_kind_has_its_invariant() -> None:
    """One sentence each, and none of a kind that is gone."""
    assert sorted(KINDS.values()) == sorted(breach_kinds.INVARIANTS)
    assert set(breach_kinds.UNPROVEN) <= set(breach_kinds.INVARIANTS)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_plan_makes_it_and_a_rule_speaks_of_it(name: str) -> None:
    """In the code, and in a case: some script of the tree breaks it, and a rule reports that script."""
    assert any(name in named(path) for path in (HERE / "plan").glob("*.py") if path.name != "breach_kinds.py")
    assert any(name in named(path) for path in RULES)
    blocks = [one for path in SEEN.glob("*.txt") for one in path.read_text("utf-8").split("\n== ")]
    assert any(
        re.search(rf"^    [!?] {KINDS[name]}\b", one, re.M) and re.search(r"^  \d+:\d+ MPL", one, re.M)
        for one in blocks
    )


def test_nobody_names_a_kind_that_there_is_not() -> None:
    """By its name in `breach_kinds` alone, in plan, rules, repair."""
    paths = [path for room in ("plan", "rules", "repair", "answer") for path in (HERE / room).rglob("*.py")]
    there = {name for name in vars(breach_kinds) if name.isupper()}
    assert {os.path.relpath(path, HERE): named(path) - there for path in paths if named(path) - there} == {}
    assert [word for path in paths for word in literals(path)] == []
