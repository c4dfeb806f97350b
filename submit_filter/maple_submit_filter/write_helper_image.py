"""Writes what the helper starts from: `python3 -IS write_helper_image.py`.

An image holds each module's byte code without what only people read (docstrings, the types of arguments), and each
expression as `re` hands it to its engine; it is good for the interpreter that wrote it, which it names.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import marshal
import os
import re
import sys
from types import CodeType
from typing import Any, Dict, Iterator, List, Sequence, Tuple, Union

Expression = Tuple[Any, int]  # as it is written, and its flags
NEEDED = ("answer.reply", "host.configuration", "host.frames")  # and the rules, with what these import
# What these import of the standard library, each behind those that it imports itself; a release may lack one.
STANDARD = ("bisect", "struct")
ROUND = ("json", "json.decoder", "json.scanner", "json.encoder")  # they import each other, which an importer can order
MOST_FIELDS = 24  # of a named tuple whose maker is kept ready
_TAKEN = "%s = %s[%r].%s"
_PLACE = {"fullmatch": 2, "match": 2, "search": 2, "findall": 2, "finditer": 2}  # of the flags in a call


class Engine:
    """Stands before `re`'s engine, and notes what it is given."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.given: Any = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def compile(self, *given: Any) -> object:
        """Note it, and compile."""
        pattern, flags, code, *rest = given
        self.given = pattern, int(flags), list(map(int, code)), *rest  # its numbers have names, which are of no use
        return self._real.compile(*given)


def write(folder: str) -> None:
    """Write the image of the package in *folder* beside its modules. Raises `OSError`, `ImportError`, `SyntaxError`."""
    from maple_submit_filter import helper_image, lean_typing

    order, patterns = _learnt(folder)
    codes = {
        name: (package, _code(path, _room(name, package), _made(name, order))) for name, package, path in _ours(folder)
    }
    needed = _dumped((*_standard(STANDARD), *((name, *codes[name], "") for name in order)))
    later = (*_standard(ROUND), *((name, *code, "") for name, code in codes.items() if name not in order))
    others: Dict[str, Tuple[bool, int, int, str]] = {}
    behind = needed
    for name, package, code, path in later:
        dumped = _dumped(code)
        others[name] = package, len(behind), len(dumped), path
        behind += dumped
    makers = tuple(lean_typing.maker(count) for count in range(MOST_FIELDS + 1))
    head: Any = helper_image.key(), len(needed), others, dict(_compiled(patterns)), _dumped(makers)
    sized = marshal.dumps(head, 2)
    with open(os.path.join(folder, helper_image.NAME), "wb") as file:
        file.write(helper_image.SIGN + len(sized).to_bytes(8, "big") + sized + behind)


def _standard(names: Sequence[str]) -> Iterator[Tuple[str, bool, CodeType, str]]:
    """Yield those modules of the standard library that would be looked for in files, and where they are."""
    for name in names:
        spec = importlib.util.find_spec(name)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader) and spec.origin:
            yield name, spec.submodule_search_locations is not None, _code(spec.origin, "", ()), spec.origin


def _ours(folder: str) -> Iterator[Tuple[str, bool, str]]:
    return ((_name(path, folder), path.endswith("/__init__.py"), path) for path in _sources(folder))


def _room(name: str, package: bool) -> str:
    return name if package else name.rpartition(".")[0]


def _made(name: str, order: Sequence[str]) -> Sequence[str]:
    """Return the modules that are there when that one is run."""
    return order[: order.index(name)] if name in order else ()


def _dumped(made: Any) -> bytes:
    return marshal.dumps(made, 4)


def _order() -> List[str]:
    """Return the modules that every submission needs and that are not there yet, each behind those that it imports."""
    order: List[str] = []
    loader: Any = importlib.machinery.SourceFileLoader
    real = loader.exec_module

    def noting(self: Any, module: Any) -> None:
        real(self, module)
        if module.__name__.startswith("maple_submit_filter."):
            order.append(module.__name__)

    loader.exec_module = noting
    try:
        for name in NEEDED:
            importlib.import_module("maple_submit_filter." + name)
        importlib.import_module("maple_submit_filter.rules").rules()
    finally:
        loader.exec_module = real
    return order


