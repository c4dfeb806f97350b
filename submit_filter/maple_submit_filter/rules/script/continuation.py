"""Launch lines that should go on in the next line: a blank stands behind the backslash, or a comment in between."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...plan import breach_kinds
from ...types.edits import Edit, Span
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step

_OPTION = rb"(?=[ \t]*(?:--?[A-Za-z]|[\w./${}-]{1,200}\.py\b))"
_BLANKS = re.compile(rb"(?<!\\)(?:\\\\)*\\([ \t]+)\n(?=[ \t]*[^\s#])")
_COMMENTS = re.compile(rb"(?<!\\)(?:\\\\)*\\\n((?:[ \t]*#[^\n]*\n)+)" + _OPTION)


class Cut(NamedTuple):
    """A launch line that is cut off by *what*, *at* that place; *edits* join it again with the options behind it."""

    step: Step
    what: str
    at: Span
    edits: Tuple[Edit, ...]


class _Break(NamedTuple):
    what: str
    at: Span
    rest: int  # where the options behind it begin
    edits: Tuple[Edit, ...]


def cut_lines(plan: LaunchPlan, job: Job, code: str) -> List[Cut]:
    """Return the launch lines of the script that end before options that were meant for them."""
    source = job.source
    breaks = [*_blanks(source, code), *_comments(source, code)] if plan.steps and job.script.is_shell else []
    if not breaks:
        return []
    commands = _commands(parse(source))
    begun = ((_begun(cut, plan, source), cut) for cut in breaks)
    return [
        Cut(step, cut.what, cut.at, cut.edits)
        for step, cut in begun
        if step is not None
        and cut.rest in commands
        and (starts_nothing(step) or (commands[cut.rest] and _wanted(cut, step, source)))
    ]


def starts_nothing(step: Step) -> bool:
    """Return whether the program of a launch line is a blank, so whatever stands behind was meant for it."""
    return bool(step.program) and not step.program[0].strip(b" \t") and step.program_span is not None


def _wanted(cut: _Break, step: Step, source: bytes) -> bool:
    """Return whether what stands behind can only be meant for the line: an option, or a script where there is none."""
    return source[cut.rest : cut.rest + 1] == b"-" or any(
        breach.kind == breach_kinds.NO_SCRIPT for breach in step.breaches
    )


def _blanks(source: bytes, code: str) -> Iterator[_Break]:
    for match in _BLANKS.finditer(source):
        start, end = match.span(1)
        edit = Edit(Span(start, end), b"", code)
        yield _Break("a blank behind the backslash", Span(start - 1, end), _rest(source, match.end()), (edit,))


def _comments(source: bytes, code: str) -> Iterator[_Break]:
    for match in _COMMENTS.finditer(source):
        edits, at = [], match.start(1)
        for line in match.group(1).splitlines(keepends=True):
            start = at + len(line) - len(line.lstrip())
            edits.append(Edit(Span(start, at + len(line) - 1), b"\\", code))
            at += len(line)
        yield _Break("a comment between its lines", edits[0].span, _rest(source, match.end()), tuple(edits))


def _rest(source: bytes, at: int) -> int:
    while source[at : at + 1] in (b" ", b"\t"):
        at += 1
    return at


def _begun(cut: _Break, plan: LaunchPlan, source: bytes) -> Optional[Step]:
    """Return the step that the line begins; None where it begins something else."""
    before = [step for step in plan.steps if step.span.start < cut.at.start]
    step = max(before, key=lambda each: each.span.start, default=None)
    between = source[step.span.start : cut.at.start].replace(b"\\\n", b"") if step is not None else b"\n"
    return step if b"\n" not in between else None


def _commands(program: nodes.Program) -> Dict[int, bool]:
    """Return where commands begin, and whether their name begins as an option does, or ends as a script's."""
    out: Dict[int, bool] = {}
    stack: List[object] = [program]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Simple) and node.words:
            first = node.words[0].parts[0] if node.words[0].parts else None
            last = node.words[0].parts[-1] if first is not None else None
            option = isinstance(first, nodes.Literal) and first.text[:1] == b"-"
            script = isinstance(last, nodes.Literal) and last.text.endswith(b".py")
            out[node.words[0].span.start] = option or script
        if isinstance(node, tuple):
            stack.extend(part for part in node if isinstance(part, tuple))
    return out
