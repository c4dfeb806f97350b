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
        for match in line.find(pattern):
            yield from _readings(line, match, groups, done)
            if not groups:
                done.update(range(match.first, match.last + 1))
    for match in line.find(r"(?P<n>\d+) of (?:them|these|those|em)"):
        what = next((word.lex for word in line.words[match.first :: -1] if word.lex in _COUNTED), "")
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
        if what.endswith("!plural") and not line.words[match.first].text.endswith("s"):
            continue  # "node 4" is one node, the fourth
        if what.endswith("!single") and line.words[first].text not in ("node", "box"):
            continue  # "the A100 nodes"
        done.update(range(first, last + 1))
        if what != "-":  # that number is another's
            yield from (_reading(line, match, each, first) for each in what.split("+"))


def _reading(line: Line, match: Hit, what: str, at: int) -> Reading:
    name, _, how = what.partition("!")
    start, end = min(line.words[match.first].start, line.words[at].start), line.words[match.last].end
    text = line.words[at].lex
    strength = {"named": NAMED, "weak": WEAK, "kind": WEAK, "single": WEAK}.get(how, SAID)
    if how == "kind":  # "8 gh nodes": what stands between may be a word of the site
        return Reading(name, int(float(text)), line.words[at].start, line.words[at].end, strength)
    if how == "open":
        start, end = line.span(match.first, match.last)
        return Reading(OPEN, "%s leaves the number open; say one" % _quoted(line, match), start, end)
    if "." in text:
        return Reading(OPEN, "%s: not a whole number" % _quoted(line, match), start, end)
    value = 1 if text in ("a", "an", "node", "box") else int(text)
    if value < 1:
        return Reading(OPEN, "%s: a job needs at least one" % _quoted(line, match), start, end)
    return Reading(name, value, start, end, strength)


def _quoted(line: Line, match: Hit) -> str:
    return "'%s'" % " ".join(word.text for word in line.words[match.first : match.last + 1])


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

