"""Writes what the helper starts from: `python3 -IS write_helper_image.py`, once the package beside it is compiled.

An image holds each module's byte code as `__pycache__` has it, and each expression as `re` hands it to its engine; it
is good for the interpreter that wrote it, which it names.
"""

from __future__ import annotations

import ast
import importlib.util
import marshal
import os
import re
import sys
from typing import Any, Dict, Iterator, List, Tuple

Expression = Tuple[Any, int]  # as it is written, and its flags
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
    """Write the image of the package in *folder* beside its modules. Raises `OSError`, `ImportError`."""
    from maple_submit_filter import helper_image

    made: Any = helper_image.key(), dict(_modules(folder)), dict(_compiled(_expressions(folder)))
    with open(os.path.join(folder, helper_image.NAME), "wb") as file:
        file.write(marshal.dumps(made, 2))  # 2: without references, which come out differently each time


def _modules(folder: str) -> Iterator[Tuple[str, Tuple[bool, bytes]]]:
    """Yield the byte code of each module by its name, and whether it is a package."""
    for path in _sources(folder):
        with open(importlib.util.cache_from_source(path), "rb") as file:
            code = file.read()[16:]  # behind the head, which says what it was compiled from (PEP 552)
        yield _name(path, folder), (path.endswith("/__init__.py"), code)


def _sources(folder: str) -> List[str]:
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".py"))


def _name(path: str, folder: str) -> str:
    name = os.path.relpath(path, os.path.dirname(folder))[: -len(".py")].replace(os.sep, ".")
    return name[: -len(".__init__")] if name.endswith(".__init__") else name


def _expressions(folder: str) -> List[Expression]:
    """Return what modules compile when they are imported, those of the standard library too, or call `re` with."""
    found: Dict[Expression, None] = {}
    real = re.compile

    def compiling(pattern: Any, flags: int = 0) -> Any:
        if isinstance(pattern, (bytes, str)):
            found[pattern, int(flags)] = None
        return real(pattern, flags)

    re.compile = compiling
    try:
        for path in _sources(folder):
            module = importlib.import_module(_name(path, folder))
            for pattern, flags in _in_calls(path, vars(module)):
                compiling(pattern, flags)
    finally:
        re.compile = real
    return list(found)


def _in_calls(path: str, names: Dict[str, Any]) -> Iterator[Expression]:
    """Yield the expression of each `re.search(EXPRESSION, ...)` where it is a constant, or a module's name for one."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_re(node.func.value):
            words = [_value(one, names) for one in node.args] or [None]
            told = [_value(one.value, names) for one in node.keywords if one.arg == "flags"]
            flags = (told + words[_PLACE.get(node.func.attr, len(words)) :] + [0])[0]
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
