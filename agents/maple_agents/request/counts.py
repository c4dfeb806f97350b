"""How many nodes, GPUs and ranks: "4 nodes with 4 GPUs each", "16 GPUs over 4 nodes", "2x8 H100", "nodes: 4".

Whether the counts of a request agree, and what a bare number of GPUs means beside a number of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from ..base.slots import Missing
from .language.lexemes import GPUS, NAMED, OPEN, RANKS, SAID, WEAK, Hit, Line, Reading
from .language.vocabulary import either, pattern, texts

_WORDS = texts("counts")
_MORE_THAN = re.compile(
    r" (?:(?<!no )(?<!not )(?:more|less|fewer|greater|larger|over and above)(?: \w+)? than"
    r"|(?:with|have|of) only half|%s) $" % either(_WORDS["before_no_count"])
)


def read(line: Line) -> Iterator[Reading]:
    """Yield the counts of a request; a number that is open ("2 to 4 nodes") comes out as a complaint."""
    done: set[int] = set()
    for form, groups in of(line.text):
        for match in line.find(form):
            yield from _readings(line, match, groups, done)
            if not groups:
                done.update(range(match.first, match.last + 1))
    for match in line.find(r"(?P<n>\d+) of (?:them|these|those|em)(?P<whole> (?:fully|completely|entirely|whole))?"):
        what = next((word.lex for word in line.words[match.first :: -1] if word.lex in _COUNTED), "")
        what = "node" if match.groups["whole"] else what
        if what and match.first not in done:
            yield _reading(line, match, "%s!weak" % _COUNTED[what], match.first)


_COUNTED = {"node": "nodes", "gpu": GPUS, "GPU": GPUS}  # what "4 of them" are: what was spoken of last


def _readings(line: Line, match: Hit, groups: Groups, done: set[int]) -> Iterator[Reading]:
    """Yield a reading for every number of a match, unless an earlier pattern had it."""
    for group, what in groups:
        if not match.groups.get(group):
            continue
        first, last = line.group(match, group)
        if done.intersection(range(first, last + 1)) or not (
            what.endswith(("plural", "named", "single")) or _countable(line, first)
        ):
            continue
        ends = (line.words[at].text for at in (match.first, match.last))
        if what.endswith("!plural") and not any(text.endswith("s") for text in ends):
            continue  # "node 4" is one node, the fourth; "the 8x H100 node" is one, too
        if what.endswith("!single") and line.words[first].text not in ("node", "box"):
            continue  # "the A100 nodes"
        done.update(range(first, last + 1))
        if what != "-":  # that number is another's
            yield from (_reading(line, match, each, first) for each in what.split("+"))


def _reading(line: Line, match: Hit, what: str, at: int) -> Reading:
    name, _, how = what.partition("!")
    start, end = min(line.words[match.first].start, line.words[at].start), line.words[match.last].end
    text = line.words[at].lex
    strength = {"named": NAMED, "weak": WEAK, "kind": SAID, "single": WEAK}.get(how, SAID)
    if how == "kind":  # "8 gh nodes": what stands between may be a word of the site
        return Reading(name, int(float(text)), line.words[at].start, line.words[at].end, strength)
    if how == "open":
        start, end = line.span(match.first, match.last)
        return Reading(OPEN, "%s leaves the number open; say one" % _quoted(line, match), start, end)
    if "." in text:
        return Reading(OPEN, "%s: not a whole number" % _quoted(line, match), start, end)
    value = 1 if text in ("a", "an", "node", "box") else 2 if text == "both" else int(text)
    if value < 1:
        return Reading(OPEN, "%s: a job needs at least one" % _quoted(line, match), start, end)
    return Reading(name, value, start, end, strength)


def _quoted(line: Line, match: Hit) -> str:
    return "'%s'" % " ".join(word.text for word in line.words[match.first : match.last + 1])


def _countable(line: Line, at: int) -> bool:
    """Tell whether a number counts something: not "more than 4", "node 4", "stage 3"."""
    text = line.words[at].lex
    if text in ("a", "an", "both"):
        return True
    if not re.match(r"-?\d+(?:\.\d+)?\Z", text) or len(text) > 9:
        return False
    if re.search(r" (?:more|fewer|less) than $", line.before(at, 2)) and re.search(
        r" (?:not|no|never|'t|dont|cannot) ", line.before(at, 9)
    ):
        return True
    return not _MORE_THAN.search(line.before(at, 3)) or line.words[at - 1].lex in (":", "=") or _beside(line, at)


def _beside(line: Line, at: int) -> bool:
    """Tell whether the number begins a count of its own behind another: "1 node 4 gpus"; "node 4" is the fourth."""
    before, behind = line.before(at, 2).split(), line.after(at, 1).split()
    counted = before[-1:] != [] and before[-1] in ("node", "gpu", "rank", "task")
    return counted and bool(behind) and behind[0] in ("node", "gpu", "GPU", "rank", "task", "tile", "gcd", "x")


# How people say counts, as patterns over lexemes. `<...>` is a part below; what stands behind => names the groups.
#
# "n=nodes": the number is that of the nodes. "!named": it was said by a key ("nodes: 4"), "!weak": by the article
# alone, "!plural": only behind a plural, "!single": one, by a singular, "!kind": a word stands between,
# "!open": it is no single number. Nothing behind =>: what only looks like a
# count. Earlier lines go first; a number that one of them took is not read again.

Groups = tuple[tuple[str, str], ...]
_LISTS = {name: pattern(_WORDS[name]) for name in ("adjectives", "kinds")}
_PARTS = {
    name: re.sub("<(adjectives|kinds)>", lambda part: _LISTS[part[1]], text)
    for name, text in (line.split(" => ", 1) for line in _WORDS["parts"].strip().splitlines())
}
_GRAMMAR = _WORDS["grammar"]


_NEEDS = (
    ("<gpu", ("gpu", "GPU", "tile", "gcd")),
    ("<ranks>", ("rank", "task")),
    ("ppn", ("ppn",)),
    ("world", ("world",)),
)


def of(text: str) -> tuple[tuple[str, Groups], ...]:
    """Return the patterns that may match a line of lexemes: what it does not speak of is not looked for."""
    return tuple(
        (form, groups)
        for form, groups, needs in patterns()
        if all(any(" %s " % word in text for word in need) for need in needs)
    )


@cache
def patterns() -> tuple[tuple[str, Groups, tuple[tuple[str, ...], ...]], ...]:
    """Return each pattern, what its groups count, and words of which it needs one; in the order of their trial."""
    lines = [line for line in _GRAMMAR.strip().splitlines() if not line.startswith("#")]
    rows = []
    for line in lines:
        form, _, names = line.rpartition("=>")
        groups = tuple((part.partition("=")[0], part.partition("=")[2]) for part in names.split())
        needs = tuple(
            words for part, words in _NEEDS if part in form and "|<gpu" not in form and "(?:<nodes>" not in form
        )
        rows.append(
            (re.sub(r"(?<!\(\?P)<([a-z: ]+)>", lambda part: _PARTS[part.group(1)], form.strip()), groups, needs)
        )
    return tuple(rows)


class Counts(NamedTuple):
    """What was counted; None where nobody did. *gpus*: a number of which nobody said whether it is a node's or all."""

    nodes: int | None = None
    gpus_per_node: int | None = None
    gpus_total: int | None = None
    ranks_per_node: int | None = None
    ranks: int | None = None
    gpus: int | None = None


