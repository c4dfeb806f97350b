"""One submission for people: what was submitted in place of what was written, why, and what became of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Iterator, Optional

import click
from maple_submit_filter.answer.report import printable

from ...base import drawing
from ...base.difference import unified
from .history_page import cause, ending, verdict, when
from .versions import name_of

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Outcome, Record, Version

Object = dict[str, Any]


def shown(record: "Record", version: "Optional[Version]", decided: Optional[Object]) -> None:
    """Print it."""
    for line in _lines(record, version, decided):
        click.echo(line, color=drawing.coloured())
    if version is None:
        click.echo("the script as you wrote it is no longer kept")
        return
    _difference(record, version, decided)


def _lines(record: "Record", version: "Optional[Version]", decided: Optional[Object]) -> Iterator[str]:
    name = printable(name_of(version)) if version else "a job"
    yield "%s  submitted %s on %s  %s" % (
        click.style(name, bold=True), when(record.at), printable(record.host), ending(record),
    )  # fmt: skip
    if version is not None:
        yield "version %s  %s" % (click.style(version.id[:8], fg="yellow"), printable(" ".join(version.argv)))
        yield printable("in %s" % version.cwd)
    yield from _ended(record.outcome)
    why = cause(record)
    if why:
        yield click.style("because: %s; maple-fix %s" % (why, printable(record.job)), bold=True)
    yield "Maple: " + verdict(record)
    if record.offered_hash:
        yield "whether you took the change shows in the job's own script"
    yield from _decided(decided, name)


def _ended(outcome: "Optional[Outcome]") -> Iterator[str]:
    if outcome is None:
        return
    ran = outcome.ended - outcome.started if outcome.ended and outcome.started else None
    waited = outcome.started - outcome.submitted if outcome.started and outcome.submitted else None
    told = [
        "on %s" % outcome.nodes if outcome.nodes else "",
        "waited %s" % _span(waited) if waited is not None else "",
        "ran %s" % _span(ran) if ran is not None else "",
        "ended by signal %d" % outcome.signal if outcome.signal else "",
        "output %s" % outcome.output if outcome.output else "",
    ]
    if any(told):
        yield printable(", ".join(one for one in told if one))


def _span(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(seconds)) if 0 <= seconds < 86400 else "%.1f days" % (seconds / 86400)


def _decided(decided: Optional[Object], name: str) -> Iterator[str]:
    """Yield findings and the launch plan in short."""
    for one in (decided or {}).get("findings", ()):
        where = "%s:%d: " % (name, one["line"]) if one["line"] else ""
        yield click.style(printable("%s%s %s" % (where, one["code"], one["says"])), bold=True)
    for one in ((decided or {}).get("plan") or {}).get("steps", ()):
        yield printable("line %d: %s" % (one["line"], _step(one)))


def _step(step: Object) -> str:
    chain = " > ".join(step["launchers"]) or "the batch shell"
    worlds = []
    for group in step["groups"]:
        size, per_node = group["world_size"], group["ranks_per_node"]
        master = ", master %s" % group["master"] if group["master"] else ""
        nodes = "1 node" if group["nodes"] == 1 else "%s nodes" % _or(group["nodes"])
        worlds.append("%s x %s ranks, world size %s%s" % (nodes, _or(per_node), _or(size), master))
    return "%s: %s" % (chain, "; ".join(worlds[:4]) or "no ranks known")


def _or(value: Optional[int]) -> str:
    return "?" if value is None else str(value)


def submitted(record: "Record", version: "Optional[Version]", decided: Optional[Object]) -> tuple[bytes, list[str]]:
    """Return script and words that were handed over, secrets masked; b"" for a script that is not kept."""
    if version is None:
        return b"", []
    from maple_agents.ask.memory.versions import HANDED_OVER

    new = (decided or {}).get(HANDED_OVER.get(record.verdict, ""))
    if new:
        return new["script"].encode("utf-8", "surrogateescape"), list(new["argv"])
    return version.script, list(version.argv)


def _difference(record: "Record", version: "Version", decided: Optional[Object]) -> None:
    source, words = submitted(record, version, decided)
    if words != list(version.argv):
        click.echo("submitted with:")
        click.echo("  " + printable(" ".join(words)))
    text = unified(version.script, source, name_of(version))
    if text:
        click.echo("changes made before submitting:")
        drawing.diff(printable(line.replace("\t", "    ")) for line in text.split("\n")[:-1])
