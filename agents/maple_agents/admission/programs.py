"""The programs that a script starts, and which of them the job is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.text import NUL

from .arguments import Arguments, arguments
from .kinds import kind_of

_PYTHON = re.compile(rb"(?:.*/)?(?:i?python|pypy)[\d.]*")
_SHELL = re.compile(rb"(?:.*/)?(?:ba|da|z|k|c|tc)?sh")  # what it runs is not seen here
_WITH_VALUE = (b"-X", b"-W", b"--check-hash-based-pycs")


class Started(NamedTuple):
    """A launch line's program. *program*: file or module as written, "" not known. *first*: index of its arguments."""

    step: Step
    program: str
    is_module: bool
    first: int
    given: Arguments
    kind: str


def started(step: Step) -> Started:
    """Return the program of a launch line, its interpreter seen through."""
    words = step.program
    at, is_module = _program(words)
    name = words[at] if at < len(words) else b""
    hidden = NUL in name or _SHELL.fullmatch(name)
    program = name.decode("utf-8", "replace") if not hidden else ""
    given = arguments(words[at + 1 :])
    return Started(step, program, is_module, at + 1, given, kind_of(program, given.sure()))


def _program(words: Sequence[bytes]) -> tuple[int, bool]:
    """Return the index of the program's word and whether it is a module; beyond the last where there is none."""
    at = 1 if words and _PYTHON.fullmatch(words[0]) else 0
    while at < len(words) and words[at].startswith(b"-"):
        if words[at] in (b"-m", b"--module"):
            return at + 1, True
        if words[at] == b"-c":
            return len(words), False
        at += 2 if words[at] in _WITH_VALUE else 1
    return at, False


def main(plan: LaunchPlan) -> tuple[Started, ...]:
    """Return the launch lines that the job is about: those that train, else all that are no preparation."""
    found = [started(step) for step in plan.steps if step.program or step.links]
    for wanted in (("training",), ("evaluation", "inference", "")):
        some = [one for one in found if one.kind in wanted]
        if some:
            return tuple(some)
    return tuple(found)


def one_program(found: Sequence[Started]) -> bool:
    """Return whether all of these start the same program."""
    return len({(one.program, one.is_module) for one in found}) == 1 and bool(found[0].program)