_RELATIVE = (
    r"(?:double|twice|triple|half)(?: of)? (?:that|this|it|as many|as much|the (?:node|gpu|number|amount|size))"
    r"|(?:more|fewer|less) (?:node|gpu) than"
)


def doubts(line: Line, readings: Mapping[str, Reading]) -> Iterator[Missing]:
    """Yield the question for the nodes where they are said as a multiple of another number, and by no number behind."""
    match, nodes = next(line.find(_RELATIVE), None), readings.get("nodes")
    if match is not None and (nodes is None or nodes.start < line.words[match.first].start):
        yield Missing("nodes", "the request says a multiple of another number; say how many nodes")


_HELD = (
    r"(?:each|every|per|a|our|the|1) node(?: \w+){0,4} (?:has|have|holds|comes with|got)(?: (?:only|just))?"
    r" (?P<n>\d+) (?:gpu|GPU)"
)


def overfull(line: Line, counts: Counts) -> Iterator[str]:
    """Yield one line where more GPUs are asked for than the request itself says that its nodes have."""
    for match in line.find(_HELD):
        held = int(line.words[line.group(match, "n")[0]].lex)
        most = counts.gpus_per_node or -(-(counts.gpus_total or counts.gpus or 0) // (counts.nodes or 10**6))
        if most > held:
            yield "%s on a node, but the request says that a node has %d" % (_many(most, "GPU"), held)


def counts_said(readings: dict[str, Reading]) -> Counts:
    """Return the counts among the readings."""
    names = {
        "nodes": "nodes",
        "gpus_per_node": "gpus_per_node",
        "gpus_total": "gpus_total",
        "ranks_per_node": "ranks_per_node",
        "ranks": RANKS,
        "gpus": GPUS,
    }
    return Counts(**{field: int(readings[name].value) for field, name in names.items() if name in readings})


def meaning_of_gpus(counts: Counts) -> str:
    """Return the slot that a bare number of GPUs fills: "gpus_total", unless that cannot be and "gpus_per_node" can."""
    nodes, gpus = counts.nodes or 1, counts.gpus or 0
    if counts.gpus_total is not None and counts.gpus_total == nodes * gpus:
        return "gpus_per_node"
    if (
        counts.ranks is not None
        and nodes > 1
        and counts.ranks == nodes * gpus
        or counts.ranks_per_node == gpus
        and nodes > 1
    ):
        return "gpus_per_node"
    return "gpus_per_node" if gpus % nodes else "gpus_total"


def clashes(counts: Counts) -> bool:
    """Tell whether the counts cannot all be, a bare number of GPUs with the meaning that it would have."""
    if counts.gpus is None:
        return bool(contradictions(counts))
    meaning = meaning_of_gpus(counts)
    if getattr(counts, meaning) is None:
        return bool(contradictions(counts._replace(**{meaning: counts.gpus})))
    return not agrees(counts) or bool(contradictions(counts))


def agrees(counts: Counts) -> bool:
    """Tell whether a bare number of GPUs only repeats what the others say."""
    return counts.gpus in (counts.gpus_per_node, counts.gpus_total, (counts.gpus_per_node or 0) * (counts.nodes or 1))


def contradictions(counts: Counts) -> tuple[str, ...]:
    """Return one line for every two counts that cannot both be."""
    lines: list[str] = []
    nodes, per_node, total, ranks_per_node, ranks, _ = counts
    if nodes and per_node and total and nodes * per_node != total:
        lines.append(
            "%s with %s each are %s, not %d"
            % (_many(nodes, "node"), _many(per_node, "GPU"), _many(nodes * per_node, "GPU"), total)
        )
    elif nodes and total and total % nodes:
        lines.append("%s cannot be divided evenly over %s" % (_many(total, "GPU"), _many(nodes, "node")))
    elif per_node and total and not nodes and total % per_node:
        lines.append("%s are no whole number of nodes with %s each" % (_many(total, "GPU"), _many(per_node, "GPU")))
    if nodes and ranks_per_node and ranks and nodes * ranks_per_node != ranks:
        lines.append(
            "%s with %s each are %s, not %d"
            % (_many(nodes, "node"), _many(ranks_per_node, "rank"), _many(nodes * ranks_per_node, "rank"), ranks)
        )
    elif nodes and ranks and ranks % nodes:
        lines.append("%s cannot be divided evenly over %s" % (_many(ranks, "rank"), _many(nodes, "node")))
    return tuple([*lines, *_too_many_ranks(counts)])


def _too_many_ranks(counts: Counts) -> list[str]:
    """More ranks than GPUs contradict each other, but for twice as many: a card may have two tiles or dies."""
    nodes = counts.nodes
    gpus = counts.gpus_total or (counts.gpus_per_node * nodes if counts.gpus_per_node and nodes else None)
    ranks = counts.ranks or (counts.ranks_per_node * nodes if counts.ranks_per_node and nodes else None)
    if gpus and ranks and ranks > gpus and ranks != 2 * gpus:
        return ["%s, but only %s to bind them to" % (_many(ranks, "rank"), _many(gpus, "GPU"))]
    if (
        counts.ranks_per_node
        and counts.gpus_per_node
        and not nodes
        and counts.ranks_per_node > counts.gpus_per_node
        and counts.ranks_per_node != 2 * counts.gpus_per_node
    ):
        return [
            "%s per node, but only %s per node"
            % (_many(counts.ranks_per_node, "rank"), _many(counts.gpus_per_node, "GPU"))
        ]
    return []


def _many(number: int, what: str) -> str:
    return "%d %s%s" % (number, what, "" if number == 1 else "s")
