"""Lists of words by which requests are read are data in `templates/words/`: no module holds a long one."""

from __future__ import annotations

import ast
from pathlib import Path

import maple_agents
import pytest

FOLDER = Path(maple_agents.__file__).parent / "request"
MOST = 45  # words between bars in one pattern: more are a list, which is data


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=str(path.relative_to(FOLDER))) for path in sorted(FOLDER.rglob("*.py"))]
)
def test_no_pattern_is_a_list_of_words(path: Path) -> None:
    """Whoever adds a word then edits data, as a site may."""
    texts = [node for node in ast.walk(ast.parse(path.read_bytes()))
             if isinstance(node, ast.Constant) and isinstance(node.value, str)]  # fmt: skip
    assert {node.lineno: node.value for node in texts if node.value.count("|") > MOST} == {}
