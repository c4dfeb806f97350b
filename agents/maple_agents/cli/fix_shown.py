"""A diagnosis for people: the cause, the lines that prove it, and the fix as a diff."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click
from maple_submit_filter.report import place, printable

from ..debug.values import Cause, Cure, Diagnosis, Ended, Evidence
from . import drawing
from .fix_told import difference

WIDEST = 200  # characters of a line of a log
FEW = 3  # lines of the cascade


def show(diagnosis: Diagnosis) -> None:
    """Print a diagnosis."""
    first = diagnosis.causes[0]
    _say(_ending(diagnosis), bold=True)
    for line in (*diagnosis.case.notes, *diagnosis.case.missing):
        _say("note: " + line, fg="yellow")
    _cause(first)
    _lines(first.evidence)
    if first.cause == "unknown" and diagnosis.excerpt:
        _say("what the log says last, or first complains of:")
        _lines(diagnosis.excerpt)
    _others(diagnosis.causes[1:])
    if diagnosis.cascade and first.cause not in ("none", "unknown"):
        _say("what only followed:", dim=True)
        _lines(diagnosis.cascade[:FEW], dim=True)
        _more(len(diagnosis.cascade) - FEW)
    for cure in diagnosis.cures:
        _cure(cure, diagnosis)


def _ending(diagnosis: Diagnosis) -> str:
    case = diagnosis.case
    name = " (%s on %s)" % (case.name, case.site.id) if case.name else " (on %s)" % case.site.id
    job = "job %s" % case.ended.id if case.ended.id else "the job"
    return job + name + _how(case.ended)


def _how(ended: Ended) -> str:
    told = [] if ended.state == "unknown" else [ended.state]
    told += ["exit code %d" % ended.exit_code] if ended.exit_code else []
    told += ["signal %d" % ended.signal] if ended.signal else []
    told += ["after %s" % _clock(ended.elapsed)] if ended.elapsed is not None else []
    told += [ended.reason] if ended.reason and ended.reason != "None" else []
    return ": " + ", ".join(told) if told else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return "%d:%02d:%02d" % (*divmod(minutes, 60), rest)


def _cause(cause: Cause) -> None:
    if cause.cause in ("none", "unknown"):
        return _say("%s: %s" % (cause.cause, cause.says), fg="green" if cause.cause == "none" else "yellow", bold=True)
    who = {"rule": "", "case": ", as in an earlier job of yours", "model": ", says the model"}[cause.by]
    head = "%s (%d %%%s): " % (cause.cause, round(cause.confidence * 100), who)
    click.echo(click.style(head, fg="red", bold=True) + printable(cause.says), color=drawing.coloured())


def _lines(lines: Sequence[Evidence], dim: bool = False) -> None:
    file = None
    for one in lines:
        if one.file != file:
            _say("  " + _short(one.file), fg="cyan", dim=dim)
            file = one.file
        _say("  %6d | %s" % (one.line, _cut(one.text)), dim=dim)


def _short(path: str) -> str:
    """Return a path as seen from here, where that is shorter."""
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return near if len(near) < len(path) else path


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[:WIDEST] + " …"


def _others(causes: Sequence[Cause]) -> None:
    told = [one for one in causes if one.evidence or one.says]
    if told:
        _say("or else:", dim=True)
    for one in told[:2]:
        _say("  %s: %s" % (one.cause, one.says), dim=True)


def _more(count: int) -> None:
    if count > 0:
        _say("  … and %d more" % count, dim=True)


def _cure(cure: Cure, diagnosis: Diagnosis) -> None:
    how = {"safe": "checked", "ask": "checked; it changes what runs, so it is for you to decide", "tell": ""}
    head = "fix: " if cure.script is not None or cure.argv is not None else "to do: "
    note = " (%s)" % how[cure.safety] if how.get(cure.safety) else ""
    click.echo(click.style(head, fg="green", bold=True) + printable(cure.says + note), color=drawing.coloured())
    for step in cure.steps:
        _say("  - " + step)
    if cure.held_back:
        _say("  not offered as a change of the script: " + cure.held_back, fg="yellow")
    if cure.argv is not None:
        _say("  " + " ".join(os.fsdecode(word) for word in cure.argv))
    drawing.diff(printable(line.replace("\t", "    ")) for line in difference(cure, diagnosis).split("\n")[:-1])
    if cure.script is not None or cure.argv is not None:
        _say(_next(diagnosis), dim=True)


def _next(diagnosis: Diagnosis) -> str:
    job = diagnosis.case.ended.id
    return "write it with: maple-fix %s" % (printable(job) if job else "…") + " --apply, or send it with --submit"


def _say(text: str, fg: str | None = None, bold: bool = False, dim: bool = False) -> None:
    shown = printable(text)
    shown = place(shown) if not shown.startswith(" ") else shown
    click.echo(click.style(shown, fg=fg, bold=bold, dim=dim), color=drawing.coloured())
