"""Python's own command line: what stands before the script or module, and which of them it is.

From the usage text of CPython 3.11 to 3.13.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Sequence, Tuple

from ..types.launch_plan import Option
from ..types.text import NUL, Text
from .grammar import GO, Reading, Table, read, table

_INTERPRETER = re.compile(rb"(python|pypy)(\d+(\.\d+)*t?)?(-dbg|d)?$")

TABLE: Table = table(
    "python",
    GO,  # short options in one word, no shortening
    "\n".join("-%s 0" % flag for flag in "bBdEhiIOPqRsStuvVx?")
    + """
    -W 1
    -X 1
    --check-hash-based-pycs 1
    --help 0
    --help-all 0
    --help-env 0
    --help-xoptions 0
    --version 0
    """,
)


class PythonCall(NamedTuple):
    """What a python is told to run: a *module* (its text), a *script* (index of the word), *command* text or *stdin*.

    *program* is the index of the word that names the module or script, *arguments* that of its first argument.
    *open* and *problem* as in a `Reading`. Nothing named means an interactive python, or --version.
    """

    module: Optional[bytes]
    script: Optional[int]
    command: Optional[Text]
    stdin: bool
    program: int
    arguments: int
    options: Tuple[Option, ...]
    open: bool
    split_only: bool
    problem: str


def is_interpreter(text: Text) -> bool:
    """Return whether the word names a python, in whatever directory."""
    name = text.raw.rsplit(b"/", 1)[-1]
    return NUL not in name and _INTERPRETER.match(name) is not None


def python_program(argv: Sequence[Text], start: int = 0) -> Optional[PythonCall]:
    """Read the python at *start*; None when no python stands there."""
    if start >= len(argv) or not is_interpreter(argv[start]):
        return None
    stop = _stop(argv, start + 1)
    if stop is None:
        return _script(argv, read(TABLE, argv, start + 1))
    at, letter, rest = stop
    before = read(TABLE, argv[:at], start + 1)
    return _named(argv, before, at, letter, rest)


def _stop(argv: Sequence[Text], start: int) -> Optional[Tuple[int, bytes, int]]:
    """Return where `-c` or `-m` ends the options: word, letter, and the byte behind the letter."""
    at = start
    while at < len(argv):
        raw = argv[at].raw
        if not raw.startswith(b"-") or raw in (b"-", b"--"):
            return None
        at_letter = _letter(raw)
        if at_letter is not None:
            return at, raw[at_letter : at_letter + 1], at_letter + 1
        at += 2 if _value_follows(raw) else 1
    return None


def _letter(raw: bytes) -> Optional[int]:
    """Return the place of `c` or `m` among the short options of one word."""
    if raw.startswith(b"--"):
        return None
    for at in range(1, len(raw)):
        if raw[at : at + 1] in (b"c", b"m"):
            return at
        if raw[at : at + 1] in (b"W", b"X") or raw[at : at + 1] == NUL:
            return None
    return None


def _value_follows(raw: bytes) -> bool:
    """Return whether the word's last option takes the next word."""
    if raw.startswith(b"--"):
        return raw == b"--check-hash-based-pycs"
    places = [at for at in (raw.find(b"W", 1), raw.find(b"X", 1)) if at > 0]
    return bool(places) and min(places) == len(raw) - 1


def _script(argv: Sequence[Text], reading: Reading) -> PythonCall:
    at = reading.program
    there = at < len(argv)
    stdin = there and argv[at].raw == b"-"
    script = at if there and not stdin else None
    return _call(reading, None, script, None, stdin, at, min(at + 1, len(argv)))


def _named(argv: Sequence[Text], before: Reading, at: int, letter: bytes, rest: int) -> PythonCall:
    glued = rest < len(argv[at].raw)
    index = at if glued else at + 1
    if index >= len(argv):
        refused = before._replace(problem="-%s wants a value" % letter.decode())
        return _call(refused, None, None, None, False, index, index)
    value = argv[at].slice(rest) if glued else argv[index]
    opened = before.open or value.open
    reading = before._replace(open=opened, split_only=opened and (not before.open or before.split_only))
    if letter == b"c":
        return _call(reading, None, None, value, False, index, index + 1)
    if not value.literal:
        return _call(reading._replace(open=True, split_only=False), None, None, None, False, index, index + 1)
    return _call(reading, value.raw, None, None, False, index, index + 1)


def _call(
    reading: Reading,
    module: Optional[bytes],
    script: Optional[int],
    command: Optional[Text],
    stdin: bool,
    program: int,
    arguments: int,
) -> PythonCall:
    return PythonCall(
        module,
        script,
        command,
        stdin,
        program,
        arguments,
        reading.options,
        reading.open,
        reading.split_only,
        reading.problem,
    )
