"""A job's history for people: one version below the other, the newest first.

One submission for people: what was submitted in place of what was written, why, and what became of it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence

import click
from maple_submit_filter.answer.report import printable

from ...base import output
from ...base.output import coloured, is_bounded, unified, width
from .versions import changed, diff, label, name_of, state, submitted, words

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Outcome, Record, Value, Version

    from maple_agents.ask.memory.versions import Job

Object = dict[str, Any]

MOST_LINES = 12  # of a difference
MOST_SUBMISSIONS = 4
COLOURS = {"completed": "green", "running": "cyan", "pending": "cyan", "unknown": None, "": None}  # all else is red
VERDICTS = {
    "repaired": "repaired before submitting",
    "accepted": "repaired before submitting, as you agreed",
    "known-good": "repaired before submitting, as you agreed for an earlier job that ran",
    "taken-back": "submitted as written, because an earlier job failed at once with the repair",
    "would-repair": "submitted as written in mode %s; mode repair would have repaired it",
    "rule-mode": "submitted as written: a rule is not to repair here",
    "findings": "submitted as written",
    "declined": "a change was offered, and you went on without it; submitted as written",
    "ended": "a change was offered, and you ended there; nothing was submitted",
    "clean": "nothing found, submitted as written",
    "unread": "could not be read, submitted as written",
    "trial": "a trial of the service by maple admin doctor",
    "": "no details: the service answered too late, a helper was asked",
}
OFFERED = "a change was offered; submitted as written unless you took it"
OFFER = "a change was offered"
LATE = "job not known: the hooks of PBS tell a job's id when it ends; of what qsub refused they tell nothing"
REFUSED = "refused by sbatch"
BY_HELPER = ", by a helper: the service was late"
HOW = {"accepted": ", changed as you agreed", "declined": " as written"}  # by the verdict, where offers ended otherwise
WHY = {
    "known": "known before",
    "new": "read: the first version",
    "changed": "read again: it changed",
    "above": "read again: unchanged, but something it depends on changed",
    "anew": "read again: unchanged, but its values were not kept",
}


def listed(jobs: "Sequence[Job]") -> None:
    """Print one line for each job; where a terminal is too narrow for all of them, its script stands on a second."""
    if not jobs:
        return
    rows = [_row(job) for job in jobs]
    wide = [max(len(click.unstyle(row[at])) for row in rows) for at in range(len(rows[0]))]
    fits = not is_bounded() or sum(wide) + 2 * len(wide) - 2 <= width()
    for row in rows:
        *cells, path = (cell + " " * (size - len(click.unstyle(cell))) for cell, size in zip(row, wide))
        cells_shown = click.style(cells[0], bold=True) + "  " + "  ".join(cells[1:])
        _echo((cells_shown + "  " + path if fits else cells_shown.rstrip() + "\n  " + path).rstrip())
    if any(_is_heard_late(job) for job in jobs):
        _echo(LATE)


def listed_unread(records: "Sequence[Record]") -> None:
    """Print submissions of which nothing but that they were made, and what became of them, is known."""
    for record in records[:MOST_SUBMISSIONS]:
        _echo("%s  a script that the service has not read  %s" % (when(record.at)[:-3], ending(record)))
    if len(records) > MOST_SUBMISSIONS:
        _echo("and %d such before" % (len(records) - MOST_SUBMISSIONS))


def listed_unrecorded(ends: "Sequence[Outcome]", most: int) -> None:
    """Print the ends of jobs that were submitted past Maple, or before it was there."""
    for end in ends[:most]:
        at = when(end.ended)[:-3] + "  " if end.ended else ""
        _echo("%s%s  submitted without Maple  %s" % (at, printable(end.name or "a job"), how_ended(end)))
    if len(ends) > most:
        _echo("and %d such before" % (len(ends) - most))


def _is_heard_late(job: "Job") -> bool:
    """Return whether the newest job of it is one of PBS that nobody has told of yet."""
    records = _records(job)
    return job.newest.scheduler == "pbs" and bool(records) and not records[0].job and records[0].verdict != "ended"


def _row(job: "Job") -> tuple[str, ...]:
    records = _records(job)
    last = records[0] if records else None
    return (
        printable(job.newest.name), when(last.at if last else job.newest.at)[:-3], _count(len(job.versions), "version"),
        _count(_submitted(records), "submission"), ending(last) if last else "", printable(job.newest.path),
    )  # fmt: skip


def show(job: "Job", limit: int, why: bool) -> None:
    """Print a job's versions."""
    counted = "%s, %s" % (_count(len(job.versions), "version"), _count(_submitted(_records(job)), "submission"))
    where = printable(job.newest.path or job.newest.cwd)
    _echo("%s  %s  %s" % (click.style(printable(job.newest.name), bold=True), where, counted))
    forecast = _forecast(job)
    if forecast:
        _echo("  " + forecast)
    for at, version in enumerate(job.versions[:limit]):
        last = at == len(job.versions) - 1
        _echo(_head(version, job, at))
        for line in _body(version, job, why):
            _echo(("  " if last else "| ") + "  " + line)
    if len(job.versions) > limit:
        _echo("  and %s before; --limit N shows more" % _count(len(job.versions) - limit, "version"))


