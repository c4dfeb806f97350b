"""Commands of the shell that a launcher cannot start."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

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
_CALLED = re.compile(rb"[A-Za-z]\w*_\w+")  # of one word a program may lie in the PATH
_TAKE_VARIABLES = ("ibrun",)  # it may end in MVAPICH's mpirun_rsh, which takes NAME=value in front of the program


@rule("MPL333", "a launcher is given a command of the shell")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """srun and mpiexec start programs; source, export and module are commands of the shell, and no programs.

    Wrong: srun source venv/bin/activate; srun module load cuda; srun conda activate env
    Wrong: apptainer exec image.sif --nv python train.py; srun -ppn 4 python train.py, where 4 is taken for the program
    Wrong: srun OMP_NUM_THREADS=8 python train.py
    Wrong: train() { python train.py; } ... export -f train ... srun train, where train is a function of the script
    Right: source venv/bin/activate, and then srun python train.py; srun env OMP_NUM_THREADS=8 python train.py
    Right: srun bash -c train
    Why:   srun says: execve(): source: No such file or directory. And what a step changes in its own environment no
           later step sees. Maple writes env where a variable is given; the launcher in front of a command it takes away
           only when asked.
    """
    for step in plan.steps:
        yield from _no_program(step)
        yield from _function(step, job)
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


def _function(step: Step, job: Job) -> Iterator[Finding]:
    """Yield that a function of the script stands where a program is looked for."""
    link, word, span = step.links[-1] if step.links else None, step.program[:1], step.program_span
    if link is None or step.maybe or link.open or link.quoted or span is None or not word:
        return
    if not _CALLED.fullmatch(word[0]) or job.source[span.start : span.end] != word[0]:
        return
    if not _is_defined(word[0], job.source[: span.start]):
        return
    says = "%s is a function of the script, and %s starts programs" % (word[0].decode(), link.name)
    yield Finding("MPL333", says, span, True, fixes=_by_bash(step, span, word[0], job.source),
                  help="export -f %s, then bash -c %s" % (word[0].decode(), word[0].decode()))  # fmt: skip


def _is_defined(name: bytes, before: bytes) -> bool:
    """Return whether the script defines a function of that name."""
    return re.search(rb"(?m)^[ \t]*(?:function[ \t]+%s\b|%s[ \t]*\(\))" % (name, name), before) is not None


def _by_bash(step: Step, span: Span, name: bytes, source: bytes) -> Tuple[Fix, ...]:
    """Start it by bash, which knows functions that are exported; srun hands the environment on."""
    last, first = step.program_spans[-1] if step.program_spans else None, step.links[0].name_span
    if step.links[0].name != "srun" or last is None or first is None:
        return ()
    edits = [Edit(Span(span.start, span.start), b"bash -c ", "MPL333")]
    if len(step.program) > 1:
        edits = [Edit(span, b"bash -c '%s \"$@\"' %s" % (name, name), "MPL333")]
    if (
        re.search(rb"(?m)^[ \t]*(?:export|declare|typeset)[ \t]+-\w*f\w*[ \t]+(?:\w+[ \t]+)*%s\b" % name, source)
        is None
    ):
        edits.insert(0, Edit(Span(first.start, first.start), b"export -f %s; " % name, "MPL333"))
    return (Fix(tuple(edits), Safety.SAFE, "start the function by bash"),)


def _without_launcher(step: Step) -> Optional[Fix]:
    first = step.links[0].name_span
    if first is None or step.program_span is None or first.start > step.program_span.start:
        return None
    edit = Edit(Span(first.start, step.program_span.start), b"", "MPL333")
    return Fix((edit,), Safety.ASK, "say it in the batch shell")