class _Bare(ast.NodeTransformer):
    """Takes out of a module what only people read; what it imports of modules that are *made* it takes from there."""

    def __init__(self, room: str, made: Sequence[str]) -> None:
        self._room, self._made = room.split("."), frozenset(made)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Union[ast.AST, List[ast.stmt]]:
        from maple_submit_filter.helper_image import MODULES

        above = ".".join(self._room[: len(self._room) - node.level + 1])
        module = ".".join(filter(None, (above, node.module))) if node.level else ""
        if module not in self._made or any("%s.%s" % (module, name.name) in self._made for name in node.names):
            return node
        lines = (_TAKEN % (name.asname or name.name, MODULES, module, name.name) for name in node.names)
        return ast.parse("\n".join(lines)).body

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._made, made = frozenset(), self._made  # what a function imports may be there or not
        try:
            return self._function(node)
        finally:
            self._made = made

    def _function(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for tree in ast.walk(node.args):
            if isinstance(tree, ast.arg):
                tree.annotation = None
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def _without_docstring(self, node: Union[ast.FunctionDef, ast.ClassDef, ast.Module]) -> ast.AST:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node


def _code(path: str, room: str, made: Sequence[str]) -> CodeType:
    """Return the byte code of a module of the package *room*. *made*: the modules that are there when it is run."""
    with open(path, "rb") as file:
        tree = ast.fix_missing_locations(_Bare(room, made).visit(ast.parse(file.read())))
    return _unlined(compile(tree, os.path.basename(path), "exec", dont_inherit=True))


def _unlined(code: CodeType) -> CodeType:
    """Return code without the table of its lines: a traceback of the helper's is read by nobody."""
    inner = tuple(_unlined(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    table: Any = {"co_linetable": b""} if sys.version_info >= (3, 10) else {"co_lnotab": b""}
    return code.replace(co_consts=inner, co_filename="", **table)


def _sources(folder: str) -> List[str]:
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".py"))


def _name(path: str, folder: str) -> str:
    name = os.path.relpath(path, os.path.dirname(folder))[: -len(".py")].replace(os.sep, ".")
    return name[: -len(".__init__")] if name.endswith(".__init__") else name


def _learnt(folder: str) -> Tuple[List[str], List[Expression]]:
    """Return the modules that every submission needs, in order, and all expressions.

    Those that modules compile when they are imported, of the standard library too, call `re` with, or name in a tuple
    `CHOSEN_LATER`, because a table has them.
    """
    expressions: Dict[Expression, None] = {}
    real = re.compile

    def compiling(pattern: Any, flags: int = 0) -> Any:
        if isinstance(pattern, (bytes, str)):
            expressions[pattern, int(flags)] = None
        return real(pattern, flags)

    re.compile = compiling
    try:
        order = _order()
        for path in _sources(folder):
            module = importlib.import_module(_name(path, folder))
            for pattern, flags in _in_calls(path, vars(module)):
                compiling(pattern, flags)
            for pattern in vars(module).get("CHOSEN_LATER", ()):
                compiling(pattern)
    finally:
        re.compile = real
    return order, list(expressions)


def _in_calls(path: str, names: Dict[str, Any]) -> Iterator[Expression]:
    """Yield the expression of each `re.search(EXPRESSION, ...)` where it is a constant, or a module's name for one."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_re(node.func.value):
            words = [_value(argument, names) for argument in node.args] or [None]
            values = [_value(keyword.value, names) for keyword in node.keywords if keyword.arg == "flags"]
            flags = (values + words[_PLACE.get(node.func.attr, len(words)) :] + [0])[0]
            if isinstance(words[0], (bytes, str)) and isinstance(flags, int):
                yield words[0], flags


def _is_re(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "re"


def _value(node: ast.expr, names: Dict[str, Any]) -> object:
    """Return what a constant, a name or `re.NAME` stands for, None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    return getattr(re, node.attr, None) if isinstance(node, ast.Attribute) and _is_re(node.value) else None


def _compiled(expressions: List[Expression]) -> Iterator[Tuple[Expression, bytes]]:
    """Yield what the engine is given for each."""
    compiler: Any = importlib.import_module("re._compiler" if sys.version_info >= (3, 11) else "sre_compile")
    engine = compiler._sre
    compiler._sre = listening = Engine(engine)
    try:
        for pattern, flags in expressions:
            compiler.compile(pattern, flags)
            yield (pattern, flags), marshal.dumps(listening.given, 2)
    finally:
        compiler._sre = engine


if __name__ == "__main__":
    _here = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.path.dirname(_here)  # in place of this folder, whose modules are named like others'
    write(_here)
