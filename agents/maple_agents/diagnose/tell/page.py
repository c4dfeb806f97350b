"""A diagnosis for people: the cause, the lines that prove it, and the fix as a diff."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ...ask.submission import GENERIC, on_site  # sites that nobody described: their names tell a user nothing
from ...base import output
from ...base.quantities import elapsed
from ...templates.knowledge import meanings
from ..read.clean_lines import safe_words
from ..recognise.particulars import unsaid
from ..values import Cause, Cited, Cure, Diagnosis, Ended
from .next_steps import GOING_ON, changed, changes, difference, filled, new, steps
from .page_rows import head, lines, plain, say, short, step
from .site_help import OWN_PACKAGES, here

FEW = 3  # lines of the cascade
ROWS = 4  # of the screen, for a line of evidence
SURE = 0.8  # confidence from which no other cause is shown
UNSURE = ("none", "unknown")
SAID = ("", "None", "NonZeroExitCode")  # reasons that say no more than state and exit code


def show(diagnosis: Diagnosis, hint: bool = True) -> None:
    """Print a diagnosis. *hint*: say what can be done with it."""
    first = diagnosis.causes[0]
    head(_ending(diagnosis))
    _cause(first)
    lines(first.evidence, ROWS, bold=True)
    _of_script(diagnosis)
    _notes(diagnosis)
    if first.cause == "unknown" and diagnosis.excerpt:
        say("", "first complaint in the log, or its last lines:")
        lines(diagnosis.excerpt, ROWS)
    _others(first, [] if first.cause == "none" else diagnosis.causes[1:])
    if diagnosis.cascade and first.cause not in UNSURE:
        say("", "errors that followed from it:", dim=True)
        lines(diagnosis.cascade[:FEW], 1, dim=True)
        _more(len(diagnosis.cascade) - FEW)
    _documents(diagnosis.cited)
    if diagnosis.advice:
        say("the model says: ", diagnosis.advice)
    for at, cure in enumerate(diagnosis.cures):
        _cure(cure, diagnosis, at > 0)
    _here(diagnosis)
    _again(diagnosis)
    if hint:
        _next(diagnosis)
    if diagnosis.case.site_known_by:
        say("", on_site(diagnosis.case.site.id, diagnosis.case.site_known_by), dim=True)


def _ending(diagnosis: Diagnosis) -> str:
    case = diagnosis.case
    on = "" if case.site.id in GENERIC else "on " + case.site.id
    name = " ".join(filter(None, [case.name, on]))
    job = "job %s" % case.ended.id if case.ended.id else "the job"
    return job + (" (%s)" % name if name else "") + _how(case.ended)


def _how(ended: Ended) -> str:
    parts = [] if ended.state == "unknown" else [ended.state]
    parts += ["exit code %d" % ended.exit_code] if ended.exit_code else []
    parts += ["signal %d" % ended.signal] if ended.signal else []
    parts += ["after %s" % elapsed(ended.elapsed)] if ended.elapsed is not None and ended.state != "pending" else []
    parts += [ended.reason] if ended.reason not in SAID else []
    return ": " + ", ".join(parts) if parts else ""


def _cause(cause: Cause) -> None:
    if cause.cause in UNSURE:
        return say(cause.cause + ": ", cause.says, fg="green" if cause.cause == "none" else "yellow", bold=True)
    say("likely: " if cause.likely else "cause: ", cause.says, fg="yellow" if cause.likely else "red", bold=True)
    who = {"rule": "", "case": ", as in an earlier job of yours", "model": ", says the model"}[cause.by]
    say("       ", "%s, %d %% sure%s" % (cause.cause, round(cause.confidence * 100), who))
    if values := unsaid(cause):
        say("here:  ", values)


def _notes(diagnosis: Diagnosis) -> None:
    for line in (*diagnosis.case.notes, *diagnosis.case.missing):
        say("note: ", line, fg="yellow")


def _others(first: Cause, causes: Sequence[Cause]) -> None:
    """Print at most two other readings; one that rests on the very lines of the first is the same, said worse."""
    proof = {(evidence.file, evidence.line) for evidence in first.evidence}
    others = [other for other in causes if (other.evidence or other.says) and not _same(other, proof)]
    for at, cause in enumerate(others[:2] if first.likely or first.confidence < SURE else []):
        say("or else: " if at == 0 else " " * 9, "%s (%s)" % (cause.says.rstrip("."), cause.cause), dim=True)
        lines(cause.evidence[:1], 1, dim=True)


def _same(cause: Cause, proof: set[tuple[str, int]]) -> bool:
    return bool(cause.evidence) and {(evidence.file, evidence.line) for evidence in cause.evidence} <= proof


def _documents(cited: Sequence[Cited]) -> None:
    """Print what the site's documents say of it, with the place where it stands."""
    for quote in cited:
        where = "%s:%d" % (short(quote.file), quote.line) if quote.line else short(quote.file)
        say("the site says: ", "%s (%s)" % (quote.heading, where) if quote.heading else where)
        say("  ", quote.text, dim=True)


