"""Every bug that can be put into the functions of a Python file: one comparison, bound, constant or call is another."""

from __future__ import annotations

import ast
import copy
import os
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
    """*at* is the place of the changed node in the walk over its function, *statement* that of the one it is in.

    Neither changes with the lines above, nor with the names inside.
    """

    file: str
    function: str  # as co_qualname has it
    at: int
    statement: int
    line: int

    def place(self, root: str) -> str:
        """Return what a sample is drawn by."""
        return "%s %s %d" % (os.path.relpath(self.file, root), self.function, self.at)


def bugs(file: str, source: str) -> Iterator[Bug]:
    """Yield every bug of a file, in its order. Decorators, defaults, docstrings and messages are left alone."""
    for name, function in _functions(ast.parse(source), ""):
        statement = 0
        for at, node in enumerate(_nodes(function)):
            statement = at if isinstance(node, ast.stmt) else statement
            if _changed(copy.deepcopy(node)) is not None:
                yield Bug(file, name, at, statement, node.lineno)


def told(bug: Bug, source: str) -> tuple[str, str]:
    """Return the bug's statement as it is and as it is with the bug, what stands below its first line left out."""
    nodes = _nodes(_of(ast.parse(source), bug))
    return _shown(nodes[bug.statement]), _shown(_with(nodes[bug.statement], nodes[bug.at]))


def compiled(bug: Bug, source: str) -> CodeType:
    """Return the code of the bug's function with the bug in it."""
    tree = ast.parse(source)
    _with(tree, _nodes(_of(tree, bug))[bug.at])
    module = compile(ast.fix_missing_locations(tree), bug.file, "exec", dont_inherit=True)
    return next(code for code in _codes(module) if code.co_qualname == bug.function)


def shape(source: str) -> list[str]:
    """Return each function with the kinds of its nodes: what a statement's place in the walk rests on."""
    tree = ast.parse(source)
    return [" ".join([name, *(type(node).__name__ for node in _nodes(of))]) for name, of in _functions(tree, "")]


def watched(file: str, source: str) -> Iterator[tuple[str, CodeType]]:
    """Yield the code of every function; at each statement it calls `reached_` with file, function and place."""
    tree = ast.parse(source)
    for name, function in _functions(tree, ""):
        places = {id(node): at for at, node in enumerate(_nodes(function)) if isinstance(node, ast.stmt)}
        _watch(function, places, (file, name))
    module = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    names = {name for name, _ in _functions(tree, "")}
    yield from ((code.co_qualname, code) for code in _codes(module) if code.co_qualname in names)


def _watch(node: ast.AST, places: dict[int, int], where: tuple[str, str]) -> None:
    """Put a call before each statement below a node that has a place."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, name, None)
        if not isinstance(below, list):
            continue
        made = list[ast.AST]()
        for part in below:
            _watch(part, places, where)
            if id(part) in places:
                call = ast.parse("reached_((%r, %r, %d))" % (*where, places[id(part)])).body[0]
                made.append(ast.copy_location(call, part))
            made.append(part)
        setattr(node, name, made)


def _of(tree: ast.AST, bug: Bug) -> Function:
    return next(function for name, function in _functions(tree, "") if name == bug.function)


def _with(tree: ast.AST, old: ast.expr | ast.stmt) -> ast.AST:
    """Put the bug in place of a node of the tree."""
    new = _changed(copy.deepcopy(old))
    assert new is not None
    return _Replace(old, new).visit(tree)


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the node, or what takes its place."""
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
        if name not in ("annotation", "returns", "decorator_list") and not _asserts(node):
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    yield from _below(child)


def _asserts(node: ast.AST) -> bool:
    """Return whether a node says what is so anyhow: an assertion, and `strict` of zip."""
    return isinstance(node, ast.Assert) or isinstance(node, ast.keyword) and node.arg == "strict"


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
    """Return a statement on one line; of one that holds others the line that begins it."""
    if isinstance(getattr(node, "body", None), list):
        node = copy.copy(node)
        for name in ("body", "orelse", "handlers", "finalbody"):
            if getattr(node, name, None):
                setattr(node, name, [])
    return " ".join(ast.unparse(node).split())


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
