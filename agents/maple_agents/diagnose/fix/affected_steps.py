"""Which steps the evidence is of: a fix of launch lines leaves alone those that ran another program."""

from __future__ import annotations

import os
import re

from maple_submit_filter.types.launch_plan import Step

from .registry import Given

# Files by whose names a step is known in a log: its program, and where its output goes.
_FILE = re.compile(r"[\w.+-]+\.(?:py|sh|jl|R|out|log|err|txt)(?![\w.-])")


def concerned(given: Given) -> tuple[Step, ...]:
    """Return the steps that the evidence can be of: those whose files it names, or all where it names none's."""
    told = _told(given)
    named = tuple(step for step in given.plan.steps if told & _names(given, step))
    return named or given.plan.steps


def _told(given: Given) -> set[str]:
    """Return the files that the evidence speaks of, and the one that it stands in, without their folders."""
    event = given.event()
    lines = [*(event.unit if event is not None else ()), *(one.text for one in given.cause.evidence)]
    files = {os.path.basename(one.file) for one in given.cause.evidence}
    return files | {name for line in lines for name in _FILE.findall(line)}


def _names(given: Given, step: Step) -> set[str]:
    """Return the files that a step's lines name, what they redirect to as well."""
    source = given.job.source
    end = source.find(b"\n", step.span.end)
    text = source[step.span.start : len(source) if end < 0 else end] + b" " + b" ".join(step.program)
    return set(_FILE.findall(text.decode("utf-8", "replace")))
