"""Questions on a terminal: each slot that is missing, once, with the site's own words."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Sequence

import click
from maple_submit_filter.answer.report import printable

from ...base.complaint import Complaint
from ...base.terminal import coloured
from .asked import slot

if TYPE_CHECKING:
    from maple_agents.base.missing import Missing
    from maple_agents.base.slots import Slot

TRIES = 3  # of one question
CALLED = {
    "filesystems": "file systems", "gpu": "kind of node", "gpus_per_node": "GPUs per node", "gpus_total": "GPUs in all",
    "qos": "QOS", "ranks_per_node": "ranks per node",
}  # fmt: skip


def ask(missing: Sequence["Missing"]) -> list["Slot"]:
    """Return the answers. Raises `click.Abort` for an empty one: then nothing is written."""
    return [_ask(one) for one in missing]


def _ask(one: "Missing") -> "Slot":
    """Ask on stderr, for the script goes to stdout."""
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
            return slot(one.slot, answer, "prompt", name)
        except Complaint as error:
            _say(error.format_message())
    raise Complaint("%s: no usable answer" % name)


def _line(question: str) -> str:
    """Return what is typed behind *question*; the end of input is an empty answer."""
    click.echo(question, nl=False, err=True)
    sys.stderr.flush()
    return sys.stdin.readline()


def _say(text: str) -> None:
    click.echo(text, err=True, color=coloured())
