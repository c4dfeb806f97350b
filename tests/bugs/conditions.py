"""`python -m tests.bugs.conditions [RULE ...]`: choose neighbours of the rules' scripts by what conditions come to.

Each comparison and each condition of plan, rules, repair and answer is watched: on which side of it a value lies, by
one or by more, and which way it comes out. Of the neighbours (`tests/submit_filter/neighbours.py`) those are kept that
show what no script of the tree and no neighbour before shows. What is made of them goes to `tests/cases/seen/`.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import operator
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WATCHED = tuple(
    os.path.join(ROOT, "submit_filter/maple_submit_filter", name) + os.sep
    for name in ("plan", "rules", "repair", "answer")
)
SECONDS = 3.0  # of the processor, that the neighbours of a rule may take
TRIES = 120  # neighbours of a rule
Seen = set[tuple[Any, ...]]
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq,
    "NotEq": operator.ne, "Is": operator.is_, "IsNot": operator.is_not, "In": lambda one, other: one in other,
    "NotIn": lambda one, other: one not in other,
}  # fmt: skip
_seen: Seen = set()


def compared(place: int, name: str, one: Any, other: Any) -> Any:
    """Compare, and keep how the two lie to each other: of numbers by one, two or more."""
    result = _OPERATORS[name](one, other)
    by = max(-2, min(2, one - other)) if isinstance(one, int) and isinstance(other, int) else None
    _seen.add((place, bool(result), by))
    return result


def came_out(place: int, value: Any) -> Any:
    """Keep whether a condition holds."""
    _seen.add((place, bool(value)))
    return value


class _Watch(ast.NodeTransformer):
    """Comparisons and conditions as calls of the two above."""

    def __init__(self, file: str) -> None:
        self.file, self.next = hash(file), 0

    def _place(self) -> ast.Constant:
        self.next += 1
        return ast.Constant(self.file + self.next)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """One of two values; of a chain the parts are left alone."""
        self.generic_visit(node)
        if len(node.ops) != 1:
            return self._condition(node)
        name = ast.Constant(type(node.ops[0]).__name__)
        return _call("compared_", self._place(), name, node.left, node.comparators[0])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Each part."""
        self.generic_visit(node)
        node.values = [self._condition(value) for value in node.values]
        return node

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> ast.AST:
        """What it turns on."""
        self.generic_visit(node)
        node.test = self._condition(node.test)
        return node

    visit_IfExp = visit_While = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """What is let through."""
        self.generic_visit(node)
        node.ifs = [self._condition(test) for test in node.ifs]
        return node

    def _condition(self, node: ast.expr) -> ast.expr:
        return _call("came_out_", self._place(), node)


def _call(name: str, *values: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(values), [])


def watch() -> None:
    """From here on what is imported of the heart is watched; call it before the first import of that."""
    builtins.compared_, builtins.came_out_ = compared, came_out  # type: ignore[attr-defined]
    sys.pycache_prefix = tempfile.mkdtemp(prefix="maple-conditions-")
    plain = importlib.machinery.SourceFileLoader.source_to_code

    def watched(self: Any, data: Any, path: Any, **more: Any) -> CodeType:
        if not str(path).startswith(WATCHED) or not isinstance(data, bytes):
            return plain(self, data, path, **more)
        tree = _Watch(str(path)).visit(ast.parse(data))
        code: CodeType = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
        return code

    importlib.machinery.SourceFileLoader.source_to_code = watched  # type: ignore[method-assign,assignment]


def main(codes: list[str]) -> None:
    """Choose anew, for all rules or for some; the other rules' neighbours stay."""
    watch()
    from maple_submit_filter.answer.decision import decide

    from tests.submit_filter import neighbours, seen
    from tests.submit_filter.test_worlds_kept_everywhere import Submitted, everything

    def shows(case: Submitted) -> Seen:
        _seen.clear()
        decide(case.asked, case.site, case.read)
        return set(_seen)

    kept = [near for near in seen.near() if codes and near.name.partition("/")[0] not in codes]
    known: Seen = set().union(*(shows(case) for case in (*everything(), *kept)))
    print("%d scripts show %d things" % (len(everything()) + len(kept), len(known)), flush=True)
    by_rule: dict[str, list[str]] = {}
    for case in everything():
        code = case.name.partition("/")[0]
        if code.startswith("MPL") and (not codes or code in codes):
            by_rule.setdefault(code, []).extend(neighbours.titles(case))
    for code, titles in sorted(by_rule.items()):
        more = list(_more(random.Random(code).sample(titles, min(TRIES, len(titles))), neighbours.of, shows, known))
        print("%s: %d of %d" % (code, len(more), len(titles)), flush=True)
        kept += more
    seen.write([near.name for near in kept])


def _more(titles: list[str], of: Callable[[str], Any], shows: Callable[[Any], Seen], known: Seen) -> Iterator[Any]:
    """Yield those that show more than is known."""
    until = time.process_time() + SECONDS
    for title in titles:
        near = of(title)
        new = shows(near) - known if near is not None and time.process_time() < until else None
        if new:
            known |= new
            yield near


if __name__ == "__main__":
    main(sys.argv[1:])