def _forecast(job: "Job") -> str:
    """Return what the runs of the newest version took, and how long the next will, as far as the service knows."""
    from ...forecast.service_runs import line_of_version

    return printable(line_of_version(job.newest, time.time()))


def _head(version: "Version", job: "Job", at: int) -> str:
    """Return a version's first line; its parent is named where that is not the one below."""
    parent = job.parent(version)
    below = job.versions[at + 1] if at + 1 < len(job.versions) else None
    change = "changed: " + ", ".join(changed(version, parent)) if parent else "first version"
    if version.parent and parent is None:
        change = "its earlier version is no longer kept"
    if parent is not None and parent != below:
        change += " (since %s)" % parent.id[:8]
    return "* %s  %s  %s" % (click.style(version.id[:8], fg="yellow"), when(version.at), printable(change))


def _body(version: "Version", job: "Job", why: bool) -> Iterator[str]:
    yield printable(words(version))
    yield from _difference(version, job)
    records = job.records.get(version.id, ())
    if records and (records[0].codes or not records[0].verdict):
        yield "Maple: " + (verdict(records[0]) if len(_answers(records)) < 2 else OFFER + _rules(records[0]))
    yield from _submissions(records)
    if why:
        yield from _reasons(version, job)


def _reasons(version: "Version", job: "Job") -> Iterator[str]:
    """Yield what was read of each part, and why; a command line that says nothing is left out."""
    for part in version.parts:
        why, values = (
            state(part, version, job.parent(version)),
            [value for value in version.values if value.part == part.hash],
        )
        if values or part.lines[0] or part.name:
            yield "%s: %s" % (printable(label(part)), WHY[why] + _shown(values))


def _shown(values: "Sequence[Value]") -> str:
    shown = ", ".join(_value(value) for value in values[:6])
    more = ", ..." if len(values) > 6 else ""
    return printable(" (%s%s)" % (shown, more)) if values else ""


def _value(value: "Value") -> str:
    """Return a value with the line of the file that it was read from."""
    return "%s=%s" % (value.name, value.value) + (" line %d" % value.line if value.file and value.line else "")


def _difference(version: "Version", job: "Job") -> Iterator[str]:
    """Yield the lines that went and came."""
    lines = [line for line in diff(version, job.parent(version)).split("\n")[2:] if line[:1] in ("+", "-")]
    for line in lines[:MOST_LINES]:
        yield click.style(printable(line.replace("\t", "    ")), fg="green" if line[0] == "+" else "red")
    if len(lines) > MOST_LINES:
        yield "... %s more" % _count(len(lines) - MOST_LINES, "line")


