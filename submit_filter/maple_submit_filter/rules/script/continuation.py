"""Launch lines that should go on in the next line: a blank behind the backslash, a comment, no backslash."""

from __future__ import annotations

import re
from itertools import islice
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...bash.questions import simples
from ...launchers.unstarted import starts_no_program
from ...plan import breach_kinds
from ...types.edits import Edit, Span
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step

_OPTION = rb"(?=[ \t]*(?:--?[A-Za-z]|[\w./${}-]{1,200}\.py\b))"
_BLANKS = re.compile(rb"(?<!\\)(?:\\\\)*\\([ \t]+(?:#[^\n]*)?)\n(?=[ \t]*[^\s#])")
_EMPTY = re.compile(rb"(?m)(?<=[ \t])\\\n[ \t]*(?=\n[ \t]*[^\s#])")
_COMMENTS = re.compile(rb"(?<!\\)(?:\\\\)*\\\n((?:[ \t]*#[^\n]*\n)+)" + _OPTION)
_GOES_ON = re.compile(
    rb"[ \t]*(?:--?[A-Za-z]|(?:torchrun|python[\d.]*|accelerate|deepspeed|apptainer|singularity|bash)[ \t])"
)
_PROGRAM = re.compile(rb"torchrun|python[\d.]*|accelerate|deepspeed|apptainer|singularity|shifter|bash|sh|env|numactl")


MOST = 8  # missing backslashes that are spoken of: more are the habit of some program


class Cut(NamedTuple):
    """A launch line that is cut off by *what*, *at* that place; *edits* join it again with the options behind it.

    *step* is None where the first half names no program, so that nothing starts.
    """

    step: Optional[Step]
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
    if not job.script.is_shell:
        return []
    unmarked = [*_unmarked(source, code), *_empty(source, code)]
    breaks = [*_blanks(source, code), *_comments(source, code)] if plan.steps else []
    if not breaks and not unmarked:
        return []
    program = parse(source)
    commands = _commands(program)
    begun = ((_begun(cut, plan, source), cut) for cut in breaks)
    made = [
        Cut(step, cut.what, cut.at, cut.edits)
        for step, cut in begun
        if step is not None
        and cut.rest in commands
        and (starts_nothing(step) or (commands[cut.rest] and _wanted(cut, step, source)))
    ]
    ends = _ends(program) if unmarked else _Ends({}, {})
    joined = (_joined(each, ends, plan, source) for each in unmarked)
    cuts = list(islice((cut for cut in joined if cut is not None), MOST + 1))
    return made + (cuts if len(cuts) <= MOST else [])


def _joined(cut: _Break, ends: _Ends, plan: LaunchPlan, source: bytes) -> Optional[Cut]:
    """Return the line that goes on behind *cut*: what follows is an option, or the program that the line lacks."""
    before, after = ends.before.get(cut.at.start), ends.after.get(cut.rest)
    if before is None or after is None:
        return None
    if not _is_option(after):
        whole = not _starts(after) or not starts_no_program(before)
        return None if whole else Cut(None, cut.what, cut.at, cut.edits)
    if starts_no_program(before):
        return Cut(None, cut.what, cut.at, cut.edits)
    step = _begun(cut, plan, source)
    return Cut(step, cut.what, cut.at, cut.edits) if step is not None else None


class _Ends(NamedTuple):
    """Commands by the byte behind them, and by their first one."""

    before: Dict[int, nodes.Simple]
    after: Dict[int, nodes.Simple]


def _ends(program: nodes.Program) -> _Ends:
    named = [command for command in simples(program) if command.words]
    return _Ends(
        {command.span.end: command for command in named},
        {command.span.start: command for command in named if not command.assignments},
    )


def _is_option(command: nodes.Simple) -> bool:
    """Return whether a command's name begins as an option does: there is none of such a name."""
    first = command.words[0].parts[0] if command.words[0].parts else None
    return isinstance(first, nodes.Literal) and not first.quote and re.match(rb"--?[A-Za-z]", first.text) is not None


def _starts(command: nodes.Simple) -> bool:
    """Return whether a command is one that people start by a launcher."""
    parts = command.words[0].parts
    name = parts[0].text.rsplit(b"/", 1)[-1] if len(parts) == 1 and isinstance(parts[0], nodes.Literal) else b""
    return _PROGRAM.fullmatch(name) is not None or b"/" in b"".join(
        part.text for part in parts if isinstance(part, nodes.Literal)
    )


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
        what = "a comment behind the backslash" if b"#" in match.group(1) else "a blank behind the backslash"
        yield _Break(what, Span(start - 1, end), _rest(source, match.end()), (edit,))


def _comments(source: bytes, code: str) -> Iterator[_Break]:
    for match in _COMMENTS.finditer(source):
        edits, at = [], match.start(1)
        for line in match.group(1).splitlines(keepends=True):
            start = at + len(line) - len(line.lstrip())
            edits.append(Edit(Span(start, at + len(line) - 1), b"\\", code))
            at += len(line)
        yield _Break("a comment between its lines", edits[0].span, _rest(source, match.end()), tuple(edits))


def _unmarked(source: bytes, code: str) -> Iterator[_Break]:
    """Yield where a line ends without a backslash, and the next begins as the rest of a launch line does."""
    at, lines = 0, source.split(b"\n")
    for line, behind in zip(lines, lines[1:]):
        end = at + len(line)
        if _GOES_ON.match(behind) and line[-1:] != b"\\" and line.strip():
            stop = at + len(line.rstrip())
            edit = Edit(Span(stop, stop), b" \\", code)
            yield _Break("the missing backslash", Span(stop, stop), _rest(source, end + 1), (edit,))
        at = end + 1


def _empty(source: bytes, code: str) -> Iterator[_Break]:
    """Yield where an empty line stands behind a backslash, and the rest of a launch line behind that."""
    for match in _EMPTY.finditer(source):
        if _GOES_ON.match(source, match.end() + 1):
            stop = len(source[: match.start()].rstrip())
            edit = Edit(Span(match.end(), match.end()), b"\\", code)
            yield _Break("an empty line", Span(stop, stop), _rest(source, match.end() + 1), (edit,))


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
    for command in simples(program):
        if command.words:
            first = command.words[0].parts[0] if command.words[0].parts else None
            last = command.words[0].parts[-1] if first is not None else None
            option = isinstance(first, nodes.Literal) and first.text[:1] == b"-"
            script = isinstance(last, nodes.Literal) and last.text.endswith(b".py")
            out[command.words[0].span.start] = option or script
    return out
