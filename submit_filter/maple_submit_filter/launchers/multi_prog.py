"""The file of `srun --multi-prog`: which task runs which program (srun(1), "Multiple Program Configuration")."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from ..play.outputs import lines
from ..types.text import Text, plain

_FIELD = re.compile(rb"[^ \t]+")
_RANGE = re.compile(rb"(\d{1,6})(?:-(\d{1,6}))?\Z")


class Row(NamedTuple):
    """A line: first and last numbers of its tasks, () for all others (`*`), and the words of its program."""

    ranges: Tuple[Tuple[int, int], ...]
    words: Tuple[Text, ...]


def rows(content: Text) -> Optional[List[Row]]:
    """Return the lines of a file, None where one is not understood."""
    out: List[Row] = []
    for line in lines(content):
        fields = [line.slice(*match.span()) for match in _FIELD.finditer(line.raw)]
        if not fields or fields[0].raw.startswith(b"#"):
            continue
        ranges = _ranges(fields[0].raw)
        if ranges is None or len(fields) < 2 or line.open:
            return None
        out.append(Row(ranges, tuple(fields[1:])))
    return out


def _ranges(text: bytes) -> Optional[Tuple[Tuple[int, int], ...]]:
    if text == b"*":
        return ()
    matches = [_RANGE.match(part) for part in text.split(b",")]
    return (
        tuple((int(match.group(1)), int(match.group(2) or match.group(1))) for match in matches if match)
        if all(matches)
        else None
    )


def program_of(many: List[Row], task: int) -> Optional[List[Text]]:
    """Return the program of a task, None where no line names it: then srun ends with "no record for task id".

    %t stands for the task's number, %o for its place in the line's own range.
    """
    for row in many:
        offset = _offset(row, task)
        if offset is not None:
            return [_for_task(word, task, offset) for word in row.words]
    return None


def differ(many: List[Row]) -> bool:
    """Return whether the lines start different programs: a step has one, and its ranks are of one world."""
    return len({_file(row) for row in many}) > 1


def _file(row: Row) -> bytes:
    """Return the script of a line, the command itself where it names none."""
    return next((word.raw for word in row.words if word.raw.endswith((b".py", b".sh"))), row.words[0].raw)


def _offset(row: Row, task: int) -> Optional[int]:
    before = 0
    for low, high in row.ranges:
        if low <= task <= high:
            return before + task - low
        before += high - low + 1
    return None if row.ranges else task


def _for_task(word: Text, task: int, offset: int) -> Text:
    raw = word.raw
    if b"%t" not in raw and b"%o" not in raw:
        return word
    return plain(raw.replace(b"%t", b"%d" % task).replace(b"%o", b"%d" % offset))
