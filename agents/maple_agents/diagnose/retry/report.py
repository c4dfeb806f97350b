"""What came of the rounds, for people as a table and for programs as JSON."""

from __future__ import annotations

import os
import sys

import click

from ...base import drawing
from ..tell.safe import safe, safe_object
from ..values import Diagnosis
from .loop import Attempt, End, Story

_ENDED = {
    End.RAN: "it ran",
    End.SAME: "the same failure came back",
    End.NOTHING_LEFT: "no other fix of the script is known",
    End.USED_UP: "every round was used up",
    End.NOT_TRIED: "the fix could not be tried",
}
MOST_ROUNDS = 5
MOST = 68  # columns of the sentence in a row


def show(story: Story, first: Diagnosis) -> None:
    """Print a table of the rounds, and the sentence that ends it."""
    for row in rows(story):
        click.echo(row)
    if story.attempts:
        click.echo(tries(story))
    click.echo(
        click.style(safe(ending(story, first)), fg="green" if story.end is End.RAN else "yellow", bold=True),
        color=drawing.coloured(),
    )


def rows(story: Story) -> list[str]:
    """Return the rows of the table, its head first; [] where nothing was tried."""
    if not story.attempts:
        return []
    cells = [("round", "job", "how", "ended", "cause", "fix that was tried"), *map(_cells, story.attempts)]
    widths = [max(len(row[at]) for row in cells) for at in range(5)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), _short(row[5])]).rstrip() for row in cells
    ]


def tries(story: Story) -> str:
    """Return whether the first fix was enough, and whether all of them were."""
    count = len(story.attempts)
    first = "yes" if story.end is End.RAN and count == 1 else "no"
    made = "yes, after %d" % count if story.end is End.RAN else "no"
    return "fixed at the first try: %s; after at most %d: %s" % (first, MOST_ROUNDS, made)


def _cells(one: Attempt) -> tuple[str, ...]:
    cause = "-" if one.ran else one.after.causes[0].cause
    return tuple(safe(cell) for cell in (str(one.number), one.job, one.how, one.state, cause, one.cure.says))


def _short(text: str) -> str:
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def ending(story: Story, first: Diagnosis) -> str:
    """Return the last sentence: what came of it, and what there is to do."""
    count = len(story.attempts)
    rounds = "after %d round%s" % (count, "" if count == 1 else "s")
    if first.causes[0].cause == "none":
        return "the job succeeded: there is nothing to fix"
    if not story.attempts:
        return _ENDED[story.end] + (": " + story.why if story.why else "")
    last = story.attempts[-1]
    said = "%s %s%s" % (_ENDED[story.end], rounds, ": " + story.why if story.why else "")
    if story.end is not End.RAN:
        return "%s; the last copy is %s" % (said, _near(last.copy))
    if last.how == "mini-app":
        return "its launch lines run with mini-apps %s; submit %s" % (rounds, _near(last.copy))
    return "%s; the script that ran is %s" % (said, _near(last.copy))


def _near(path: str) -> str:
    near = os.path.relpath(path)
    return near if len(near) < len(path) else path


def as_object(story: Story) -> dict[str, object]:
    """Return the keys that rounds add to the JSON of `maple-fix`; every text may be shown as it is."""
    made = safe_object({
        "rounds": [_told(one) for one in story.attempts],
        "ended": {
            "how": story.end.value,
            "why": story.why or None,
            "first_try": story.end is End.RAN and len(story.attempts) == 1,
            "rounds": len(story.attempts),
        },
    })  # fmt: skip
    assert isinstance(made, dict)
    return made


def _told(one: Attempt) -> dict[str, object]:
    first = one.after.causes[0]
    return {
        "round": one.number,
        "fix": {"kind": one.cure.kind, "says": one.cure.says, "safety": one.cure.safety},
        "copy": one.copy,
        "how": one.how,
        "job": one.job or None,
        "state": one.state,
        "ran": one.ran,
        "cause": {"class": first.cause, "says": first.says, "confidence": round(first.confidence, 2)},
    }


def complained(text: str) -> None:
    """Say a line on standard error."""
    click.echo("maple: " + safe(text), err=True)
    sys.stderr.flush()