def _submissions(records: "Sequence[Record]") -> Iterator[str]:
    for record in records[:MOST_SUBMISSIONS]:
        how = HOW.get(record.verdict, "") if len(_answers(records)) > 1 else ""
        why = because(record, asks=record == records[0])
        yield "%s %s%s  %s" % (
            "asked" if record.verdict == "ended" else "submitted",
            when(record.at),
            how,
            ending(record),
        )
        if record.reached is not None:
            yield "  came to " + came_to(record)
        if why:
            yield "  because: " + why
    if len(records) > MOST_SUBMISSIONS:
        yield "... %s more" % _count(len(records) - MOST_SUBMISSIONS, "submission")


def came_to(record: "Record") -> str:
    """Return how far a run came, "" where that is not known."""
    from ...progress.earlier_runs import says

    return says(record.reached) if record.reached is not None else ""


def ending(record: "Record") -> str:
    """Return what became of a submission, in words."""
    if record.verdict == "ended":
        return "not submitted"
    if not record.job and _is_refused(record):
        return click.style(REFUSED, fg="red") if coloured() else REFUSED
    if not record.job and record.joined == "none":
        return "no job: refused, stopped or only tested"
    if not record.job:
        return "job not known"  # nobody tells the service of jobs
    if record.outcome is None:
        return printable("job %s, outcome not known" % record.job)
    return how_ended(record.outcome)


def how_ended(end: "Outcome") -> str:
    """Return how a job ended, in words."""
    word = end.state + (", exit %d" % end.exit_code if end.exit_code else "")
    colour = COLOURS.get(end.state, "red")
    return printable("job %s " % end.job) + (click.style(word, fg=colour) if colour and coloured() else word)


def _is_refused(record: "Record") -> bool:
    """Return whether sbatch was asked about it before, and refused it."""
    from maple_agents.diagnose.gather.refusals import kept

    return bool(kept(record.id))


def verdict(record: "Record") -> str:
    """Return what Maple did with a submission, and by which rules."""
    of_helper = record.how.partition("late-")[2]
    if not record.verdict and of_helper in VERDICTS and of_helper:
        return verdict(record._replace(verdict=of_helper)) + BY_HELPER
    sentence = (
        OFFERED
        if record.offered_hash and record.verdict == "findings"
        else VERDICTS.get(record.verdict, record.verdict)
    )
    return printable(sentence % record.mode if "%s" in sentence else sentence) + _rules(record)


def _rules(record: "Record") -> str:
    codes = ", ".join(dict.fromkeys(record.codes))
    return printable(" (%s)" % codes) if codes else ""


def _answers(records: "Sequence[Record]") -> set[str]:
    """Return how the offers to one version ended."""
    return {record.verdict for record in records if record.offered_hash}


def cause(record: "Record") -> str:
    """Return why a job failed, where that was found at its end; "" where nobody looked, or it did not fail."""
    from ...ask.memory.service import STATES

    if record.outcome is None or record.outcome.state not in STATES:
        return ""
    from maple_agents.diagnose.at_end import says

    return printable(says(record.job, time.time()))


def because(record: "Record", asks: bool) -> str:
    """Return why a job failed, or why there is none, as far as that is known. *asks*: sbatch may be asked."""
    if record.job or record.verdict == "ended":
        return cause(record)
    from maple_agents.diagnose.gather import refusals

    words = refusals.words(record) if asks else refusals.kept(record.id)
    return printable("%s; maple-fix %s" % (refusals.sentence(words), record.id)) if words else ""


