"""A count that is typed in several places is one decision: it is changed in all of them.

How many GPUs, tasks or workers a node has is said to the scheduler, to the launcher and to what starts the ranks; how
many nodes there are, and how many ranks in all, as well. Where a rule wants another number in one of these places, the
same number in the others was meant to be the same.
"""

from __future__ import annotations

import re
from typing import Iterator, Mapping, NamedTuple, Optional, Pattern, Sequence, Tuple

from ..launchers.registry import AGENTS
from ..plan.declared_worlds import NODES, WORKERS
from ..request.scheduler_words import is_pbs
from ..types.edits import Edit, Fix, Safety, Span
from ..types.findings import counted
from ..types.job import Job, Setting
from ..types.launch_plan import LaunchPlan, Link
from ..types.text import number
from .option_edits import Change, restate

_NODE, _NODES, _ALL = "of a node", "nodes", "all"
_WHOLE = re.compile(rb"\A(\d+)\Z")
PLACES: Mapping[str, Tuple[Tuple[str, Pattern[bytes]], ...]] = {
    "gpus-per-node": ((_NODE, re.compile(rb"(?:\A|:)(\d+)\Z")),),
    "gres": ((_NODE, re.compile(rb"\bgpu(?::[A-Za-z][\w.-]*)?:(\d+)")),),
    "ntasks-per-node": ((_NODE, _WHOLE),),
    "select": (
        (_NODES, re.compile(rb"\A(\d+)(?=:|\Z)")),
        (_NODE, re.compile(rb"\bngpus=(\d+)")),
        (_NODE, re.compile(rb"\bmpiprocs=(\d+)")),
    ),
    "nodes": (
        (_NODES, re.compile(rb"\A(\d+)(?=:|\Z)")),
        (_NODE, re.compile(rb"\bppn=(\d+)")),
        (_NODE, re.compile(rb"\bgpus=(\d+)")),
    ),
    "ngpus": ((_NODE, _WHOLE),),
    "mpiprocs": ((_NODE, _WHOLE),),
    "ntasks": ((_ALL, _WHOLE),),
    "gpus": ((_ALL, re.compile(rb"(?:\A|:)(\d+)\Z")),),
}
OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(NODES, _NODES), "nodes": _NODES,
    **dict.fromkeys(WORKERS, _NODE), "ntasks-per-node": _NODE, "ppn": _NODE, "npernode": _NODE, "gpus-per-node": _NODE,
    "num-processes": _ALL, "n": _ALL, "np": _ALL, "ntasks": _ALL, "num-proc": _ALL,
}  # fmt: skip
_USE = re.compile(rb"\"?\$\{?(\w+)\}?\"?")
_COUNTS = re.compile(
    rb"(?i)world_?size|(?:n|num_?)?(?:gpus?|procs?|ranks?|tasks|workers)(?:_?per_?node)?|nproc(?:_per_node)?|ppn"
)
Numbers = Mapping[str, Mapping[int, int]]  # of each kind, what a count is and what it should be
_SET = re.compile(rb"\w+=([\"']?)(\d{1,9})\1")
_LITERAL = re.compile(rb"(?<![\w.$])\d{1,9}(?![\w.])")
_SUM = re.compile(rb"\$\(\([^()]*\)\)")


class Counts(NamedTuple):
    """GPUs, tasks or workers of a node, nodes, and how many of the first in all: as they are, or as they should be."""

    of_node: int
    nodes: int
    total: int


def changed(
    was: Counts, becomes: Counts, plan: LaunchPlan, job: Job, why: str, only: Optional[Link] = None
) -> Optional[Change]:
    """Return the change of these counts wherever they are typed, None where one cannot be made, or none is typed.

    *only*: what is said to this launcher alone.
    """
    numbers = _numbers(was, becomes)
    made = Change()
    for setting in job.settings if only is None else ():
        value = _restated(setting, numbers)
        if value != setting.value:
            restated = restate(job, setting, value, why)
            if restated is None:
                return None
            made += restated
    links = [only] if only is not None else [link for step in plan.steps for link in step.links]
    edits = tuple(dict.fromkeys(_on_lines(numbers, (was, becomes), links, plan, job, why, only is None)))
    if only is None:
        edits = tuple(dict.fromkeys((*edits, *_assigned(numbers, (was, becomes), plan, job, why))))
    made += Change(edits)
    return made if made.edits or made.argv_edits else None


def on_fewer_nodes(plan: LaunchPlan, job: Job, nodes: int, most: int, why: str) -> Optional[Fix]:
    """Ask for so many nodes, and say as many to the launchers that were told the other number."""
    ranks = [group.ranks_per_node for step in plan.steps for group in step.groups if group.ranks_per_node]
    each = ranks[0] if ranks else plan.allocation.tasks_per_node or 1
    made = changed(Counts(each, nodes, each * nodes), Counts(each, most, each * most), plan, job, why)
    return made.fix(Safety.ASK, "%s, and the counts that follow" % counted(most, "node")) if made is not None else None


def _numbers(was: Counts, becomes: Counts) -> Numbers:
    """Return for each kind of count what it is and should be; one task a node, which starts the others, is a node."""
    of_node, nodes, total = zip(was, becomes)
    pairs = {_NODE: (of_node,), _NODES: (nodes,), _ALL: (total, nodes)}
    return {kind: {old: new for old, new in reversed(of) if old != new} for kind, of in pairs.items()}