_ADJECTIVES = """
full|whole|entire|complete|compute|GPU|gpu|cpu|SITE|SIZE|different|separate|dedicated|exclusive|of the|of these|
of those|of|big|large|fat|distinct|identical|physical|standard|regular|more or less|or so|grace hopper|login|available|
accelerated|multi gpu|slurm|pbs|batch|worker|the|those|these
"""
_KINDS = r"""
GPU|nvidia|amd|intel|SIZE|nos|nos \.|no 's|pcs|pieces of|units of|little|
physical|of the|of these|of|available|visible|full|whole|whopping|-|total|local|mere|the|x
"""
Groups = tuple[tuple[str, str], ...]
_PARTS = {
    "n": r"(?P<n>\d+(?:\.\d+)?)",
    "m": r"(?P<m>\d+)",
    "nodes": "(?:(?:%s) ){0,6}node" % "".join(_ADJECTIVES.split("\n")),
    "gpus": "(?:(?:%s) ){0,6}(?:gpu|GPU|tile|gcd)" % "".join(_KINDS.split("\n")),
    "gpu": "(?:gpu|GPU|tile|gcd)",
    "no device": "(?:node|partition|queue|box|machine|cluster|or|memory)",
    "ranks": "(?:(?:mpi|training|gpu|GPU|parallel|python|torch|ddp|distributed|PARADIGM|LAUNCHER|total) ){0,4}"
    "(?:rank|task)",
    "per node": "(?:(?:(?:(?:on|in|for|of|from|inside|within) )?(?:per|each|every|/)|a|on|in) (?:of (?:th"
    "e|these|those) )?"
    "(?:compute |GPU |gpu )?node|node each|each)",
    "is": r"(?: (?:=|:|is|of|be|to|are|>|-|equal|set|should|must|at|count|number|exactly|as)){0,6}",
    ":": "(?: (?:=|:|is|of|>|-)){1,3}",
    "to": "(?:to|-|or|and/or|until|through)",
    "not": "(?:, )?(?:instead of|rather than|not|and not) (?:the )?",
    "prefer": "(?:prefer|preferring|favour|favor|choose|pick)(?: (?:to|use|have|using|having|run|on|with)){0,3}",
    "has": "(?:with|having|has|have|using|use|gets|get|uses|:|=|should have|should use|should get|must have)(?: all)?",
    "spread": "(?:, )?(?:(?:spread|distributed|split|divided|scattered|evenly|balanced|all|located|placed) ){0,5}"
    "(?:over|across|on|in|from|among|between|out over) (?:the |all |all of )?",
    "in total": "(?:in (?:total|all|sum)|total|all together|combined|across the board|(?:over|across) all(?: node)?)",
    "changed": "(?:increase|increased|increasing|raise|raised|change|changed|changing|go|going|move|moved|bump|bumped|"
    r"scale|scaled|scaling|up|down|reduce|reduced)(?: \w+){0,5}?",
    "change": "(?:set|change|increase|raise|reduce|limit|bump|scale)",
    "graph": "(?:graph|mesh|tree|network|layer|mlp|hidden|circuit)",
    "wants": "(?:on|in|using|use|need|want|request|reserve|get|me|just|only|with|for|take)",
    "next": r"(?= (?:[,;.)(|/§]|- |SITE|PARADIGM|MODEL|LAUNCHER|DUR|node|gpu|walltime|account|time|partition|queue)"
    r"|\s*$)",
    "no number": r"(?<! \d )(?<! \d\d )(?<! \d{3} )(?<! \d{4} )",
    "kind": r"(?!(?:gpu|GPU|hour|minute|day|rank|task|and|or|per|of|for|on|with|in|from|the|a|an|to|x|more|less|other|"
    r"SITE|DUR|this|that|each|times) )(?:[a-z][\w.-]*)",
    "for each": "(?:for|per|on|to|each|/)(?: (?:each|every|all|1))?(?: of)?(?: (?:the|its|my|those|these|all))*",
    "not each": "(?<!each )(?<!every )(?<!per )(?<!of )",
    "no list": "(?! (?:failures?|list|name|count|number|type|hour|version|classification|features|embeddings?))",
    "each": "(?:each|every|per|all)(?: (?:of (?:the|them|these)|node|compute|gpu|GPU|:)){0,5}",
    "node number": r"(?:node (?:count|number)|number (?:of )?(?:\w+ )?node|num node|node)(?: \( s \))?",
}
_GRAMMAR = r"""
# what only looks like a count: node-hours, the nodes of a graph
\d+(?:\.\d+)? (?:- )?(?:node|gpu|GPU|cpu|core|su|service|credit) (?:- )?(?:hour|minute|day|unit) =>
<graph>(?: \w+)? (?:has|have|with|of|contains|:|=) (?:about |up to )?\d+ (?:\w+ )?node =>
\d+ (?:hidden|graph|leaf|tree|input|output|grid|mesh|neural) node =>
(?P<n>-\d+) (?:node|<gpu>) => n=nodes!open
# from 2 to 4 nodes, where it is a change
<changed> from \d+(?: node)? to <n>(?: <nodes>)? => n=nodes
<change> (?:the )?(?:number of )?node(?: number)? to <n> => n=nodes!named
# ranges and alternatives are no value
(?P<n>\d+) <to> <m> (?:- )?<nodes>(?: \w+)? => n=nodes!open m=nodes!open
(?:between|from) (?P<n>\d+) (?:and|to) <m> (?:<nodes>|<gpus>) => n=nodes!open m=nodes!open
(?P<n>\d+) <to> <m> (?:- )?<gpus> => n=gpus!open m=gpus!open
<n> (?:node )?or <m> (?:- )?<nodes> => n=nodes!open m=nodes!open
# 4 instead of 8 nodes: the first number counts the same thing
<n> <not>\d+ <nodes> => n=nodes
<n> <not>\d+ <gpus> => n=gpus
# a kind and how many of it, "A100 x4"
(?:GPU|gpu) (?:SIZE )?x <n>(?= each) => n=gpus_per_node
(?:GPU|gpu) (?:SIZE )?x <n>(?! (?:node|x|/|per)) => n=gpus
<prefer> <n> over (?:the )?<m> <nodes> => n=nodes m=-
<prefer> <n> over (?:the )?<m> <gpus> => n=gpus m=-
# 2 of the 4 GPUs
<n> of (?:its|the|their|my|our|those|these|all) <m> <gpus> => n=gpus m=-
<n> of (?:its|the|their|my|our|those|these|all) <m> <nodes> => n=nodes m=-
(?:its|their) (?:own )?<n> <gpus> => n=gpus_per_node
# nodes and the ranks of each in one breath; a rank for each of the GPUs
<n> (?:<nodes> )?(?:x|\*|times) <m> <ranks> => n=nodes m=ranks_per_node
(?P<n>1) <ranks> <for each> <m> <gpus> => n=- m=gpus+ranks
# nodes and the GPUs of each in one breath
<n> (?:- )?<nodes> of <m> (?:x )?<gpus> => n=nodes m=gpus_per_node
<n> (?:<nodes> )?(?:x|\*|times) <m> (?:x )?<gpus>(?: node)? => n=nodes m=gpus_per_node
<n> node (?:x|\*|times) <m>(?: (?:x )?<gpus>)? => n=nodes m=gpus_per_node
<n> (?:node )?(?:x )?(?:with |of )?<m> (?:x |- )<gpus> (?:- )?node => n=nodes m=gpus_per_node
(?:a|an) (?P<n>1) (?:SIZE )?GPU (?:(?:- )?SIZE )?(?:compute )?node => n=nodes
<n> - <gpus> (?:compute )?node => n=gpus_per_node
# the GPUs of a node
<n> (?:- )?<gpus>(?: GPU)?(?: (?:in|on|of|from))?(?: (?:use|used|being used))? <per node> => n=gpus_per_node
<each> <has> (?:exactly )?<n> (?:- )?<gpus> => n=gpus_per_node
(?:with|of|having|at|,|and) each <n> (?:- )?<gpus> => n=gpus_per_node
<gpu> (?:per|/|a|each|on each|on every|in each) node<is> <n> => n=gpus_per_node!named
(?<![a-z] )per node <n> <gpus> => n=gpus_per_node!named
<gpu><is> <n> per node => n=gpus_per_node!named
# the ranks of a node; one for each GPU is no count of them
(?P<n>1) <ranks> (?:(?:on|in|for) )?(?:per|each|every|/|a) <gpu> => n=-
(?P<n>1) <gpu> (?:(?:on|in|for) )?(?:per|each|every|/|a) (?:mpi )?(?:rank|task) => n=rank_gpus
<gpus>(?: (?:per|/|a|each) node)?(?: ,)?(?: with| and)? (?P<n>1) <ranks> (?:each|per gpu) => n=-
<n> (?:- )?<ranks> (?:on |in |for )?<per node> => n=ranks_per_node
<ranks> (?:per|/|a|on each|on every) node<is> <n> => n=ranks_per_node!named
<n> ppn => n=ranks_per_node
(?:each|every|per) node <n> <ranks> => n=ranks_per_node!named
(?:<ranks>)<is> <n> (?:per|/|a|each|on each|on every) node => n=ranks_per_node!named
# nodes
<node number><:>(?: exactly)? <n>(?! (?:x|tile|gpu|GPU|rank|task|core|cpu|hour|minute)) => n=nodes!named
<n> (?:- )?<nodes><no list> => n=nodes
<n> <kind> node<no list> => n=nodes!kind
<not each>GPU (?:gpu |compute )?(?P<n>node|box)(?! (?:or|is|are|type|kind|partition|queue|-)) => n=nodes!single
(?<!the )(?:full|whole|entire) (?P<n>node)<next> => n=nodes!single
(?<= [,;] )<n> x <m>(?= [,;]) => n=nodes!weak m=gpus_per_node!weak
<no number>node <n><next> => n=nodes!plural
<no number>gpu <n><next> => n=gpus!plural
<wants> (?P<n>a|an) (?:(?:full|whole|entire|compute|GPU|gpu|SITE|SIZE) ){0,3}node<no list> => n=nodes!weak
# the GPUs of the job
<n> (?:- )?<gpus>(?: GPU)? <in total> => n=gpus_total
(?:total (?:of )?(?:number of )?|in total (?:of )?)(?:exactly )?<n> <gpus> => n=gpus_total
<gpu> (?:in )?total<is> <n> => n=gpus_total!named
<n> (?:- )?<gpus>(?: GPU)? <spread><m> (?:- )?<nodes> => n=gpus_total m=nodes
<n> (?:x )?<gpus>(?! (?:memory|hour)) => n=gpus
<wants> (?P<n>a|an) GPU(?! (?:gpu |GPU |- |compute )*<no device>) => n=gpus!weak
LAUNCHER (?:with |, )?<n> <per node>(?! (?:gpu|GPU|node|card|tile)) => n=ranks_per_node
(?:number of |num )?(?:gpu|GPU gpu)(?: number)?(?: (?:=|:|>)){1,3} <n>(?! (?:gb|tile|SIZE)) => n=gpus!named
# the ranks of the job
world size<is> <n> => n=ranks!named
<n> <ranks>(?! (?:per|/|on each|a node|type|group|in the (?:dataset|benchmark))) => n=ranks
(?:total |number of )?<ranks>(?: number)?(?: (?:=|:)){1,3} <n> => n=ranks!named
"""