def when(at: float) -> str:
    """Return a time as the clock on the wall has it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _records(job: "Job") -> "list[Record]":
    return sorted((record for records in job.records.values() for record in records), key=lambda record: -record.at)


def _submitted(records: "Sequence[Record]") -> int:
    return sum(record.verdict != "ended" for record in records)


def _count(number: int, name: str) -> str:
    return "%d %s%s" % (number, name, "" if number == 1 else "s")


def _echo(line: str) -> None:
    """Print a line; on a terminal it is folded between words, under its own indent."""
    output.rows(line)


def shown(record: "Record", version: "Optional[Version]", decided: Optional[Object]) -> None:
    """Print it."""
    for line in _lines(record, version, decided):
        _echo(line)
    if version is None:
        _echo("the script as you wrote it is no longer kept")
        return
    _changed_lines(record, version, decided)


def _lines(record: "Record", version: "Optional[Version]", decided: Optional[Object]) -> Iterator[str]:
    name = printable(name_of(version)) if version else "a job"
    how = "asked" if record.verdict == "ended" else "submitted"
    why = because(record, asks=True)
    yield "%s  %s %s on %s  %s" % (
        click.style(name, bold=True), how, when(record.at), printable(record.host), ending(record),
    )  # fmt: skip
    if version is not None:
        yield "version %s  %s" % (click.style(version.id[:8], fg="yellow"), printable(" ".join(version.argv)))
        yield printable("in %s" % version.cwd)
    yield from _ended(record.outcome)
    if record.reached is not None:
        yield "came to " + came_to(record)
    if why:
        yield click.style("because: " + (why if not record.job else "%s; maple-fix %s" % (why, record.job)), bold=True)
    yield "Maple: " + verdict(record)
    if record.offered_hash and record.verdict == "findings":
        yield "whether you took the change shows in the job's own script"
    yield from _decided(decided, name)


def _ended(outcome: "Optional[Outcome]") -> Iterator[str]:
    if outcome is None:
        return
    ran = outcome.ended - outcome.started if outcome.ended and outcome.started else None
    waited = outcome.started - outcome.submitted if outcome.started and outcome.submitted else None
    parts = [
        "on %s" % outcome.nodes if outcome.nodes else "",
        "waited %s" % _span(waited) if waited is not None else "",
        "ran %s" % _span(ran) if ran is not None else "",
        "ended by signal %d" % outcome.signal if outcome.signal else "",
        "output %s" % outcome.output if outcome.output else "",
    ]
    if any(parts):
        yield printable(", ".join(part for part in parts if part))


def _span(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(seconds)) if 0 <= seconds < 86400 else "%.1f days" % (seconds / 86400)


def _decided(decided: Optional[Object], name: str) -> Iterator[str]:
    """Yield findings and the launch plan in short."""
    for row in (decided or {}).get("findings", ()):
        where = "%s:%d: " % (name, row["line"]) if row["line"] else ""
        yield click.style(printable("%s%s %s" % (where, row["code"], row["says"])), bold=True)
    for row in ((decided or {}).get("plan") or {}).get("steps", ()):
        yield printable("line %d: %s" % (row["line"], _step(row)))


def _step(step: Object) -> str:
    chain = " > ".join(step["launchers"]) or "the batch shell"
    worlds = []
    for group in step["groups"]:
        size, per_node = group["world_size"], group["ranks_per_node"]
        master = ", master %s" % group["master"] if group["master"] else ""
        nodes = "1 node" if group["nodes"] == 1 else "%s nodes" % _or(group["nodes"])
        ranks = "1 rank" if per_node == 1 else "%s ranks" % _or(per_node)
        worlds.append("%s x %s, world size %s%s" % (nodes, ranks, _or(size), master))
    return "%s: %s" % (chain, "; ".join(worlds[:4]) or "no ranks known")


def _or(value: Optional[int]) -> str:
    return "?" if value is None else str(value)


def _changed_lines(record: "Record", version: "Version", decided: Optional[Object]) -> None:
    source, words = submitted(record, version, decided)
    if words != list(version.argv):
        click.echo("submitted with:")
        click.echo("  " + printable(" ".join(words)))
    text = unified(version.script, source, name_of(version))
    if text:
        click.echo("changes made before submitting:")
        output.diff(printable(line.replace("\t", "    ")) for line in text.split("\n")[:-1])
