"""Launch lines that the script never comes to."""

from __future__ import annotations

import re
from typing import Iterator

from ...bash.nodes import AndOr, Group, Program, Simple
from ...bash.parser import parse
from ...bash.questions import first
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL332"
_EXIT = re.compile(rb"exit(?:[ \t]+(?:\d{1,3}|[\"']?\$(?:\?|\{?\w+\}?)[\"']?))?\Z")
_SUCCEEDS = frozenset((b"echo", b"printf", b"true", b":", b"date", b"hostname", b"sync", b"wait"))
_LAUNCH = re.compile(
    rb"(?m)^(?![ \t]*#)[^#\n]*?\b(srun|mpirun|mpiexec|ibrun|torchrun|deepspeed|accelerate[ \t]+launch)[ \t]"
)


@rule("MPL332", "the script ends before its launch line")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """What stands behind an `exit` that no condition guards is never run.

    Wrong: echo checked; exit 0 ... srun torchrun train.py, as the lines behind it
    Right: srun torchrun train.py ... exit 0
    Why:   the job ends within a second as COMPLETED, and nothing was trained. It is said where nothing is launched in
           front of the exit; lines that are kept behind the end of a script that has done its work are left alone.
    """
    if plan.steps or plan.unread or b"exit" not in job.source or not job.script.is_shell:
        return
    for command in _in_turn(parse(job.source)):
        span = command.span
        if not _EXIT.match(job.source[span.start : span.end]):
            continue
        behind = _LAUNCH.search(job.source, span.end)
        if behind is not None:
            fix = Fix((Edit(span, b":", CODE),), Safety.ASK, "go on behind it")
            says = "the script ends here, before %s is started" % behind.group(1).decode()
            yield Finding(CODE, says, Span(span.start, span.end), fixes=(fix,), help="remove the exit")
        return


def _in_turn(program: Program) -> Iterator[Simple]:
    """Yield the simple commands that surely run, one after the other: in braces, and behind what does not fail, too."""
    for item in program.items:
        command = item.command
        if isinstance(command, AndOr) and set(command.operators) == {b"&&"}:
            yield from _until_one_may_fail(command)
        elif isinstance(command, Group) and command.kind == b"{":
            yield from _in_turn(command.body)
        elif isinstance(command, Simple):
            yield command


def _until_one_may_fail(chain: AndOr) -> Iterator[Simple]:
    for part in chain.commands:
        if not isinstance(part, Simple):
            return
        yield part
        if not part.words or first(part.words[0]) not in _SUCCEEDS:
            return
