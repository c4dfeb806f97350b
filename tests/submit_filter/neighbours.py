"""Neighbours of the rules' scripts: one number, word, line or site is another, and what is said of that stands in
`tests/cases/seen/near-*.txt`.

A case shows that a rule speaks; its neighbours show where it begins to, and what else it turns on. A block's title says
which they are (`MPL204/a-case at 3:12: 4 => 5`, `MPL204/a-case on lumi`), so the titles are the only list. `python -m
tests.bugs.conditions` chose them: each makes a condition of the heart come out in a way that no other script does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Optional

from maple_agents.ask import sites
from maple_submit_filter.launchers.registry import LAUNCHERS
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site

from tests.submit_filter.test_worlds_kept_everywhere import Submitted, everything

TITLE = re.compile(r"(?P<case>\S+) (?:at (?P<line>\d+):(?P<column>\d+): (?P<old>.*) => (?P<new>.*)|on (?P<site>\S+))")
GENERIC = {"slurm": GENERIC_SLURM, "pbs": GENERIC_PBS}
_NUMBER = re.compile(r"(?<![\w.])\d{1,5}(?!\w)|(?<=[a-zA-Z_=:])\d{1,5}(?!\w)")
_STARTS = re.compile(r"^\s*(?:%s)\b" % "|".join(map(re.escape, sorted(LAUNCHERS))))


def of(title: str) -> Optional[Submitted]:
    """Return the neighbour of that title, None where its case is gone or has other words there."""
    found = TITLE.fullmatch(title)
    case = cases_by_name().get(found["case"]) if found is not None else None
    if found is None or case is None:
        return None
    if found["site"] is not None:
        return case._replace(name=title, site=_site(found["site"], case.asked.scheduler))
    lines = (case.asked.script or b"").decode().split("\n")
    number, column = int(found["line"]) - 1, int(found["column"]) - 1
    if number >= len(lines) or not lines[number].startswith(found["old"], column):
        return None
    there = lines[number]
    lines[number] = there[:column] + found["new"] + there[column + len(found["old"]) :]
    return case._replace(name=title, asked=case.asked._replace(script="\n".join(lines).encode()))


def titles(case: Submitted) -> Iterator[str]:
    """Yield the titles of all neighbours of a case."""
    for number, line in enumerate(_text(case).split("\n")[1:], 2):
        for column, old, new in _changes(line):
            if " => " not in old + new:
                yield "%s at %d:%d: %s => %s" % (case.name, number, column + 1, old, new)
    yield from ("%s on %s" % (case.name, site) for site in _sites(case.asked.scheduler) if site != case.site.id)


def _changes(line: str) -> Iterator[tuple[int, str, str]]:
    """Yield where a line may be another: a number by one or twice as much, an option gone, all of it gone or likely."""
    for match in _NUMBER.finditer(line):
        number = int(match.group())
        for other in {number - 1, number + 1, 2 * number} - {number, -1}:
            yield match.start(), match.group(), str(other)
    for match in re.finditer(r"(?<=\s)-\S+ ?", line):
        yield match.start(), match.group(), ""
    if line.strip():
        yield 0, line, ""
    if _STARTS.match(line) and not line.rstrip().endswith(("\\", "&")):
        yield len(line.rstrip()), "", " &"
        yield 0, "", "[ -e data ] && "


@cache
def cases_by_name() -> dict[str, Submitted]:
    """Return the scripts that have neighbours: those of text alone."""
    return {case.name: case for case in everything() if _text(case)}


def _text(case: Submitted) -> str:
    try:
        return (case.asked.script or b"").decode("ascii")
    except UnicodeDecodeError:
        return ""


@cache
def _sites(scheduler: str) -> tuple[str, ...]:
    known = (name for name in sites.ids() if sites.load(name).scheduler == scheduler)
    return (GENERIC[scheduler].id, *sorted(known))


@cache
def _site(name: str, scheduler: str) -> Site:
    return GENERIC[scheduler] if name == GENERIC[scheduler].id else sites.load(name)


def chosen(texts: Iterable[str]) -> Iterator[Submitted]:
    """Yield the neighbours whose titles stand in texts of `tests/cases/seen/`, but those that are no more."""
    for text in texts:
        for title in re.findall(r"^== (\S+ (?:at|on) .*)$", text, re.MULTILINE):
            neighbour = of(title)
            if neighbour is not None:
                yield neighbour
