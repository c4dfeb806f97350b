"""Edits that hand a variable of the batch shell to what it starts, wherever the script keeps it back."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from ..bash.nodes import Simple, Word
from ..bash.parser import parse
from ..bash.questions import first, simples
from ..types.edits import Edit, Span
from ..types.launch_plan import LaunchPlan

KEEPING = (b"declare", b"typeset", b"local", b"readonly")  # a readonly takes no mark: the export stands behind it
_BACK = {b"-n": b"", b"+x": b"-x"}


def exported(plan: LaunchPlan, source: bytes, names: Sequence[bytes], why: str) -> Optional[List[Edit]]:
    """Export the names where they are assigned, None where one of them is not; what takes the mark away is changed.

    `NAME=value` becomes `export NAME=value`, `declare NAME=value` `declare -x NAME=value`, and `export -n NAME` an
    export.
    """
    if not all(plan.assigned.get(name) for name in names):
        return None
    commands = [command for command in simples(parse(source)) if _tells(command)]
    edits: Dict[Edit, None] = {}
    for name in names:
        back = [edit for command in commands for edit in _given_back(command, name, why)]
        edits.update(dict.fromkeys(back or _marked(name, plan.assigned[name], commands, why)))
    return list(edits)


def _tells(command: Simple) -> bool:
    """Return whether a command is nothing but an assignment, or one of the words that declare variables."""
    return not command.words or first(command.words[0]) in (*KEEPING, b"export")


def _marked(name: bytes, spans: Sequence[Span], commands: Sequence[Simple], why: str) -> Iterator[Edit]:
    """Yield the mark in front of each assignment, or in the command that it is a word of."""
    for span in spans:
        command = next(
            (simple for simple in commands if simple.words and simple.span.start <= span.start < simple.span.end), None
        )
        word = first(command.words[0]) if command is not None else b""
        if command is not None and word in KEEPING:
            end = command.span.end if word == b"readonly" else command.words[0].span.end
            yield Edit(Span(end, end), b"; export " + name if word == b"readonly" else b" -x", why)
        elif command is None:
            start = _line_start(span, commands)
            yield Edit(Span(start, start), b"export ", why)


def _line_start(span: Span, commands: Sequence[Simple]) -> int:
    """Return where the assignments begin that one is among: `A=1 B=2` is exported as a whole."""
    own = (command for command in commands if not command.words and command.span.start <= span.start < command.span.end)
    return next((command.assignments[0].span.start for command in own), span.start)


def _given_back(command: Simple, name: bytes, why: str) -> Iterator[Edit]:
    """Yield what undoes `export -n NAME` or `declare +x NAME`, where it is about this name alone."""
    words: Tuple[Word, ...] = command.words[1:]
    flags = [word for word in words if first(word) in _BACK]
    rest = [word for word in words if word not in flags]
    if len(flags) == 1 and len(rest) == 1 and _named(rest[0]) == name:
        new, span = _BACK[first(flags[0])], flags[0].span
        yield Edit(span if new else Span(span.start, rest[0].span.start), new, why)


def _named(word: Word) -> bytes:
    part = word.parts[0] if word.parts else None
    return getattr(part, "text", b"").partition(b"=")[0]
