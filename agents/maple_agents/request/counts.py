"""How many nodes, GPUs and ranks: "4 nodes with 4 GPUs each", "16 GPUs over 4 nodes", "2x8 H100", "nodes: 4"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .count_patterns import Groups, of
from .language.lexemes import Found, Line
from .language.reading import NAMED, OPEN, SAID, WEAK, Reading

_MORE_THAN = re.compile(
    r" (?:(?<!no )(?<!not )(?:more|less|fewer|greater|larger|over and above)(?: \w+)? than"
    r"|(?:with|have|of) only half|another|every|node|gpu|rank|version|python|cuda|number|top"
    r"|figure|room|step|stage|phase|level|chapter|section|table|part|layer|epoch|seed|id|index"
    r"|#) $"
)


def read(line: Line) -> Iterator[Reading]:
    """Yield the counts of a request; a number that is open ("2 to 4 nodes") comes out as a complaint."""
    done: set[int] = set()
    for pattern, groups in of(line.text):
        for found in line.find(pattern):
            yield from _readings(line, found, groups, done)
            if not groups:
                done.update(range(found.first, found.last + 1))


def _readings(line: Line, found: Found, groups: Groups, done: set[int]) -> Iterator[Reading]:
    """Yield a reading for every number of a match, unless an earlier pattern had it."""
    for group, what in groups:
        if not found.groups.get(group):
            continue
        first, last = line.group(found, group)
        if done.intersection(range(first, last + 1)) or not (
            what.endswith(("plural", "named")) or _countable(line, first)
        ):
            continue
        if what.endswith("!plural") and not line.words[found.first].text.endswith("s"):
            continue  # "node 4" is one node, the fourth
        done.update(range(first, last + 1))
        if what != "-":  # that number is another's
            yield _reading(line, found, what, first)


def _reading(line: Line, found: Found, what: str, at: int) -> Reading:
    name, _, how = what.partition("!")
    start, end = min(line.words[found.first].start, line.words[at].start), line.words[found.last].end
    text = line.words[at].lex
    strength = {"named": NAMED, "weak": WEAK}.get(how, SAID)
    if how == "open":
        start, end = line.span(found.first, found.last)
        return Reading(OPEN, "%s leaves the number open; say one" % _quoted(line, found), start, end)
    if "." in text:
        return Reading(OPEN, "%s: not a whole number" % _quoted(line, found), start, end)
    value = 1 if text in ("a", "an") else int(text)
    if value < 1:
        return Reading(OPEN, "%s: a job needs at least one" % _quoted(line, found), start, end)
    return Reading(name, value, start, end, strength)


def _quoted(line: Line, found: Found) -> str:
    return "'%s'" % " ".join(word.text for word in line.words[found.first : found.last + 1])


def _countable(line: Line, at: int) -> bool:
    """Tell whether a number counts something: not "more than 4", "node 4", "stage 3"."""
    text = line.words[at].lex
    if text in ("a", "an"):
        return True
    if not re.match(r"-?\d+(?:\.\d+)?\Z", text) or len(text) > 9:
        return False
    if re.search(r" (?:more|fewer|less) than $", line.before(at, 2)) and re.search(
        r" (?:not|no|never|'t|dont|cannot) ", line.before(at, 9)
    ):
        return True
    return not _MORE_THAN.search(line.before(at, 3)) or line.words[at - 1].lex in (":", "=")
