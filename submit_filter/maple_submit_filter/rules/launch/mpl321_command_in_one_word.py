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

_WORD = re.compile(rb'(?<=[ \t])"(\$\{\w+\}|\$\w+)"(?=[ \t\n;|&>]|$)')
_READ_AGAIN = re.compile(rb"[\"'\\`$*?\[<>|&;(){}~]")  # what splitting would not do as the writer of the value meant
_PYTHON = re.compile(rb"python[\d.]*")


@rule("MPL321", "the whole command is one word")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Between double quotes a variable stays one word, and a launcher takes its first word for the program.

    Wrong: CMD="torchrun --nnodes=2 train.py" ... srun "$CMD"
    Right: CMD="torchrun --nnodes=2 train.py" ... srun $CMD
    Right: CMD=(torchrun --nnodes=2 train.py) ... srun "${CMD[@]}"
    Why:   srun says: execve(): torchrun --nnodes=2 train.py: No such file or directory, and nothing starts.
    """
    names = registry()
    for step in plan.steps:
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


def _unquoted(step: Step, program: bytes, job: Job) -> Tuple[Fix, ...]:
    """Return the line without its quotes, where splitting at blanks gives the words that were meant."""
    start = step.span.start
    matches = list(_WORD.finditer(job.source[: step.span.end], start))
    if len(matches) != 1 or _READ_AGAIN.search(program):
        return ()
    edit = Edit(Span(*matches[0].span()), matches[0].group(1), "MPL321")
    return (Fix((edit,), Safety.SAFE, "without the quotes"),)
