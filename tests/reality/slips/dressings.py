"""Shapes of a launch line: the same line continued, in a function, in a list ... none changes what it starts."""

from __future__ import annotations

import re
from typing import Callable, Optional

from tests.reality.slips.script import only_line

Dressing = Callable[[bytes], Optional[bytes]]
PLAIN = "as it stands"


def _around(form: bytes) -> Dressing:
    return lambda line: form.replace(b"LINE", line)


def _continued(line: bytes) -> Optional[bytes]:
    """Break the line before each option; a line with quotes over several lines is left."""
    if b"'" in line or b'"' in line or b"$(" in line or b"\\" in line:
        return None
    new = re.sub(rb"[ \t]+(?=--?[A-Za-z])", b" \\\\\n    ", line)
    return new if new != line else None


def _string(line: bytes) -> Optional[bytes]:
    if any(sign in line for sign in (b"'", b'"', b"\\", b"`", b"<", b">", b"|")) or re.match(rb"\w+=", line):
        return None
    return b'CMD="' + line + b'"\necho "$CMD"\n$CMD'


def _list(line: bytes) -> Optional[bytes]:
    if any(sign in line for sign in (b"<", b">", b"|")) or re.match(rb"\w+=", line):
        return None
    return b"CMD=(" + line + b')\n"${CMD[@]}"'


def _no_assignment(dressing: Dressing) -> Dressing:
    return lambda line: None if re.match(rb"\w+=", line) else dressing(line)


DRESSINGS: dict[str, Dressing] = {
    "continued": _continued,
    "in a function": _around(b"train() {\n    LINE\n}\ntrain"),
    "in a string": _string,
    "in a list": _list,
    "in an if": _around(b"if [ -f train.yaml ]; then\n    LINE\nfi"),
    "in a loop": _around(b"for seed in 1 2; do\n    LINE\ndone"),
    "with tee": _around(b"LINE 2>&1 | tee train.log"),
    "to a log": _around(b"LINE > train.log 2>&1"),
    "and waited for": _around(b"LINE &\nwait"),
    "timed": _no_assignment(_around(b"time LINE")),
    "or stop": _around(b"LINE || { echo failed; exit 1; }"),
    "behind &&": _around(b"mkdir -p logs && LINE"),
    "last of all": _no_assignment(_around(b"exec LINE")),
    "in brackets": _around(b"(\n    LINE\n)"),
}


def dressed(text: bytes, name: str) -> Optional[bytes]:
    """Return the script with its launch line in another shape; None where that cannot be written, or changes it."""
    if name == PLAIN:
        return text
    line = only_line(text)
    if line is None or b"<<" in text[line.start :].split(b"\n", 1)[0]:
        return None
    if name == "last of all" and text[line.end :].strip():
        return None
    end = line.end
    start = line.start
    prefix = text.rfind(b"\n", 0, start) + 1  # assignments in front of the launcher belong to it
    new = DRESSINGS[name](text[prefix:end])
    follows = text[end : end + 1]
    return text[:prefix] + new + text[end:] if new is not None and follows in (b"", b"\n") else None
