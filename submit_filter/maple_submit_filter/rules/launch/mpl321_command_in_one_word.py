"""A command line that the launcher gets as one word."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from ...launchers.registry import registry
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

_WORD = re.compile(rb'(?<=[ \t])"((?:\$\{\w+\}|\$\w+)(?:[ ]+(?:\$\{\w+\}|\$\w+))*)"(?=[ \t\n;|&>]|$)')
_READ_AGAIN = re.compile(rb"[\"'\\`$*?\[<>|&;(){}~]")  # what splitting would not do as the writer of the value meant
_OPTIONS = re.compile(rb"--?[A-Za-z][\w.-]*(?:[ =]\S+)?[ ]+(?:\S+[ ]+)*?--?[A-Za-z]")
_SEVERAL = re.compile(rb"=\([^)]*(?<=[\s(])--?[A-Za-z][^)]*[\s][^)\s]")
_STRINGS = (b"-c", b"eval", b"sh", b"bash")  # what takes a whole line as one word
_PYTHON = re.compile(rb"python[\d.]*")


@rule("MPL321", "the whole command is one word")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Between double quotes a variable stays one word; a launcher takes its first word for the program.

    Wrong: CMD="torchrun --nnodes=2 train.py" ... srun "$CMD"
    Wrong: ARGS="--epochs 90 --lr 0.1" ... torchrun train.py "$ARGS"
    Wrong: ARGS=(--epochs 90 --lr 0.1) ... torchrun train.py $ARGS, which is its first word alone
    Right: CMD="torchrun --nnodes=2 train.py" ... srun $CMD
    Right: CMD=(torchrun --nnodes=2 train.py) ... srun "${CMD[@]}"
    Why:   srun says: execve(): torchrun --nnodes=2 train.py: No such file or directory, and nothing starts. A program
           gets all of its options as one: error: unrecognized arguments: --epochs 90 --lr 0.1; that is only reported,
           for a program may split them. What stands behind an option (--extra "$ARGS") is its value.
    """
    yield from _first_of_array(plan, job)
    names = registry()
    for step in plan.steps:
        yield from _options_in_one(step, job)
        program = step.program[0] if step.program else b""
        first = program.split(b" ")[0].rpartition(b"/")[2]
        if b" " not in program.strip() or not step.links or step.maybe:
            continue
        if first in names or _PYTHON.fullmatch(first):
            says = "%s takes the whole command for the name of a program: %s ..." % (
                step.links[-1].name,
                first.decode(),
            )
            yield Finding("MPL321", says, step.span, True, fixes=_unquoted(step, program, job),
                          help="leave out the quotes, or start it with bash -c")  # fmt: skip


_USED = re.compile(rb"(?<!\\)\$(?:(\w+)(?![\w\[])|\{(\w+)\})")


def _first_of_array(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that of an array of options only the first word is taken."""
    if b"=(" not in job.source:
        return
    for name, spans in plan.assigned.items():
        texts = [job.source[span.start : span.end] for span in spans]
        if not all(text.partition(b"=")[2][:1] == b"(" for text in texts) or not any(map(_SEVERAL.search, texts)):
            continue
        for step in plan.steps:
            uses = _USED.finditer(job.source[: step.span.end], step.span.start)
            match = next((use for use in uses if name in use.groups()), None)
            if match is not None:
                edit = Edit(Span(*match.span()), b"${%s[@]}" % name, "MPL321")
                yield Finding("MPL321", "%s is an array, of which this is the first word" % name.decode(),
                              Span(*match.span()), fixes=(Fix((edit,), Safety.ASK, "all of its words"),),
                              help='"${%s[@]}" is all of it' % name.decode())  # fmt: skip
                return


def _options_in_one(step: Step, job: Job) -> Iterator[Finding]:
    """Yield that a program gets several options as one word, by a variable between double quotes."""
    for before, word in zip(step.program, step.program[1:]):
        if not _OPTIONS.match(word) or before[:1] == b"-" and b"=" not in before or before.endswith(_STRINGS):
            continue
        place = next((match for match in _WORD.finditer(job.source[: step.span.end], step.span.start)), None)
        if place is not None:
            says = "the program gets all of %s as one word: %s ..." % (
                place.group(1).decode(), word.partition(b" ")[0].decode("utf-8", "replace"))  # fmt: skip
            fixes = _unquoted(step, word, job)
            yield Finding("MPL321", says, Span(*place.span()),
                          fixes=tuple(fix._replace(safety=Safety.ASK) for fix in fixes),
                          help="leave out the quotes, or make it an array")  # fmt: skip
        return


def _unquoted(step: Step, program: bytes, job: Job) -> Tuple[Fix, ...]:
    """Return the line without its quotes, where splitting at blanks gives the words that were meant."""
    start = step.span.start
    matches = list(_WORD.finditer(job.source[: step.span.end], start))
    if len(matches) != 1 or _READ_AGAIN.search(program):
        return ()
    edit = Edit(Span(*matches[0].span()), matches[0].group(1), "MPL321")
    return (Fix((edit,), Safety.SAFE, "without the quotes"),)
