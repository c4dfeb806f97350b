"""Every bug that can be put into the functions of a Python file: one comparison, bound, constant or call is another."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple, Optional

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Bug(NamedTuple):
    """*at* is the place of the changed node in the walk over its function, *statement* the line of the one it is in."""

    file: str
    function: str  # as co_qualname has it
    line: int
    statement: int
    at: int
    says: str

    def __str__(self) -> str:
        return "%s:%d %s: %s" % (self.file, self.line, self.function, self.says)


def bugs(file: str, source: str) -> Iterator[Bug]:
    """Yield every bug of a file, in its order. Decorators, defaults, docstrings and messages are left alone."""
    for name, function in _functions(ast.parse(source), ""):
        statement = function.lineno
        for at, node in enumerate(_nodes(function)):
            statement = node.lineno if isinstance(node, ast.stmt) else statement
            changed = _changed(copy.deepcopy(node))
            if changed is not None:
                says = "%s -> %s" % (_shown(node), _shown(changed))
                yield Bug(file, name, node.lineno, statement, at, says)


def compiled(bug: Bug, source: str) -> CodeType:
    """Return the code of the bug's function with the bug in it."""
    tree = ast.parse(source)
    function = next(function for name, function in _functions(tree, "") if name == bug.function)
    old = _nodes(function)[bug.at]
    new = _changed(copy.deepcopy(old))
    assert new is not None
    _Replace(old, new).visit(tree)
    module = compile(ast.fix_missing_locations(tree), bug.file, "exec", dont_inherit=True)
    return next(code for code in _codes(module) if code.co_qualname == bug.function)


def watched(file: str, source: str) -> Iterator[tuple[str, CodeType]]:
    """Yield the code of every function, which calls the builtin `reached_` with file and line before each statement."""
    tree = ast.parse(source)
    for _, function in _functions(tree, ""):
        docstring = ast.get_docstring(function) is not None
        function.body = function.body[:docstring] + _watched(file, function.body[docstring:])
    module = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    names = {name for name, _ in _functions(tree, "")}
    yield from ((code.co_qualname, code) for code in _codes(module) if code.co_qualname in names)


def _watched(file: str, body: list[ast.stmt]) -> list[ast.stmt]:
    made = list[ast.stmt]()
    for statement in body:
        for name in ("body", "orelse", "finalbody"):
            if getattr(statement, name, None):
                setattr(statement, name, _watched(file, getattr(statement, name)))
        call = ast.parse("reached_((%r, %d))" % (file, statement.lineno)).body[0]
        made += [ast.copy_location(call, statement), statement]
    return made


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)


def _functions(tree: ast.AST, before: str) -> Iterator[tuple[str, Function]]:
    """Yield functions and methods with their names; those inside functions belong to the function around them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield before + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, "%s%s." % (before, node.name))


def _nodes(function: Function) -> list[ast.expr | ast.stmt]:
    """Return the nodes below a function that may be changed: expressions and statements of its body."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return [node for part in body for node in _below(part)]


def _below(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    yield from _below(child)


def _changed(node: ast.AST) -> Optional[ast.expr | ast.stmt]:
    """Return the node with a bug, None where none is known. It may change *node*."""
    if isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp):
        return _operator(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
        return node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLED:
        return _call(node)
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        return ast.copy_location(ast.Return(None), node)
    if isinstance(node, ast.Continue):
        return ast.copy_location(ast.Break(), node)
    if isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
        return node
    return None


def _operator(node: ast.Compare | ast.BoolOp | ast.BinOp) -> Optional[ast.expr]:
    if isinstance(node, ast.Compare):
        node.ops[0] = OTHER[type(node.ops[0])]()  # type: ignore[assignment]
        return node
    if type(node.op) not in OTHER:  # % of a message
        return None
    node.op = OTHER[type(node.op)]()  # type: ignore[assignment]
    return node


def _call(node: ast.Call) -> ast.expr:
    assert isinstance(node.func, ast.Name)
    node.func.id = CALLED[node.func.id]
    if node.func.id == "list":
        node.keywords = []
    return node


def _shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:70]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
