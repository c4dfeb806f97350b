"""Edits for what runs in the background: start several side by side, and wait for them behind the last command."""

from __future__ import annotations

import re
from typing import Optional

from ..bash.parser import parse
from ..types.edits import Edit, Span
from ..types.launch_plan import Step
from .launch_edits import Edits

_BEHIND = re.compile(rb"([ \t]*&)?[ \t]*(?:#[^\n]*)?(?:\n[ \t]*(?:#[^\n]*)?)*")
_LEAVES = re.compile(rb"(?:exit|return|logout)\b")
_LOOP = re.compile(rb"(?s)(?:for|while|until)\b.*\bdone\b[^|&\n]*")


def waiting(source: bytes, why: str) -> Edits:
    """Put `wait` behind the last command, on its line: line numbers stay. None where more stands behind it."""
    items = parse(source).items
    end = items[-1].command.span.end if items else len(source)
    behind = _BEHIND.fullmatch(source, end)
    if behind is None or (items and _LEAVES.match(source, items[-1].command.span.start)):
        return None
    at = behind.end(1) if behind.group(1) else end
    return [Edit(Span(at, at), b" wait" if behind.group(1) else b"; wait", why)]


def side_by_side(step: Step, source: bytes, why: str) -> Edits:
    """Start what a loop starts one after the other side by side, and wait for all of it behind the loop."""
    end, at = source.find(b"\n", step.span.end), _behind_loop(step.span, source)
    if end < 0 or at is None or source[step.span.end : end].strip():
        return None
    return [Edit(Span(step.span.end, step.span.end), b" &", why), Edit(Span(at, at), b"; wait", why)]


def _behind_loop(span: Span, source: bytes) -> Optional[int]:
    """Return where the loop around a place ends, None where there is none, or where another shell would run it."""
    for item in parse(source).items:
        outer = item.command.span
        if outer.start < span.start and span.end < outer.end:
            loop = _LOOP.fullmatch(source, outer.start, outer.end)
            return outer.end if loop and source[outer.end : outer.end + 1] in (b"\n", b"") else None
    return None
