"""Where a script writes the address and the port at which its ranks meet, and what that is by its words alone.

The plan knows what a launcher or a rank was given; here stands what is left where nobody can tell what reads it: in a
container, behind a file that is sourced, beside a program that finds its ranks by itself.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, NamedTuple

from ...types.edits import Span
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step

LOCAL, LAST, LIST = "local", "last", "list"
_DEEPEST = 3  # names of names
_ADDRESS = re.compile(
    rb"(?:master[-_]addr(?:ess)?|rdzv[-_]endpoint|main[-_]process[-_]ip|coordinator(?:[-_]address)?)[= ]"
    rb"[\"']?\$\{?(\w+)"
)
_PORT = re.compile(
    rb"(?:(?:master|main[-_]process|coordinator)[-_]port[= ]|rdzv[-_]endpoint[= ][^\s:]*:)[\"']?\$\{?(\w+)"
)
_READ_BY = {"address": _ADDRESS, "port": _PORT}
_BY_TORCH = {"address": b"MASTER_ADDR", "port": b"MASTER_PORT"}
_SET_ANEW = re.compile(rb"--container-|prolog", re.IGNORECASE)  # a hook of an image, what runs in front of each task
_NAME = re.compile(rb"\$\{?([A-Za-z_]\w*)\}?\Z|\$\{([A-Za-z_]\w*):?-[^}]*\}\Z")
_DEFAULT = re.compile(rb"\$\{\w+:?[-=](.*)\}\Z", re.DOTALL)
_LOCALLY = re.compile(rb"localhost\Z|127(?:\.\d+){3}\Z|::1\Z|0\.0\.0\.0\Z")
_NODES = re.compile(rb"scontrol[ \t]+show[ \t]+host|PBS_NODEFILE|(?:SLURM|PALS)\w*NODE_?LIST")
_WHOLE = re.compile(
    rb"\$\{?(?:SLURM_(?:JOB_)?NODELIST|PBS_NODEFILE)\}?\Z|\$\((?:cat[ \t]+[\"']?\$\{?PBS_NODEFILE\}?[\"']?"
    rb"|scontrol[ \t]+show[ \t]+hostnames?(?:[ \t]+[\"']?\$\{?\w+\}?[\"']?)?)[ \t]*\)\Z"
)
_PICKS_FIRST = re.compile(rb"\bhead[ \t]+-(?:n[ \t]*)?1\b|sed[ \t]+(?:-n[ \t]+)?['\"]?1[pq]|NR[ \t]*==[ \t]*1\b")
_PICKS_OTHER = re.compile(
    rb"\btail[ \t]+-(?:n[ \t]*)?1\b|\bsed[ \t]+-n[ \t]+['\"]?(?:\$|[2-9])[ \t]*p|\bsed[ \t]+['\"]\$!d"
    rb"|\bawk[ \t]+['\"](?:END|NR[ \t]*==[ \t]*[2-9])|\bsort[ \t]+(?:-\w+[ \t]+)*-\w*r\w*\b|\btac\b"
)


class Written(NamedTuple):
    """A variable, and where and how its value is written."""

    name: bytes
    span: Span
    value: bytes


def written(plan: LaunchPlan, source: bytes, kind: str) -> Iterator[Written]:
    """Yield where the "address" or the "port" at which ranks meet is written, each place once."""
    seen: Dict[Span, None] = {}
    names = {_BY_TORCH[kind], *_READ_BY[kind].findall(source)}
    for name, spans in plan.assigned.items():
        for span in spans if name in names else ():
            found = _followed(name, span, plan, source)
            if found.span not in seen:
                seen[found.span] = None
                yield found


def _followed(name: bytes, span: Span, plan: LaunchPlan, source: bytes) -> Written:
    """Return where a value is written, through names that are set once."""
    for _ in range(_DEEPEST):
        value = source[span.start : span.end].partition(b"=")[2]
        again = _NAME.match(value.strip(b"\"'"))
        spans = plan.assigned.get((again.group(1) or again.group(2)) if again is not None else b"", ())
        if len(spans) != 1 or spans[0] == span:
            break
        span = spans[0]
    start = span.start + source[span.start : span.end].find(b"=") + 1
    return Written(name, Span(start, span.end), source[start : span.end])


def which_node(value: bytes) -> str:
    """Return what an address is: LOCAL, LAST for a node that is not the first, LIST for all, "" for what is not known.

    A default (`${MASTER_ADDR:-localhost}`) is what it is for a script that is sent as it stands.
    """
    default = _DEFAULT.match(value.strip(b"\"'"))
    value = (default.group(1) if default is not None else value).strip(b"\"'")
    if _LOCALLY.match(value):
        return LOCAL
    if _WHOLE.match(value):
        return LIST
    picks = _PICKS_OTHER.search(value) if _NODES.search(value) else None
    first = _PICKS_FIRST.search(value)
    if picks is None or (first is not None and first.start() < picks.start()):
        return ""
    return LAST


def on_several_nodes(plan: LaunchPlan, job: Job) -> bool:
    """Return whether the job has several nodes, every launch line may reach more than its first, and no hook speaks."""
    steps = [step for step in plan.steps if step.links and not _SET_ANEW.search(job.source)]
    return (plan.allocation.nodes or 1) > 1 and bool(steps) and all(_reaches_more(step) for step in steps)


def _reaches_more(step: Step) -> bool:
    link = step.links[0]
    if link.option("environment") is not None:
        return False  # as a hook of an image, its file may set the address anew
    if link.name.startswith("mpi") and step.nodes is None:
        return False  # one that does not know the scheduler starts all on the first node
    return (step.nodes or 2) > 1
