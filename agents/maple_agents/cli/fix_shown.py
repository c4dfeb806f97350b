"""A diagnosis for people: the cause, the lines that prove it, and the fix as a diff."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence

import click
from maple_submit_filter.report import columns, place

from ..debug.values import Cause, Cited, Cure, Diagnosis, Ended, Evidence
from . import drawing
from .fix_safe import safe, safe_words
from .fix_told import difference

FEW = 3  # lines of the cascade
NARROW = 40  # columns; a terminal that is narrower folds by itself
MARGIN = " " * 9
ROWS = 4  # of the screen, for a line of evidence
PIPED = 1000  # characters of a line of a log where no screen sets a width
UNSURE = ("none", "unknown")


def show(diagnosis: Diagnosis, hint: bool = True) -> None:
    """Print a diagnosis. *hint*: say how the fix is taken."""
    first = diagnosis.causes[0]
    _head(_ending(diagnosis))
    for line in (*diagnosis.case.notes, *diagnosis.case.missing):
        _say("note: ", line, fg="yellow")
    _cause(first)
    _lines(first.evidence, ROWS)
    if first.cause == "unknown" and diagnosis.excerpt:
        _say("", "what the log complains of first, or says last:")
        _lines(diagnosis.excerpt, ROWS)
    _others([] if first.cause == "none" else diagnosis.causes[1:])
    if diagnosis.cascade and first.cause not in UNSURE:
        _say("", "what only followed from it:", dim=True)
        _lines(diagnosis.cascade[:FEW], 1, dim=True)
        _more(len(diagnosis.cascade) - FEW)
    _documents(diagnosis.cited)
    if diagnosis.advice:
        _say("the model says: ", diagnosis.advice)
    for cure in diagnosis.cures:
        _cure(cure, diagnosis)
    if hint and any(_changes(one) for one in diagnosis.cures):
        _say("", _next(diagnosis), dim=True)


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
    if cause.cause in UNSURE:
        return _say(cause.cause + ": ", cause.says, fg="green" if cause.cause == "none" else "yellow", bold=True)
    _say("cause: ", cause.says, fg="red", bold=True)
    who = {"rule": "", "case": ", as in an earlier job of yours", "model": ", says the model"}[cause.by]
    _say("       ", "%s, %d %% sure%s" % (cause.cause, round(cause.confidence * 100), who))


def _lines(lines: Sequence[Evidence], rows: int, dim: bool = False) -> None:
    file = None
    for one in lines:
        if one.file != file:
            _say("  ", _short(one.file), fg="cyan", dim=dim)
            file = one.file
        number = "%6d | " % one.line if one.line else "       | "
        _rows(number, one.text, rows, dim)


def _rows(number: str, text: str, rows: int, dim: bool) -> None:
    """Print a line of a log on at most so many rows of the screen; what is piped stays one line."""
    room = _room() - len(number)
    shown = list(_cut_up(safe(text), room, rows)) if room > 0 else [safe(text)[:PIPED]]
    for at, row in enumerate(shown):
        _plain((number if at == 0 else MARGIN[2:] + "| ") + row, dim=dim)


def _cut_up(text: str, room: int, rows: int) -> Iterator[str]:
    """Yield the rows of *text*, cut at blanks where there are some; the end of what has more rows is an ellipsis."""
    for row in range(rows):
        piece = _fitting(text, room)
        if piece == text:
            yield text
            return
        if row == rows - 1:
            yield _fitting(text, room - 1) + "…"
            return
        blank = piece.rfind(" ") + 1
        piece = piece[:blank] if blank > room // 2 else piece
        yield piece.rstrip()
        text = text[len(piece) :].lstrip()


def _fitting(text: str, room: int) -> str:
    """Return as much of the beginning of *text* as takes at most *room* columns."""
    piece = text[: max(room, 1)]
    while len(piece) > 1 and columns(piece) > room:
        piece = piece[:-1]
    return piece


def _room() -> int:
    """Return the columns of the screen, 0 where none sets a width."""
    return max(NARROW, drawing.width() - 1) if sys.stdout.isatty() else 0


def _short(path: str) -> str:
    """Return a path as seen from here, where that is shorter."""
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return near if len(near) < len(path) else path


def _others(causes: Sequence[Cause]) -> None:
    told = [one for one in causes if one.evidence or one.says][:2]
    for at, one in enumerate(told):
        _say("or else: " if at == 0 else MARGIN, "%s (%s)" % (one.says.rstrip("."), one.cause), dim=True)
        _lines(one.evidence[:1], 1, dim=True)


def _documents(cited: Sequence[Cited]) -> None:
    """Print what the site's documents say of it, with the place where it stands."""
    for one in cited:
        where = "%s:%d" % (_short(one.file), one.line) if one.line else _short(one.file)
        _say("the site says: ", "%s (%s)" % (one.heading, where) if one.heading else where)
        _say("  ", one.text, dim=True)


def _more(count: int) -> None:
    if count > 0:
        _say("  ", "… and %d more" % count, dim=True)


def _changes(cure: Cure) -> bool:
    return cure.script is not None or cure.argv is not None


def _cure(cure: Cure, diagnosis: Diagnosis) -> None:
    how = {"safe": "checked", "ask": "checked; it changes what runs, so it is for you to decide"}.get(cure.safety, "")
    note = " (%s)" % how if how and _changes(cure) else ""
    _say("fix: " if _changes(cure) else "to do: ", cure.says.rstrip(".") + note, fg="green", bold=True)
    for step in cure.steps:
        _say("  - ", step)
    if cure.held_back:
        _say("  ", "not offered as a change of the script: " + cure.held_back, fg="yellow")
    if cure.argv is not None:
        _plain("  " + shlex.join(safe_words(cure.argv)))
    drawing.diff(line.replace("\t", "    ") for line in difference(cure, diagnosis).split("\n")[:-1])


def _next(diagnosis: Diagnosis) -> str:
    job = diagnosis.case.ended.id
    if not job:
        return "--apply writes the fixed copy, --submit sends it"
    return "maple-fix %s --apply writes the fixed copy, --submit sends it" % job


def _head(text: str) -> None:
    for row in _folded(place(safe(text)), 0):
        _plain(row, bold=True)


def _say(lead: str, text: str, fg: str | None = None, bold: bool = False, dim: bool = False) -> None:
    """Print a sentence behind *lead*, which alone is coloured where it is a word; folded under itself on a screen."""
    word = bool(lead.strip(" -"))
    for at, row in enumerate(_folded(safe(text), len(lead))):
        begin = lead if at == 0 else " " * len(lead)
        if word:
            styled = click.style(begin, fg=fg, bold=bold, dim=dim) + click.style(row, dim=dim)
        else:
            styled = click.style(begin + row, fg=fg, bold=bold, dim=dim)
        click.echo(styled, color=drawing.coloured())


def _folded(text: str, margin: int) -> list[str]:
    room = _room() - margin
    return list(_cut_up(text, room, len(text) + 1)) if room > 0 else [text]


def _plain(text: str, bold: bool = False, dim: bool = False) -> None:
    click.echo(click.style(text, bold=bold, dim=dim), color=drawing.coloured())
