"""The loop of fix, run and read again, as values: what is tried next, and when it is over.

What came of the rounds, for people as a table and for programs as JSON.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import click

from ...base import output
from ..read.clean_lines import safe
from ..read.templates import template
from ..tell import schema
from ..values import Cure, Diagnosis


class End(StrEnum):
    """Why no further round was made. The words are stable: they stand in JSON."""

    RAN = "ran"
    SAME = "same symptom"
    NOTHING_LEFT = "nothing left"
    USED_UP = "rounds used up"
    NOT_TRIED = "could not be tried"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A fix that was tried. *how*: "job" or "mini-app"; *state*: how that ended; *after*: what was read of it."""

    number: int
    cure: Cure
    copy: str
    how: str
    job: str
    state: str
    after: Diagnosis

    @property
    def ran(self) -> bool:
        """Return whether nothing went wrong any more."""
        return self.after.causes[0].cause == "none"


@dataclass(frozen=True, slots=True)
class Story:
    """What came of all rounds. *why*: what was in the way where something could not be tried, else ""."""

    attempts: tuple[Attempt, ...]
    end: End
    why: str = ""


class NotTried(Exception):
    """A fix could not be run, or what came of it not be read; one line says why."""


Try = Callable[[Diagnosis, Cure, int], Attempt]
Symptom = tuple[str, str]
Copy = tuple[object, object]


def story(first: Diagnosis, rounds: int, attempt: Try) -> Story:
    """Try one fix after the other, each on what the one before made of the script, at most *rounds* times.

    *attempt* runs the diagnosis' fix as the round of that number, and raises `NotTried`.
    """
    made: list[Attempt] = []
    now, seen, tried = first, {symptom(first)}, {submitted(first)}
    for number in range(1, rounds + 1):
        cure = untried(now, tried)
        if cure is None:
            return Story(tuple(made), End.NOTHING_LEFT)
        tried.add(result(cure, now))
        try:
            made.append(attempt(now, cure, number))
        except NotTried as error:
            return Story(tuple(made), End.NOT_TRIED, str(error))
        now = made[-1].after
        if made[-1].ran:
            return Story(tuple(made), End.RAN)
        if symptom(now) in seen:
            return Story(tuple(made), End.SAME)
        seen.add(symptom(now))
    return Story(tuple(made), End.USED_UP)


def untried(diagnosis: Diagnosis, tried: set[Copy]) -> Cure | None:
    """Return the best fix that gives a script or command line that was not submitted yet, None for none."""
    return next((cure for cure in diagnosis.cures if changes(cure) and result(cure, diagnosis) not in tried), None)


def changes(cure: Cure) -> bool:
    """Return whether a fix changes what is submitted, and passed its checks."""
    return (cure.script is not None or cure.argv is not None) and not cure.held_back


def submitted(diagnosis: Diagnosis) -> Copy:
    """Return what was submitted."""
    asked = diagnosis.case.asked
    return (asked.script, _options(asked.argv, asked.path)) if asked is not None else (None, None)


def result(cure: Cure, diagnosis: Diagnosis) -> Copy:
    """Return what a fix would submit; under which name the script goes does not count."""
    script, argv = submitted(diagnosis)
    path = diagnosis.case.asked.path if diagnosis.case.asked is not None else b""
    return (
        cure.script if cure.script is not None else script,
        _options(cure.argv, path) if cure.argv is not None else argv,
    )


def _options(argv: tuple[bytes, ...], path: bytes) -> tuple[bytes, ...]:
    return tuple(word for word in argv[1:] if word != path)


def symptom(diagnosis: Diagnosis) -> Symptom:
    """Return by what a failure is known again: its class, and its first line of evidence with numbers masked."""
    first = diagnosis.causes[0]
    lines = first.evidence or diagnosis.excerpt
    return first.cause, template(lines[0].text) if lines else ""


_ENDED = {
    End.RAN: "it ran",
    End.SAME: "the same failure came back",
    End.NOTHING_LEFT: "no other fix of the script is known",
    End.USED_UP: "every round was used up",
    End.NOT_TRIED: "the fix could not be tried",
}
MOST = 68  # columns of the sentence in a row


def show_story(story: Story, first: Diagnosis) -> None:
    """Print a table of the rounds, and the sentence that ends it."""
    for row in story_rows(story):
        output.rows(row)
    output.say([safe(ending(story, first))], fg="green" if story.end is End.RAN else "yellow", bold=True)


def story_rows(story: Story) -> list[str]:
    """Return the rows of the table, its head first; [] where nothing was tried."""
    if not story.attempts:
        return []
    cells = [("round", "job", "how", "ended", "cause", "fix that was tried"), *map(_cells, story.attempts)]
    widths = [max(len(row[at]) for row in cells) for at in range(5)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), _short(row[5])]).rstrip() for row in cells
    ]


def _cells(attempt: Attempt) -> tuple[str, ...]:
    cause = "-" if attempt.ran else attempt.after.causes[0].cause
    return tuple(
        safe(cell) for cell in (str(attempt.number), attempt.job, attempt.how, attempt.state, cause, attempt.cure.says)
    )


def _short(text: str) -> str:
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def ending(story: Story, first: Diagnosis) -> str:
    """Return the last sentence: what came of it, and what there is to do."""
    count = len(story.attempts)
    rounds = "after %d round%s" % (count, "" if count == 1 else "s")
    if first.causes[0].cause == "none":
        return "the job succeeded: there is nothing to fix"
    if not story.attempts and story.end is End.NOTHING_LEFT:
        return "no round was tried: no fix of the script is known"
    if not story.attempts:
        return _ENDED[story.end] + (": " + story.why if story.why else "")
    last = story.attempts[-1]
    sentence = "%s %s%s" % (_ENDED[story.end], rounds, ": " + story.why if story.why else "")
    if story.end is not End.RAN:
        return "%s; the last copy is %s" % (sentence, _near(last.copy))
    if last.how == "mini-app":
        return "its launch lines run with mini-apps %s; submit %s" % (rounds, _near(last.copy))
    return "%s; the script that ran is %s" % (sentence, _near(last.copy))


def _near(path: str) -> str:
    near = os.path.relpath(path)
    return near if len(near) < len(path) else path


def story_json(story: Story) -> dict[str, object]:
    """Return the keys that rounds add to the JSON of `maple-fix`; every text may be shown as it is."""
    first_try = story.end is End.RAN and len(story.attempts) == 1
    end = schema.End(how=story.end.value, why=story.why or None, first_try=first_try, rounds=len(story.attempts))
    return {"rounds": [_round(attempt).dumped() for attempt in story.attempts], "ended": end.dumped()}


def _round(attempt: Attempt) -> schema.Round:
    first, cure = attempt.after.causes[0], attempt.cure
    return schema.Round(
        round=attempt.number,
        fix=schema.RoundFix(kind=cure.kind, says=cure.says, safety=cure.safety),
        copy_=attempt.copy,
        how=attempt.how,
        job=attempt.job or None,
        state=attempt.state,
        ran=attempt.ran,
        cause=schema.Cause(cause=first.cause, says=first.says, confidence=round(first.confidence, 2)),
    )


def complained(text: str) -> None:
    """Say a line on standard error."""
    click.echo("maple: " + safe(text), err=True)
    sys.stderr.flush()