def _again(diagnosis: Diagnosis) -> None:
    """Print whether the job is worth running again: with a change, as it is, or not."""
    known = meanings().get(diagnosis.causes[0].cause)
    if known is None:
        if diagnosis.causes[0].cause == "unknown" and diagnosis.case.ended.state not in GOING_ON:
            say("run again: ", "with more output, as below; as it is it would tell no more", dim=True)
        return
    when = "after the change; as it is " if changed(diagnosis) else ""
    say("run again: ", "%s%s: %s" % (when, known.again, known.because), dim=True)


def _of_script(diagnosis: Diagnosis) -> None:
    """Print the lines of the script that have a say in it."""
    if diagnosis.script:
        say("", "in the script:")
        lines(diagnosis.script, 2)


def _here(diagnosis: Diagnosis) -> None:
    """Print what the site's file says of such a cause: the names that general advice leaves open."""
    for line in here(diagnosis):
        shown = (
            say if line.startswith(OWN_PACKAGES) else step
        )  # that is a sentence of the site file, the others hold commands
        shown("on %s: " % diagnosis.case.site.id, line)


def _more(count: int) -> None:
    if count > 0:
        say("  ", "… and %d more" % count, dim=True)


def _changes(cure: Cure) -> bool:
    return cure.script is not None or cure.argv is not None


def _cure(cure: Cure, diagnosis: Diagnosis, further: bool) -> None:
    """Print a fix, or what there is to do. *further*: another one stands above it, so that either is enough."""
    how = {"safe": "checked", "ask": "suggested; checked"}.get(cure.safety, "")
    note = " (%s)" % how if how and _changes(cure) else ""
    lead = "or: " if further else "fix: " if _changes(cure) else "to do: "
    if cure.says.startswith("besides"):
        lead = "fix: "
    say(lead, filled(cure.says.rstrip("."), diagnosis) + note, fg="green", bold=True)
    for advice in new(cure.steps, cure.says):
        step("  - ", filled(advice, diagnosis))
    if cure.held_back:
        say("  held back: ", "as a change to the script: " + cure.held_back, fg="yellow")
    if cure.argv is not None:
        plain("  " + shlex.join(safe_words(cure.argv)))
    output.diff(line.replace("\t", "    ") for line in difference(cure, diagnosis).split("\n")[:-1])


def _next(diagnosis: Diagnosis) -> None:
    """Print how the fix is taken, and where no cause is known, what to do instead."""
    lines = list(steps(diagnosis))
    if lines:
        say("what next:", "")
    for line in lines:
        step("  - ", line)
    if any(map(changes, diagnosis.cures)):
        say("", _taken(diagnosis), dim=True)


def _taken(diagnosis: Diagnosis) -> str:
    job = diagnosis.case.ended.id
    return "%s--apply writes the fixed copy, --submit sends it" % ("maple-fix %s " % job if job else "")
