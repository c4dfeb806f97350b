"""What a batch script runs in its foreground while a trap of it waits."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence

from ...bash import nodes
from ...bash.questions import first, simples
from ...types.edits import Span
from ...types.launch_plan import Step

_ENDS_IT = (b"exec", b"timeout")  # the first is no child of the script any more, the second ends in time


class Foreground(NamedTuple):
    """A launch line that the script stands still for, and the command of the list that holds it."""

    step: Step
    command: Span
    whole: bool  # the command is the launch line, or a pipe of it: an `&` may stand behind


def stood_still_for(program: nodes.Program, steps: Sequence[Step], trap: Span) -> List[Foreground]:
    """Return launch lines behind the trap in the foreground; none where anything is waited for or may be short.

    Lines in loops and functions, and those that may not run, are no answer either.
    """
    behind = [step for step in steps if step.span.start > trap.end]
    if _waits(program):
        return []
    out: List[Foreground] = []
    for item in program.items:
        held = [step for step in behind if _within(step.span, item.command.span) and not step.background]
        if not held or item.background:
            continue
        if isinstance(item.command, (nodes.Loop, nodes.Function)) or held[0].maybe or _ended(item.command):
            return []
        whole = isinstance(item.command, (nodes.Simple, nodes.Pipeline)) and len(held) == 1
        out.append(Foreground(held[0], item.command.span, whole))
    return out


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _ended(node: object) -> bool:
    return any(first(word).rsplit(b"/", 1)[-1] in _ENDS_IT for word in _words(node))


def _waits(program: nodes.Program) -> bool:
    """Return whether the script waits anywhere, in words or in rounds of a loop around `sleep`."""
    words = [first(word) for word in _words(program)]
    return b"wait" in words or b"kill" in words and b"-0" in words


def _words(node: object) -> List[nodes.Word]:
    return [word for command in simples(node) for word in command.words]
