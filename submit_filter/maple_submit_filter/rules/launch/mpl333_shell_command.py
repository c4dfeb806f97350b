"""Commands of the shell that a launcher cannot start."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...launchers.opaque_programs import OF_THE_SHELL
from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

_ENVIRONMENT = (b"source", b".", b"export", b"module", b"ml", b"set", b"unset", b"declare", b"conda")
_GIVEN = re.compile(rb"[A-Za-z_]\w*=")
_NO_PROGRAM = re.compile(rb"--?[A-Za-z][\w=-]*|\d+")
_OUTER = ("srun", "mpiexec", "ibrun")
_TAKE_VARIABLES = ("ibrun",)  # it may end in MVAPICH's mpirun_rsh, which takes NAME=value in front of the program


@rule("MPL333", "a launcher is given a command of the shell")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """srun and mpiexec start programs; source, export and module are commands of the shell, and no programs.

    Wrong: srun source venv/bin/activate; srun module load cuda; srun conda activate env
    Wrong: apptainer exec image.sif --nv python train.py; srun -ppn 4 python train.py, where 4 is taken for the program
    Wrong: srun OMP_NUM_THREADS=8 python train.py
    Right: source venv/bin/activate, and then srun python train.py; srun env OMP_NUM_THREADS=8 python train.py
    Why:   srun says: execve(): source: No such file or directory. And what a step changes in its own environment no
           later step sees. Maple writes env where a variable is given; the launcher in front of a command it takes away
           only when asked.
    """
    for step in plan.steps:
        yield from _no_program(step)
        link = step.links[-1] if step.links else None
        if (
            link is None
            or step.maybe
            or link.name not in _OUTER
            or link.open
            or not step.program
            or step.program_span is None
        ):
            continue
        word = step.program[0]
        if job.source[step.program_span.start : step.program_span.end] != word and not _GIVEN.match(word):
            continue
        activates = word == b"conda" and step.program[1:2] == (b"activate",)
        if word in OF_THE_SHELL or activates:
            fix = _without_launcher(step) if word in _ENVIRONMENT else None
            shown = "conda activate" if activates else word.decode()
            yield Finding("MPL333", "%s is a command of the shell, which %s cannot start" % (shown, link.name),
                          step.program_span, True, fixes=(fix,) if fix is not None else (),
                          help="say it without the launcher, or inside bash -c '...'")  # fmt: skip
        elif _GIVEN.match(word) and link.name not in _TAKE_VARIABLES:
            edit = Edit(Span(step.program_span.start, step.program_span.start), b"env ", "MPL333")
            yield Finding("MPL333", "%s takes %s for the program" % (link.name, word.decode("utf-8", "replace")),
                          step.program_span, True, fixes=(Fix((edit,), Safety.SAFE, "env in front of it"),),
                          help="env NAME=value PROGRAM, or an export before the line")  # fmt: skip


def _no_program(step: Step) -> Iterator[Finding]:
    """Yield that an option, or a number, stands where a program is looked for."""
    link, word = step.links[-1] if step.links else None, step.program[0] if step.program else b""
    if link is None or step.maybe or link.name in AGENTS or link.open or not _NO_PROGRAM.fullmatch(word):
        return
    if link.name.startswith("mpi"):
        return  # whose options it reads may not be known
    says = "%s takes %s for the program" % (link.name, word.decode("utf-8", "replace"))
    yield Finding("MPL333", says, step.program_span or step.span,
                  help="its own options stand before, and each has its value")  # fmt: skip


def _without_launcher(step: Step) -> Optional[Fix]:
    first = step.links[0].name_span
    if first is None or step.program_span is None or first.start > step.program_span.start:
        return None
    edit = Edit(Span(first.start, step.program_span.start), b"", "MPL333")
    return Fix((edit,), Safety.ASK, "say it in the batch shell")
