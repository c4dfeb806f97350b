"""The pages of the rules, read from their source: a rule is one file, and its docstring is its page.

The files are read, not imported, so that one broken rule does not hide the pages of the others.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

import maple_submit_filter


class Page(NamedTuple):
    """What `maple explain` shows of one rule."""

    code: str
    title: str
    text: str


def pages() -> tuple[Page, ...]:
    """Return the page of every rule, by code."""
    folder = Path(maple_submit_filter.__file__).parent / "rules"
    read = (page for path in sorted(folder.rglob("mpl*.py")) for page in pages_of(path.read_bytes()))
    return tuple(sorted(read))


def pages_of(source: bytes) -> Iterator[Page]:
    """Yield the page of every function in *source* that is decorated with `rule(code, title)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            named = next((name for name in map(_named, node.decorator_list) if name), None)
            if named:
                yield Page(*named, ast.get_docstring(node) or "")


def _named(decorator: ast.expr) -> Optional[tuple[str, str]]:
    """Return code and title of a `rule(code, title)` decorator, None for any other."""
    if not isinstance(decorator, ast.Call) or getattr(decorator.func, "id", "") != "rule":
        return None
    texts = [
        argument.value
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    return (texts[0], texts[1]) if len(texts) >= 2 else None