def fewer_on_a_node(was: int, becomes: int, plan: LaunchPlan, job: Job, why: str, says: str) -> Iterator[Fix]:
    """Yield both readings of a count that no node has room for: fewer on each, or as many in all on more nodes."""
    nodes = plan.allocation.nodes or 1
    now, most = Counts(was, nodes, was * nodes), Counts(becomes, nodes, becomes * nodes)
    fewer = changed(now, most, plan, job, why) if becomes else None
    if fewer is None:
        return
    yield fewer.fix(Safety.ASK, says)
    wide = -(-now.total // becomes)
    asked = ("select" if is_pbs(job) else "nodes") in job.settings and plan.allocation.nodes is not None
    if asked and _grows(was, plan, now.total % becomes == 0):
        more = changed(now, Counts(becomes, wide, now.total), plan, job, why)
        if more is not None:
            yield more.fix(Safety.ASK, "the %d ranks on %s" % (now.total, counted(wide, "node")))


def _grows(count: int, plan: LaunchPlan, evenly: bool) -> bool:
    """Return whether so many ranks start on each node, and would on more: an agent alone on its node meets no other."""
    nodes = plan.allocation.nodes
    return any(
        (group.ranks_per_node, group.nodes) == (count, nodes)
        and (group.launcher not in AGENTS or (evenly and nodes != 1))
        for step in plan.steps
        for group in step.groups
    )


def _restated(setting: Setting, numbers: Numbers) -> bytes:
    """Return a setting's value with the numbers that it says as they should be; of several chunks nothing is known."""
    value = setting.value
    for kind, pattern in PLACES.get(setting.name, ()) if b"+" not in setting.value else ():
        match = pattern.search(value)
        if match is not None and int(match.group(1)) in numbers[kind]:
            value = value[: match.start(1)] + b"%d" % numbers[kind][int(match.group(1))] + value[match.end(1) :]
    return value


def _on_lines(
    numbers: Numbers,
    counts: Tuple[Counts, Counts],
    links: Sequence[Link],
    plan: LaunchPlan,
    job: Job,
    why: str,
    only_origin: bool,
) -> Iterator[Edit]:
    """Yield the edits of launch lines: of a sum only what stands in it as a number, for the rest follows."""
    for option in (option for link in links for option in link.options):
        kind, count = OPTIONS.get(option.name, ""), number(option.value)
        if count not in numbers.get(kind, {}) or option.value_span is None:
            continue
        if only_origin and _follows(option.value_span, plan, job.source):
            continue
        total = _sum(option.value_span, plan, job.source) if kind == _ALL else None
        if total is None and option.value is not None and option.value.span() is not None:
            yield Edit(option.value_span, b"%d" % numbers[kind][count or 0], why)
        elif total is not None:
            yield from _within(total, counts, job.source, why)


def _follows(span: Span, plan: LaunchPlan, source: bytes) -> bool:
    """Return whether a value is a variable that is changed where it is set, as its name counts."""
    name = _USE.fullmatch(source, span.start, span.end)
    places = plan.assigned.get(name.group(1), ()) if name is not None and _COUNTS.fullmatch(name.group(1)) else ()
    return len(places) == 1 and _SET.fullmatch(source, *places[0]) is not None


def _within(total: Span, counts: Tuple[Counts, Counts], source: bytes, why: str) -> Iterator[Edit]:
    literals = [Span(*match.span()) for match in _LITERAL.finditer(source, *total)]
    for old, new in zip(*counts):
        places = [span for span in literals if int(source[span.start : span.end]) == old != new]
        if len(places) == 1:
            yield Edit(places[0], b"%d" % new, why)


def _assigned(numbers: Numbers, counts: Tuple[Counts, Counts], plan: LaunchPlan, job: Job, why: str) -> Iterator[Edit]:
    """Yield the edits of variables that the program reads, by their names: `WORLD_SIZE=16`, `NGPUS=8`."""
    for name, spans in plan.assigned.items():
        for span in spans if _COUNTS.fullmatch(name) else ():
            literal = _SET.fullmatch(job.source, *span)
            total = _sum(span, plan, job.source)
            known = {**numbers[_NODE], **numbers[_ALL]}
            if literal is not None and int(literal.group(2)) in known:
                yield Edit(Span(*literal.span(2)), b"%d" % known[int(literal.group(2))], why)
            elif total is not None:
                yield from _within(total, counts, job.source, why)


def _sum(at: Span, plan: LaunchPlan, source: bytes) -> Optional[Span]:
    """Return where the sum stands that a value comes from, None where it is no sum."""
    span: Optional[Span] = at
    for _ in range(3):
        if span is None:
            return None
        match = _SUM.search(source, span.start, span.end)
        if match is not None:
            return Span(*match.span())
        name = _USE.fullmatch(source, span.start, span.end) or _USE.fullmatch(
            source, source.find(b"=", span.start, span.end) + 1, span.end
        )
        places = plan.assigned.get(name.group(1), ()) if name is not None else ()
        span = places[0] if len(places) == 1 else None
    return None
