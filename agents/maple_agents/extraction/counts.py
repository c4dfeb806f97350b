"""How many nodes, GPUs and ranks: "4 nodes with 4 GPUs each", "16 GPUs over 4 nodes", "2x8 H100", "nodes: 4"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .lexemes import Found, Line
from .reading import GPUS, NAMED, OPEN, RANKS, SAID, WEAK, Reading

_ADJECTIVES = (
    r"(?:(?:full|whole|entire|complete|compute|GPU|gpu|cpu|SITE|SIZE|different|separate|dedicated|exclusive|of the|of these|of those|of|big|large|fat|"
    r"distinct|identical|physical|standard|regular|more or less|or so|grace hopper|login|available|accelerated|multi gpu|slurm|pbs|batch|worker|the|those|these) )*"
)
_KINDS = r"(?:(?:GPU|nvidia|amd|intel|SIZE|physical|of the|of these|of|available|visible|full|whole|whopping|-|total|local|mere|the|x) ){0,6}"
_GPU = r"(?:gpu|GPU|tile|gcd|graphics gpu)"
_NODE = r"node"
_PER_NODE = r"(?:(?:(?:(?:on|in|for|of|from|inside|within) )?(?:per|each|every|/)|a) (?:of (?:the|these|those) )?(?:compute |GPU |gpu )?node|/ node|per node|node each|each)"
_RANK = r"(?:(?:mpi|training|gpu|GPU|parallel|python|torch|ddp|distributed|PARADIGM|LAUNCHER|total) ){0,4}(?:rank|task)"
_LINKS = r"(?: (?:=|:|is|of|be|to|are|>|-|equal|set|should|must|at|count|number|exactly|as)){0,6}"
_MORE_THAN = re.compile(
    r" (?:(?<!no )(?<!not )(?:more|less|fewer|greater|larger|over and above)(?: \w+)? than|(?:with|have|of) only half|another|every|node|gpu|rank|version|python|cuda|number|top|figure|room|step|stage|phase|level|chapter|section|table|part|layer|epoch|seed|id|index|#) $"
)
_RANGE = r"(?:to|-|or|and/or|until|through|–)"


def read(line: Line) -> Iterator[Reading]:
    """Yield the counts of a request; a number that is open ("2 to 4 nodes") comes out as a complaint."""
    done: set[int] = set()
    for pattern, names in _PATTERNS:
        for found in line.find(pattern):
            readings = list(_readings(line, found, names, done))
            if not names:
                done.update(range(found.first, found.last + 1))
            yield from readings


def _readings(line: Line, found: Found, names: str, done: set[int]) -> Iterator[Reading]:
    """Yield a reading for every number of a match, unless an earlier pattern had it. *names*: by group, "a=nodes b=gpus"."""
    for part in names.split():
        group, _, what = part.partition("=")
        if not found.groups.get(group):
            continue
        first, last = line.group(found, group)
        if done.intersection(range(first, last + 1)) or not (what.endswith("plural") or _countable(line, first)):
            continue
        if what.endswith("!plural") and not line.words[found.first].text.endswith("s"):
            continue  # "node 4" is one node, the fourth
        done.update(range(first, last + 1))
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
    if re.search(r" (?:more|fewer|less) than $", line.before(at, 2)) and re.search(r" (?:not|no|never|'t|dont|cannot) ", line.before(at, 9)):
        return True
    return not _MORE_THAN.search(line.before(at, 3)) or line.words[at - 1].lex in (":", "=")


_N = r"(?P<n>\d+(?:\.\d+)?)"
_M = r"(?P<m>\d+)"
_PATTERNS: tuple[tuple[str, str], ...] = (
    # what only looks like a count: node-hours, GPU memory, graphs
    (r"\d+(?:\.\d+)? (?:- )?(?:node|gpu|GPU|cpu|core|su|service|credit) (?:- )?(?:hour|minute|day|unit)", ""),
    (r"(?:graph|mesh|tree|network|layer|mlp|hidden|circuit)(?: \w+)? (?:has|have|with|of|contains|:|=) (?:about |up to )?\d+ (?:\w+ )?node", ""),
    (r"\d+ (?:hidden|graph|leaf|tree|input|output|grid|mesh|neural) node", ""),
    (r"(?P<n>-\d+) (?:%s|%s)" % (_NODE, _GPU), "n=nodes!open"),
    # from 2 to 4 nodes, when it is a change
    (r"(?:increase|increased|increasing|raise|raised|change|changed|changing|go|going|move|moved|bump|bumped|scale|scaled|scaling|up|down|reduce|reduced)(?: \w+){0,5}? from \d+(?: node)? to %s(?: %snode)?" % (_N, _ADJECTIVES), "n=nodes"),
    (r"(?:set|change|increase|raise|reduce|limit|bump|scale) (?:the )?(?:number of )?node(?: number)? to %s" % _N, "n=nodes!named"),
    (r"(?:set|change|increase|raise|reduce|limit) (?:the )?(?:number of )?gpu(?: number)? (?:per node|on each node) to %s" % _N, "n=gpus_per_node!named"),
    # ranges and alternatives are no value
    (r"(?P<n>\d+) %s (?P<m>\d+) (?:- )?%s%s(?: \w+)?" % (_RANGE, _ADJECTIVES, _NODE), "n=nodes!open m=nodes!open"),
    (r"(?:between|from) (?P<n>\d+) (?:and|to) (?P<m>\d+) %s(?:%s|%s)" % (_KINDS, _NODE, _GPU), "n=nodes!open m=nodes!open"),
    (r"(?P<n>\d+) %s (?P<m>\d+) (?:- )?%s%s" % (_RANGE, _KINDS, _GPU), "n=gpus!open m=gpus!open"),
    (r"%s (?:node )?or (?P<m>\d+) (?:- )?%snode" % (_N, _ADJECTIVES), "n=nodes!open m=nodes!open"),
    # 4 instead of 8 nodes: the first number counts the same thing
    (r"%s (?:, )?(?:instead of|rather than|not|and not) (?:the )?\d+ %snode" % (_N, _ADJECTIVES), "n=nodes"),
    (r"%s (?:, )?(?:instead of|rather than|not|and not) (?:the )?\d+ %s%s" % (_N, _KINDS, _GPU), "n=" + GPUS),
    # nodes of GPUs
    (r"%s (?:- )?%snode (?:of|à) %s (?:x )?%s%s" % (_N, _ADJECTIVES, _M, _KINDS, _GPU), "n=nodes m=gpus_per_node"),
    # nodes x GPUs
    (r"%s (?:%snode )?(?:x|\*|times) %s (?:x )?%s%s(?: node)?" % (_N, _ADJECTIVES, _M, _KINDS, _GPU), "n=nodes m=gpus_per_node"),
    (r"%s node (?:x|\*|times) %s(?: (?:x )?%s%s)?" % (_N, _M, _KINDS, _GPU), "n=nodes m=gpus_per_node"),
    (r"%s (?:node )?(?:x )?(?:with |of )?%s (?:x |- )%s%s (?:- )?node" % (_N, _M, _KINDS, _GPU), "n=nodes m=gpus_per_node"),
    (r"(?:a|an|1) %s (?:x |- )?%s%s (?:- )?(?:compute )?node" % (_N, _KINDS, _GPU), "n=gpus_per_node"),
    (r"(?:each|per|every) %s (?:x |- )%s%s (?:- )?(?:compute )?node" % (_N, _KINDS, _GPU), "n=gpus_per_node"),
    (r"%s - %s%s (?:compute )?node" % (_N, _KINDS, _GPU), "n=gpus_per_node"),
    (r"(?P<n>\d+) gpu (?:- )?node", "n=nodes"),
    # GPUs of a node
    (r"%s (?:- )?%s%s(?: GPU)?(?: (?:in|on|of|from))?(?: (?:use|used|being used))? %s" % (_N, _KINDS, _GPU, _PER_NODE), "n=gpus_per_node"),
    (r"(?:each|every|per|all)(?: (?:of (?:the|them|these)|node|compute|gpu|GPU|:)){0,5} (?:with|having|has|have|using|use|gets|get|uses|:|=|with all|should have|should use|should get|must have) (?:all )?(?:exactly )?%s (?:- )?%s%s" % (_N, _KINDS, _GPU), "n=gpus_per_node"),
    (r"%s (?:per|/|a|each|on each|on every|in each) node%s %s" % (_GPU, _LINKS, _N), "n=gpus_per_node!named"),
    (r"(?:%s number|number of %s) per node%s %s" % (_GPU, _GPU, _LINKS, _N), "n=gpus_per_node!named"),
    (r"per node %s(?: number)?%s %s" % (_GPU, _LINKS, _N), "n=gpus_per_node!named"),
    # ranks of a node
    (r"%s (?:- )?%s (?:on |in |for )?%s" % (_N, _RANK, _PER_NODE), "n=ranks_per_node"),
    (r"%s (?:per|/|a|on each|on every) node%s %s" % (_RANK, _LINKS, _N), "n=ranks_per_node!named"),
    (r"ppn%s %s" % (_LINKS, _N), "n=ranks_per_node!named"),
    (r"%s ppn" % _N, "n=ranks_per_node"),
    (r"%s%s %s per node" % (_GPU, _LINKS, _N), "n=gpus_per_node!named"),
    (r"(?:each|every) node (?:should |must |will |to )?(?:with|run|start|have|use|get|runs|running|gets|starts|starting|has) %s %s" % (_N, _RANK), "n=ranks_per_node"),
    # nodes
    (r"(?:node (?:count|number)|number (?:of )?(?:\w+ )?node|num node|node)(?: \( s \))?(?: (?:=|:|is|of|>|-))+(?: exactly)? %s(?! %s)" % (_N, r"(?:x|tile)"), "n=nodes!named"),
    (r"number of (?:compute |gpu )?node%s %s" % (_LINKS, _N), "n=nodes!named"),
    (r"(?P<n>1) (?:- )?%snode" % _ADJECTIVES, "n=nodes"),
    (r"%s (?:- )?%s%s(?! (?:hour|version|type|failure|failures|classification|features|embeddings|embedding|name))" % (_N, _ADJECTIVES, _NODE), "n=nodes"),
    (r"(?<!\d )node %s(?= (?:[,;.)(]|node|gpu|walltime|account|time|partition|queue)|\s*$)" % _N, "n=nodes!plural"),
    (r"(?<!\d )gpu %s(?= (?:[,;.)(]|node|walltime|account|time|partition|queue)|\s*$)" % _N, "n=%s!plural" % GPUS),
    (r"(?:on|in|using|use|need|want|request|reserve|get|me|just|only|with|for|take) (?P<n>a|an) (?:(?:full|whole|entire|compute|GPU|gpu|SITE|SIZE) ){0,3}node(?! (?:failure|list|name|count|number|type))", "n=nodes!weak"),
    # GPUs of the job
    (r"%s (?:- )?%s%s(?: GPU)? (?:in (?:total|all|sum)|total|all together|combined|across the board|over all|across all(?: %s)?|over all(?: %s)?)" % (_N, _KINDS, _GPU, _NODE, _NODE), "n=gpus_total"),
    (r"(?:total (?:of )?(?:number of )?|in total (?:of )?|total:? )(?:exactly )?%s %s%s" % (_N, _KINDS, _GPU), "n=gpus_total"),
    (r"total (?:number (?:of )?)?%s(?: number)?%s %s" % (_GPU, _LINKS, _N), "n=gpus_total!named"),
    (r"%s (?:in )?total%s %s" % (_GPU, _LINKS, _N), "n=gpus_total!named"),
    (r"%s (?:- )?%s%s(?: GPU)? (?:, )?(?:spread |distributed |split |divided |scattered |evenly |balanced |all |sitting |located |placed ){0,5}(?:over|across|on|in|from|among|between|out over) (?:the |all |all of )?(?P<m>\d+) (?:- )?%snode" % (_N, _KINDS, _GPU, _ADJECTIVES), "n=gpus_total m=nodes"),
    (r"%s (?:x )?%s%s(?! (?:memory|hour))" % (_N, _KINDS, _GPU), "n=" + GPUS),
    (r"(?:number of |num )?(?:gpu|GPU gpu)(?: number| count)?(?: (?:=|:|>))+ %s(?! (?:gb|tile|SIZE))" % _N, "n=%s!named" % GPUS),
    (r"number of gpu%s %s" % (_LINKS, _N), "n=%s!named" % GPUS),
    # ranks of the job
    (r"world size%s %s" % (_LINKS, _N), "n=%s!named" % RANKS),
    (r"%s %s(?! (?:per|/|on each|a node|type|group|in the (?:dataset|benchmark)))" % (_N, _RANK), "n=" + RANKS),
    (r"(?:total |number of )?%s(?: number)?(?: (?:=|:))+ %s" % (_RANK, _N), "n=%s!named" % RANKS),
)  # fmt: skip
