"""A list of CPUs for the ranks of a node."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...cures.launch_edits import change
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link, Option, Step
from .. import rule

_LIST = re.compile(rb"(?:verbose,)?list:([0-9,:-]+)\Z")
_NUMBER = re.compile(rb"\d{1,6}")


@rule("MPL312", "the CPUs of the launch line do not fit the ranks of a node")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """With `--cpu-bind list:` each rank of a node gets the CPUs between two colons, so there is an entry for each rank.

    Wrong: mpiexec -n 24 --ppn 12 --cpu-bind list:1-16:17-32:33-48:53-68:69-84:85-100 python train.py
    Right: mpiexec -n 24 --ppn 12 --cpu-bind list:1-8:9-16:... (12 lists, to 93-100)
    Wrong: mpiexec --ppn 12 --cpu-bind depth --depth 104, on nodes with 104 cores
    Why:   six lists for twelve ranks leave half of them without CPUs; a CPU that is not there binds nothing.
           Maple only reports it: what PALS makes of it was not run.
    """
    for step in plan.steps:
        link = step.links[0] if step.links and step.links[0].name == "mpiexec" else None
        depth = _too_deep(link, step, plan) if link is not None else None
        if depth is not None:
            yield depth
        option = link.option("cpu-bind") if link is not None else None
        says = _wrong(option, step, plan) if option is not None else ""
        if option is not None and says:
            yield Finding("MPL312", says, option.value_span or option.span or step.span,
                          help="list one entry for each rank of a node")  # fmt: skip


def _too_deep(link: Link, step: Step, plan: LaunchPlan) -> Optional[Finding]:
    """Return that --depth gives the ranks of a node more CPUs together than it has."""
    option, most, ranks = link.option("depth", "d"), _cpus(plan), step.tasks_per_node
    depth = option.value.raw if option is not None and option.value is not None else b""
    if option is None or not depth.isdigit() or not most or not ranks or int(depth) * ranks <= most:
        return None
    cores = min(kind.cores or most for kind in plan.allocation.node_kinds)
    edits = change(option, b"%d" % (cores // ranks), "MPL312") if cores >= ranks else None
    fixes = (Fix(tuple(edits), Safety.ASK, "--depth %d" % (cores // ranks)),) if edits else ()
    says = "%d ranks on a node with %d CPUs each, but the nodes it may run on have %d" % (ranks, int(depth), most)
    return Finding("MPL312", says, option.value_span or option.span or step.span, fixes=fixes,
                   help="--depth is the CPUs of one rank, not of the node")  # fmt: skip


def _wrong(option: Option, step: Step, plan: LaunchPlan) -> str:
    match = _LIST.match(option.value.raw) if option.value is not None else None
    if match is None:
        return ""
    entries, ranks = match.group(1).strip(b":").split(b":"), step.tasks_per_node
    if ranks is not None and 1 < len(entries) < ranks:  # `list:0,8,16,24` is written for one CPU each as well
        return "%d entries for %d ranks on a node" % (len(entries), ranks)
    most, highest = _cpus(plan), max(int(number) for number in _NUMBER.findall(match.group(1)))
    if most is not None and highest >= most:
        return "CPU %d, but the nodes it may run on have %d, counted from 0" % (highest, most)
    return ""


def _cpus(plan: LaunchPlan) -> Optional[int]:
    """Return how many hardware threads the largest of the nodes has, None where one is not known."""
    counts: Tuple[Optional[int], ...] = tuple(
        kind.cores * kind.threads_per_core if kind.cores and kind.threads_per_core else None
        for kind in plan.allocation.node_kinds
    )
    known = [count for count in counts if count is not None]
    return max(known) if known and len(known) == len(counts) else None
