"""What a Python program gives one value, what it has for its tests, and the keys that it takes of its configuration."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_SETTINGS = {"args", "arg", "config", "cfg", "conf", "hparams", "hyperparameters", "params", "opt", "opts", "settings"}
_FOR_TESTS = re.compile(r"(?:^|_)(?:test|val|valid|validation|eval|dev)(?:_|\d|$|set|loader|data|dl|ds)", re.IGNORECASE)
_LOADS = re.compile(r"(?:yaml|json|toml|tomllib|tomli)\.(?:safe_load|full_load|load|loads)")


class Given(NamedTuple):
    """A name with its one value. *is_top*: it stands on the module's top level, or where the file runs as a program."""

    name: str
    value: ast.expr
    line: int
    is_top: bool


def given_once(tree: ast.Module) -> Iterator[Given]:
    """Yield the names that are given a value once in the whole file, on its top level or that of a function."""
    stored = Counter(each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and _stores(each))
    stored.update(each.arg for each in ast.walk(tree) if isinstance(each, ast.arg))
    for body, is_top in _bodies(tree):
        for node in body:
            target: object = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            is_given = isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.expr)
            if is_given and isinstance(target, ast.Name) and stored[target.id] == 1 and value is not None:
                yield Given(target.id, value, node.lineno, is_top)


def _stores(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _bodies(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], bool]]:
    yield tree.body, True
    for node in tree.body:
        if isinstance(node, ast.If) and is_main(node.test):
            yield node.body, True
    for each in ast.walk(tree):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield each.body, False


def is_main(test: ast.expr) -> bool:
    """Return whether a condition is `__name__ == "__main__"`."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def class_settings(tree: ast.Module) -> Iterator[Given]:
    """Yield what a plain class of settings has: `class args: epochs = 70`."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.lower() in _SETTINGS and not node.decorator_list:
            for each in node.body:
                target = each.targets[0] if isinstance(each, ast.Assign) else None
                if isinstance(each, ast.Assign) and isinstance(target, ast.Name):
                    yield Given(target.id, each.value, each.lineno, True)


def made_for_tests(node: ast.Assign) -> bool:
    """Return whether a name says that what it is given is no training's: `val_loader = …`."""
    return isinstance(node.targets[0], ast.Name) and bool(_FOR_TESTS.search(node.targets[0].id))


def keys_taken(tree: ast.Module) -> tuple[str, ...] | None:
    """Return the keys that a program takes out of the one configuration that it loads, None where it may take any.

    It takes these alone where every use is `config["key"]` or `config.get("key")`.
    """
    given = (each for each in ast.walk(tree) if isinstance(each, ast.Assign))
    loaded = [each.targets[0] for each in given if _is_loaded(each.value)]
    if len(loaded) != 1 or not isinstance(loaded[0], ast.Name):
        return None
    keys = [_key(each, loaded[0].id) for each in ast.walk(tree)]
    uses = sum(isinstance(each, ast.Name) and each.id == loaded[0].id for each in ast.walk(tree))
    taken = tuple(dict.fromkeys(key for key in keys if key is not None))
    return taken if sum(key is not None for key in keys) == uses - 1 else None


def _is_loaded(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and bool(_LOADS.fullmatch(ast.unparse(value.func)))


def _key(node: ast.AST, name: str) -> str | None:
    """Return the key of `name["key"]` and `name.get("key")`."""
    word: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is(node.value, name):
        word = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
        word = node.args[0] if node.func.attr == "get" and node.args else None
    return word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