_NEEDS = (
    ("<gpu", ("gpu", "GPU", "tile", "gcd")),
    ("<ranks>", ("rank", "task")),
    ("ppn", ("ppn",)),
    ("world", ("world",)),
)


def of(text: str) -> tuple[tuple[str, Groups], ...]:
    """Return the patterns that may match a line of lexemes: what it does not speak of is not looked for."""
    return tuple(
        (pattern, groups)
        for pattern, groups, needs in patterns()
        if all(any(" %s " % word in text for word in need) for need in needs)
    )


@cache
def patterns() -> tuple[tuple[str, Groups, tuple[tuple[str, ...], ...]], ...]:
    """Return each pattern, what its groups count, and words of which it needs one; in the order of their trial."""
    lines = [line for line in _GRAMMAR.strip().splitlines() if not line.startswith("#")]
    rows = []
    for line in lines:
        pattern, _, names = line.rpartition("=>")
        groups = tuple((part.partition("=")[0], part.partition("=")[2]) for part in names.split())
        needs = tuple(
            words
            for part, words in _NEEDS
            if part in pattern and "|<gpu" not in pattern and "(?:<nodes>" not in pattern
        )
        rows.append(
            (re.sub(r"(?<!\(\?P)<([a-z: ]+)>", lambda part: _PARTS[part.group(1)], pattern.strip()), groups, needs)
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
