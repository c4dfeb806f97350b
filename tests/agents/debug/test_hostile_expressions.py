"""No expression of the knowledge base takes longer than its line is long, whatever stands in that line."""

from __future__ import annotations

import subprocess
import sys
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from maple_agents.templates.knowledge.entries_in_force import entries, meanings

LONGEST = 2000  # characters: a line is never longer when it is searched
PROGRAM = "import re, sys\nfor line in sys.stdin:\n    pattern, text = eval(line)\n    re.search(pattern, text)\n"


def patterns() -> list[str]:
    """Return every expression in force, each once."""
    of_entries = {one for entry in entries().values() for one in (*entry.match, *entry.without, entry.exception) if one}
    return sorted(of_entries | {one for meaning in meanings().values() for one in (*meaning.names, *meaning.script)})


def pieces(tree: Any) -> list[str]:
    """Return texts that parts of an expression match: its literals, one character of each class, and their joins."""
    made: list[str] = []
    whole = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            whole += chr(argument)
        elif name in ("IN", "ANY", "NOT_LITERAL", "CATEGORY"):
            whole += _one(name, argument)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            inner = pieces(argument[2])
            made += inner
            whole += (inner[-1] if inner else "") * max(1, argument[0])
        elif name == "SUBPATTERN":
            inner = pieces(argument[-1])
            made += inner
            whole += inner[-1] if inner else ""
        elif name == "BRANCH":
            inner = [part for one in argument[1] for part in pieces(one)]
            made += inner
            whole += inner[-1] if inner else ""
    return [*made, whole]


def _one(name: str, argument: Any) -> str:
    if name == "IN":
        for kind, value in argument:
            if str(kind) == "LITERAL":
                return chr(value)
            if str(kind) == "RANGE":
                return chr(value[0])
            if str(kind) == "CATEGORY":
                return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(value), "a")
    return "a"


def lines(pattern: str) -> set[str]:
    """Return lines that nearly match *pattern*, over and over, and fail at their end."""
    parts = {one for one in pieces(parser.parse(pattern)) if one}
    whole = max(parts, key=len, default="a")
    made = {(one * LONGEST)[: LONGEST - 1] + "\x01" for one in {*parts, "a", " ", "1", "/", "a ", "1.", "-", "'"}}
    return made | {
        (whole[: len(whole) // 2 + 1] + one * LONGEST)[: LONGEST - 1] + "\x01" for one in ("a", " ", "1", "a ")
    }


@pytest.mark.timeout(300)
def test_lines_made_from_the_expressions_themselves_end() -> None:
    """All in one process of its own, which an expression without an end would never leave."""
    asked = "".join("%r\n" % ((pattern, line),) for pattern in patterns() for line in sorted(lines(pattern)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=asked, text=True, timeout=240, check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr[-500:]


def test_an_expression_without_an_end_would_be_found() -> None:
    """The lines that are made do show what they are to show."""
    asked = "".join("%r\n" % (("(a+)+$", line),) for line in sorted(lines("(a+)+$")))
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", PROGRAM], input=asked, text=True, timeout=3, check=False)
