"""A launcher that was given another's options: read as the one that takes them all, or not carried.

A launcher stops at an option that it does not know; whether the next word is its value or the program, it cannot tell
(`srun --ppn 1 python` starts no program called 1). So nothing behind such a word counts until a launcher is found that
takes the whole line: first those of the cluster that the script was written for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.launchers.grammar import classify
from maple_submit_filter.launchers.mpi.options import TABLES
from maple_submit_filter.launchers.registry import AGENTS, LAUNCHERS, OVER
from maple_submit_filter.plan import breach_kinds
from maple_submit_filter.types.edits import Edit, Span, apply
from maple_submit_filter.types.launch_plan import Link, Option
from maple_submit_filter.types.text import plain

from ...base.slots import Refused
from ...request.script.foreign_script import again, site_of
from ...request.script.parts import Foreign, Launch

_CALLED = {name: LAUNCHERS[name].typed or name.encode() for name in AGENTS}
_SURE = re.compile(rb"(?:\A|/)(?:python[\d.]*|bash|sh)\Z|\.(?:py|sh)\Z")
_NO_PROGRAM = re.compile(rb"-.*|[\d:,.]*")
_UNKNOWN = re.compile(r"unknown option (\S+)")
_IN_DOUBT = re.compile(r": (?:unknown|ambiguous) option ")  # of any other it is known whether a value follows
_NOT_TAKEN = b" does not take "


class Meant(NamedTuple):
    """The script as it was meant. *fewer*: an agent lost words of its layout, which have to be said anew."""

    foreign: Foreign
    fewer: bool = False


def meant(foreign: Foreign) -> Meant:
    """Return the script with each launcher by the name whose words it was given; as it is where all take their own.

    Raises `Refused` with the line where no launcher takes the words, and it is not sure where the program begins.
    """
    fewer = False
    looked_at: set[tuple[int, int]] = set()
    for _ in range(4 * len(foreign.launches)):
        misuse = next(
            ((start, link) for start, link in _links(foreign) if _place(link) not in looked_at and why(start, link)),
            None,
        )
        if misuse is None:
            break
        launch, link = misuse
        other = _of_agent(foreign, link) if link.name in AGENTS else _of_outer(foreign, launch, link)
        if other is None:
            looked_at.add(_place(link))
        fewer = fewer or link.name in AGENTS
        foreign = other or foreign
    return Meant(foreign, fewer)


def surely_wrong(foreign: Foreign) -> bool:
    """Tell whether a launcher was given an option that it does not take and that another is known to have."""
    options = [
        match[1].encode() for launch, link in _links(foreign) for match in [_UNKNOWN.search(why(launch, link))] if match
    ]
    tables = [
        launcher.table
        for launcher in LAUNCHERS.values()
        if launcher.table is not None and (launcher.outer or launcher.agent)
    ]
    return any(option in each.rows for option in options for each in (*tables, *TABLES.values()))


def why(launch: Launch, link: Link) -> str:
    """Return why the words of a launcher are not its own, "" where they are."""
    step = launch.steps[0]
    reasons = [text for text in step.unknown if text.startswith(link.name + ": ") and _IN_DOUBT.search(text)]
    reasons += [
        breach.names[0].decode("utf-8", "replace")
        for breach in step.breaches
        if breach.kind == breach_kinds.REFUSED
        and link is step.links[0]
        and breach.names
        and _NOT_TAKEN in breach.names[0]
    ]
    taken_apart = _taken_apart(link)
    if taken_apart:
        reasons.append("%s: %s is another launcher's option" % (link.name, taken_apart.decode("utf-8", "replace")))
    last = link is step.links[-1]
    if last and link.name != "mpiexec" and step.program and _NO_PROGRAM.fullmatch(step.program[0]):
        reasons.append("%s: %s is no program" % (link.name, step.program[0].decode("utf-8", "replace")))
    return reasons[0] if reasons else ""


def _taken_apart(link: Link) -> bytes:
    """Return the word that srun takes for short options, and that mpiexec has as it stands: `-ppn` for `-p pn`."""
    words = [text.raw for text in link.argv[1:]] if link.name == "srun" else []
    known = {spelling for table in TABLES.values() for spelling in table.rows}
    return next((word for word in words if re.fullmatch(rb"-[A-Za-z][A-Za-z-]+", word) and word in known), b"")


def _links(foreign: Foreign) -> Iterator[tuple[Launch, Link]]:
    for launch in foreign.launches:
        for link in launch.steps[0].links:
            if link.name_span is not None and (link.name in OVER or link.name in AGENTS):
                yield launch, link


def _place(link: Link) -> tuple[int, int]:
    assert link.name_span is not None
    return (link.name_span.start, link.name_span.end)


def _of_outer(foreign: Foreign, launch: Launch, link: Link) -> Foreign | None:
    """Return the script with the launcher that takes the words; None where the program is sure all the same."""
    assert link.name_span is not None
    for name in _order(foreign, link.name):
        other = again(apply(foreign.source, [Edit(link.name_span, name.encode(), "launcher")]), foreign)
        if other is not None and _reads(other, link.name_span.start, name):
            return other
    if _is_sure(launch, link):
        return None
    raise Refused(_says(launch, link))


def _order(foreign: Foreign, name: str) -> list[str]:
    """Return the other launchers: those of the script's own cluster first."""
    states = ("preferred", "present")
    site = site_of(foreign)
    known = {name_of: site.launcher(name_of) for name_of in OVER}
    ranked = sorted(OVER, key=lambda other: states.index(known[other]) if known[other] in states else len(states))
    return [other for other in ranked if other != name]


