"""Questions on a terminal: each slot that is missing, once, with the site's own words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click
from maple_submit_filter.answer.report import printable

from ...base.complaint import Complaint
from ...base.terminal import coloured, on_screen
from . import accepted
from .request import slot

if TYPE_CHECKING:
    from maple_agents.base.slots import Missing, Slot

TRIES = 3  # of one question
CALLED = {
    "filesystems": "file systems", "gpu": "kind of node", "gpus_per_node": "GPUs per node", "gpus_total": "GPUs in all",
    "qos": "QOS", "ranks_per_node": "ranks per node",
}  # fmt: skip


Trial = Callable[[Sequence["Slot"]], str]  # why answers cannot be had together, "" where they can


def ask(missing: Sequence["Missing"], trial: Trial) -> list["Slot"]:
    """Return the answers, each judged by *trial* with those before it. An empty one ends the command: exit code 3."""
    given: list[Slot] = []
    for one in missing:
        given.append(_ask(one, lambda slot: trial([*given, slot])))
    return given


def _ask(one: "Missing", trial: "Callable[[Slot], str]") -> "Slot":
    """Ask on stderr, for the script goes to stdout; again where the answer is not accepted."""
    name = CALLED.get(one.slot, one.slot)
    _say(click.style(name, bold=True) + printable(": " + one.says))
    if one.choices:
        _say("  " + printable(", ".join(one.choices)))
    for _ in range(TRIES):
        shown = " [%s]" % printable(one.default) if one.default else ""
        answer = _line("%s%s: " % (name, shown)).strip() or one.default
        if not answer:
            _say("nothing was written")
            raise click.exceptions.Exit(3)
        try:
            return _judged(one, slot(one.slot, answer, "prompt", name), name, trial)
        except Complaint as error:
            _say(error.format_message())
    raise Complaint("%s: no usable answer" % name)


def _judged(one: "Missing", given: "Slot", name: str, trial: "Callable[[Slot], str]") -> "Slot":
    """Return the answer. Raises `Complaint` with what would be accepted."""
    complaint = accepted.wrong(one.slot, str(given.value), one.choices) or trial(given)
    if complaint:
        raise Complaint("%s: %s" % (name, complaint))
    return given


def _line(question: str) -> str:
    """Return what is typed behind *question*; the end of input is an empty answer."""
    click.echo(question, nl=False, err=True)
    sys.stderr.flush()
    return sys.stdin.readline()


def _say(text: str) -> None:
    click.echo("\n".join(on_screen(text)), err=True, color=coloured())
