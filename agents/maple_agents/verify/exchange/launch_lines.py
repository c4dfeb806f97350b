"""The launch lines of a plan: which of them train, which only help, and where each names its program."""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

from maple_submit_filter.launchers.python_options import is_interpreter, python_program
from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.plan import breach_kinds
from maple_submit_filter.types.edits import Edit, Span
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.text import NUL, plain, show

from ...ask.verified_runs import CannotVerify

SMALL = frozenset(
    b"cat chmod cp date df echo env export false free grep hostname ibstat id kill killall ldd ls lscpu lsof "
    b"mkdir module mv nproc nvidia-cuda-mps-control nvidia-smi pgrep pkill printenv ps pwd rm rocm-smi rsync "
    b"sed sleep stat tar test touch true type uname uptime which whoami xpu-smi".split()
)
BECAUSE = "verify"


class Line(NamedTuple):
    """The places of a script that start one program. *trains*: the mini-app takes the program's place.

    Otherwise a stand-in that does nothing does, because the program may take hours and prepares what no mini-app
    needs. *steps* are all steps that live by these places: a loop starts several.
    """

    number: int  # the line of the script
    name: str  # of the entry that takes the program's place, without its ending
    trains: bool
    steps: tuple[Step, ...]

    @property
    def has_agent(self) -> bool:
        """Return True where torchrun or its like tells each rank who it is."""
        return any(_agent(step) for step in self.steps)


def lines_of(plan: LaunchPlan) -> list[Line]:
    """Return the launch lines whose program must not run, in order. Raises `CannotVerify` where that is not known."""
    _readable(plan)
    trained, aside = _sorted(plan)
    if not trained:
        raise CannotVerify("no line starts a program that could train", "see what starts with: maple plan")
    places: dict[frozenset[Span], list[Step]] = {}
    for step in (*trained, *aside):
        places.setdefault(frozenset(edit.span for edit in edits_of(step, b"x")), []).append(step)
    lines: list[Line] = []
    for steps in sorted(places.values(), key=lambda steps: steps[0].span):
        line = steps[0].line
        again = sum(other.number == line for other in lines)
        name = f"line-{line}" + (f"-{again + 1}" if again else "")
        lines.append(Line(line, name, any(step in trained for step in steps), tuple(steps)))
    return lines


def _readable(plan: LaunchPlan) -> None:
    """What could not be read may start the user's program, and that must not run. Sourced files set up shells."""
    for line, why in plan.unread:
        if not why.startswith("a sourced file"):
            raise CannotVerify(f"line {line}: {why}, so the program that it starts would run", "write the line out")
    for step in plan.steps:
        refused = next((breach for breach in step.breaches if breach.kind == breach_kinds.REFUSED), None)
        if refused is not None:
            why = refused.names[0].decode("utf-8", "replace") if refused.names else "its launcher refuses it"
            raise CannotVerify(f"line {step.line} starts nothing: {why}", "see maple check")


def _sorted(plan: LaunchPlan) -> tuple[list[Step], list[Step]]:
    """Return the steps that train, and those to stand aside for. What starts no python trains only for want of one."""
    steps = [step for step in plan.steps if step.program]
    pythons = [step for step in steps if _agent(step) or _runs_python(step)]
    launched = [step for step in pythons if step.links]
    others = [step for step in steps if step.links and step not in pythons and _name(step.program[0]) not in SMALL]
    if not pythons:
        return others, []
    trained = launched or pythons
    return trained, [step for step in pythons if step not in trained] + [step for step in others if not _says(step)]


def _says(step: Step) -> bool:
    """Tell whether a python is given its few words on the line: such looks around, as `python -c` does."""
    at = _python_at(step.program)
    return at is not None and len(step.program) > at + 1 and step.program[at + 1][:2] in (b"-c", b"-V", b"-h", b"--")


def _agent(step: Step) -> bool:
    return bool(step.links) and step.links[-1].name in AGENTS


def _runs_python(step: Step) -> bool:
    """Tell whether a python with a program stands in the words; one with only -c is no training."""
    at = _python_at(step.program)
    if at is None:
        return False
    call = python_program([plain(word) for word in step.program], at)
    return call is not None and call.command is None and not _only_says(step.program[at:])


def _only_says(words: Sequence[bytes]) -> bool:
    return len(words) > 1 and words[1] in (b"-V", b"--version", b"-h", b"--help")


def _python_at(words: Sequence[bytes]) -> int | None:
    """Return the index of the python among a program's words: the first, or the one that a wrapper is handed."""
    if words and _name(words[0]) in SMALL:
        return None
    return next((at for at, word in enumerate(words) if is_interpreter(plain(word))), None)


def _name(word: bytes) -> bytes:
    return word.rsplit(b"/", 1)[-1]


def edits_of(step: Step, path: bytes) -> tuple[Edit, ...]:
    """Return the edits after which *step* starts the python file at *path* in place of its program.

    The user's interpreter, its options and the program's arguments stay. Raises `CannotVerify` where a word does not
    stand in the script as such.
    """
    if _agent(step):
        if step.links[-1].open and not step.program[0].endswith(b".py"):
            raise _nowhere(step, step.program[0])
        return (*_without_module(step), _put(step, 0, path))
    at = _python_at(step.program)
    if at is None:
        return (_put(step, 0, path),)
    call = python_program([plain(word) for word in step.program], at)
    unknown = next((word for word in step.program[at:] if NUL in word), None)
    if call is None or (unknown is not None and call.script is None):
        raise _nowhere(step, unknown or step.program[at])
    if call.script is not None and unknown is not None and not step.program[call.script].endswith(b".py"):
        raise _nowhere(step, unknown)  # it may be the program, and what looks like one its argument
    if call.module is not None or call.command is not None:
        return (_in_place_of_letter(step, at, call.program, path),)
    if call.script is not None or call.stdin:
        return (_put(step, call.program, path),)
    span = _span(step, len(step.program) - 1)
    return (Edit(Span(span.end, span.end), b" " + path, BECAUSE),)


def _without_module(step: Step) -> tuple[Edit, ...]:
    """`-m` says that the program is a module; the entry is a file."""
    option = step.links[-1].option("module")
    if option is None:
        return ()
    if option.span is None:
        raise _nowhere(step, option.spelling)
    return (Edit(option.span, b"", BECAUSE),)


def _in_place_of_letter(step: Step, python: int, value: int, path: bytes) -> Edit:
    """Put the file where `-m` or `-c` stands: the module's name is left as an argument, which nobody reads.

    *value* is the index of the word that holds the module or command, which may be that of the letter itself.
    """
    for at in range(value, python, -1):
        match = re.match(rb"-([A-Za-z]*?)[mc]", step.program[at])
        if match and (at == value or len(match[0]) == len(step.program[at])):
            before = b"-" + match[1] + b" " if match[1] else b""
            return Edit(_span(step, at), before + path, BECAUSE)
    raise _nowhere(step, step.program[value])


def _put(step: Step, index: int, path: bytes) -> Edit:
    return Edit(_span(step, index), path, BECAUSE)


def _span(step: Step, index: int) -> Span:
    span = step.program_spans[index] if index < len(step.program_spans) else None
    if span is None:
        raise _nowhere(step, step.program[index])
    return span


def _nowhere(step: Step, word: bytes) -> CannotVerify:
    return CannotVerify(
        f"line {step.line}: the program {show(word)} is not named in the script itself, but in a file that it starts, "
        "or by something that is not known",
        "name the program on the launch line",
    )