def _reads(foreign: Foreign, start: int, name: str) -> bool:
    """Tell whether the launcher at *start* of the script takes all its words, and a program follows them."""
    for launch, link in _links(foreign):
        if _place(link)[0] == start:
            program = launch.steps[0].program
            nothing = link is launch.steps[0].links[-1] and (not program or _NO_PROGRAM.fullmatch(program[0]))
            return not link.open and not nothing and not why(launch, link)
    return False


def _is_sure(launch: Launch, link: Link) -> bool:
    """Tell whether what follows the launcher is surely the program."""
    step = launch.steps[0]
    after = step.links[step.links.index(link) + 1 :]
    if after:
        return True
    return not _taken_apart(link) and bool(step.program and _SURE.search(step.program[0]))


def _of_agent(foreign: Foreign, link: Link) -> Foreign:
    """Return the script without what only another agent takes and says of the layout, which is said anew.

    Raises `Refused` where no agent takes the words, or where more than layout would be lost.
    """
    assert link.name_span is not None
    launch = next(start for start, each in _links(foreign) if each is link)
    for name in (agent for agent in AGENTS if agent != link.name):
        other = again(apply(foreign.source, [Edit(link.name_span, _CALLED[name], "launcher")]), foreign)
        shift = len(_CALLED[name]) - (link.name_span.end - link.name_span.start)
        strange = _strange(other, link, name) if other is not None else None
        spans = [Span(span.start - shift, span.end - shift) for span in strange or ()]
        if strange is None or not all(_is_plain(foreign.source, span) for span in spans):
            continue
        own = again(
            apply(foreign.source, [Edit(Span(span.start - 1, span.end), b"", "launcher") for span in spans]), foreign
        )
        if own is not None and _reads(own, link.name_span.start, link.name):
            return own
    raise Refused(_says(launch, link))


def _strange(other: Foreign, link: Link, name: str) -> list[Span] | None:
    """Return where the options stand that the agent itself does not take; None where not all can go."""
    assert link.name_span is not None
    if not _reads(other, link.name_span.start, name):
        return None
    there = next(each for _, each in _links(other) if _place(each)[0] == link.name_span.start)
    odd = [option for option in there.options if not _takes(link.name, option)]
    if any(option.name not in AGENTS[name].layout or option.span is None for option in odd):
        return None
    return [option.span for option in odd if option.span is not None]


def _takes(agent: str, option: Option) -> bool:
    table = LAUNCHERS[agent].table
    return table is not None and bool(classify(table, plain(option.spelling)).hits)


def _is_plain(source: bytes, span: Span) -> bool:
    """Tell whether an option stands between blanks, so that nothing else goes with it."""
    return source[span.start - 1 : span.start] in (b" ", b"\t") and source[span.start : span.start + 1] == b"-"


def _says(launch: Launch, link: Link) -> str:
    return "line %d: %s: no launcher takes all these words, so it is not sure what they start" % (
        launch.line,
        why(launch, link),
    )
