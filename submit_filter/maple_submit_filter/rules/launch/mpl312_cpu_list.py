"""A list of CPUs for the ranks of a node."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Option, Step
from .. import rule

_LIST = re.compile(rb"(?:verbose,)?list:([0-9,:-]+)\Z")
_NUMBER = re.compile(rb"\d{1,6}")


@rule("MPL312", "the list of CPUs does not fit the ranks of a node")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """With `--cpu-bind list:` each rank of a node gets the CPUs between two colons, so there is an entry for each rank.

    Wrong: mpiexec -n 24 --ppn 12 --cpu-bind list:1-16:17-32:33-48:53-68:69-84:85-100 python train.py
    Right: mpiexec -n 24 --ppn 12 --cpu-bind list:1-8:9-16:... (12 lists, to 93-100)
    Why:   six lists for twelve ranks leave half of them without CPUs; a CPU that is not there binds nothing.
           Maple only reports it: what PALS makes of it was not run.
    """
    for step in plan.steps:
        option = step.links[0].option("cpu-bind") if step.links and step.links[0].name == "mpiexec" else None
        says = _wrong(option, step, plan) if option is not None else ""
        if option is not None and says:
            yield Finding("MPL312", says, option.value_span or option.span or step.span,
                          help="list one entry for each rank of a node")  # fmt: skip


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
