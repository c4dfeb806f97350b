"""Launchers that start Python themselves, and are given `python` as the program."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...launchers.registry import AGENTS, foreign
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

CODE = "MPL313"
_PYTHON = rb"(?s:.*/bin/)?python(?:[23](?:\.\d{1,2})?)?"
_ASKED = rb"(?:\$\(|`)(?:which|command[ \t]+-v|type[ \t]+-p)[ \t]+python[23]?[)`](?=[ \t])"
_FLAGS = rb"-[bBdEiIOqsSuvx]+"  # of Python, those without a value


@rule("MPL313", "the launcher is given python as the script to run")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """torchrun, accelerate launch and deepspeed start Python themselves, with the next word as the script.

    Wrong: torchrun --nproc-per-node=4 python train.py
    Wrong: python torchrun --nproc-per-node=4 train.py; python -m torchrun
    Right: torchrun --nproc-per-node=4 train.py; python -m torch.distributed.run
    Why:   Python looks for a script named "python" and ends at once: can't open file '.../python': [Errno 2]. With -m,
           which these launchers know too, a module is started; with --no-python the word would be right. Measured on
           torch 2.13.0 and accelerate 1.15.0.
    """
    for step in plan.steps:
        yield from _launcher_as_script(step) if not step.maybe else ()
        link = step.links[-1] if step.links else None
        if link is None or link.name not in AGENTS or link.open or step.maybe:
            continue
        if link.option("no-python", "no_python", "module") is not None:
            continue
        if foreign(link.argv[0].raw, link.around):
            continue  # a program of that name may be anything
        yield from _asked_for(step, link.name, job.source)
        if step.program and b"python" in step.program[0] and re.fullmatch(_PYTHON, step.program[0]):
            at = step.program_spans[0] if step.program_spans else None
            fix = _without(step, job.source)
            yield Finding(CODE, "%s starts Python itself, so it would look for a script named python" % link.name,
                          at or step.span, True, fixes=(fix,) if fix is not None else (),
                          help="remove the word python; a module needs -m")  # fmt: skip


def _asked_for(step: Step, name: str, source: bytes) -> Iterator[Finding]:
    """Yield that the shell is asked where Python is, in front of the script."""
    at = step.program_spans[0] if step.program_spans else None
    match = re.compile(_ASKED).match(source, at.start) if at is not None else None
    if match is None:
        return
    end = match.end() + len(source[match.end() :]) - len(source[match.end() :].lstrip(b" \t"))
    fix = Fix((Edit(Span(match.start(), end), b"", CODE),), Safety.ASK, "remove the word python")
    yield Finding(CODE, "%s starts Python itself, so it would run python as the script" % name, Span(*match.span()),
                  fixes=(fix,), help="remove the word python; a module needs -m")  # fmt: skip


_LAUNCHERS = (b"torchrun", b"accelerate", b"deepspeed", b"horovodrun")


def _launcher_as_script(step: Step) -> Iterator[Finding]:
    """Yield Python that is given a launcher for the script: `python torchrun`, or for a module that it is none of."""
    words, spans = step.program[:3], step.program_spans[:3]
    named = words[1:2] and (words[1] in _LAUNCHERS or words[1:3] == (b"-m", b"torchrun"))
    if not named or len(spans) < 2 or spans[0] is None or not re.fullmatch(_PYTHON, words[0]):
        return
    if words[1] in _LAUNCHERS and spans[1] is not None:
        edit = Edit(Span(spans[0].start, spans[1].start), b"", CODE)
        yield Finding(CODE, "python would look for a script named %s" % words[1].decode(), spans[1], True,
                      fixes=(Fix((edit,), Safety.ASK, "remove the word python"),),
                      help="it is a command of its own")  # fmt: skip
    elif words[1:3] == (b"-m", b"torchrun") and spans[2:] and spans[2] is not None:
        edit = Edit(spans[2], b"torch.distributed.run", CODE)
        yield Finding(CODE, "there is no module torchrun", spans[2], True,
                      fixes=(Fix((edit,), Safety.SAFE, "python -m torch.distributed.run"),),
                      help="torchrun is the command, torch.distributed.run the module")  # fmt: skip


def _without(step: Step, source: bytes) -> Optional[Fix]:
    """Return the fix that takes `python` and its flags away, where they stand in one line before the script or -m."""
    spans: Tuple[Optional[Span], ...] = step.program_spans
    behind = next((n for n, word in enumerate(step.program) if n and not re.fullmatch(_FLAGS, word)), 0)
    first, last = (spans[0], spans[behind]) if 0 < behind < len(spans) else (None, None)
    word = step.program[behind] if behind else b"-"
    if first is None or last is None or (word[:1] == b"-" and word != b"-m"):
        return None
    if word == b"-m" and not AGENTS[step.links[-1].name].takes_m:
        return None
    written = source[first.start : last.start]
    if b"\n" in written or tuple(written.split()) != step.program[:behind]:
        return None
    edit = Edit(Span(first.start, last.start), b"", CODE)
    return Fix((edit,), Safety.SAFE, "remove the word python")
