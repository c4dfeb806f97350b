"""Each number that the script decides, as another number of the job: what a search over its decisions tries.

A rule's own cures come first. Where it has none, or none of them holds, one decision may still make the plan whole: a
count of a launcher or of the request that is changed to one which the job has elsewhere, or chunks that are scattered.
Whether it does is not decided here: the plan is made again and must hold.
"""

from __future__ import annotations

from typing import Iterator, List

from ..types.edits import Edit, Fix, Safety
from ..types.job import Job, Setting
from ..types.launch_plan import LaunchPlan
from ..types.text import number
from .counts import OPTIONS, PLACES
from .option_edits import restate

MOST = 40  # tries, each of which plays the script once


def decisions(plan: LaunchPlan, job: Job, why: str) -> Iterator[Fix]:
    """Yield a change of one decision each, those of launch lines first; at most so many as are tried."""
    counts = _counts(plan)
    every = (*_of_lines(plan, counts, why), *_of_request(job, counts, why))
    yield from dict.fromkeys(every[:MOST])


def _counts(plan: LaunchPlan) -> List[int]:
    """Return the numbers of nodes, tasks and GPUs that the job and its lines have, and the ranks that fill it."""
    given = plan.allocation
    gpus = given.gpus_per_node or max((kind.gpus or 0 for kind in given.node_kinds), default=0)
    counts = [given.nodes, given.tasks, given.tasks_per_node, gpus, (given.nodes or 0) * gpus]
    for step in plan.steps:
        counts += [step.nodes, step.tasks, step.tasks_per_node, step.workers_per_task]
        counts += [group.declared for group in step.groups]
    return [count for count in dict.fromkeys((*counts, 1)) if count]


def _of_lines(plan: LaunchPlan, counts: List[int], why: str) -> Iterator[Fix]:
    for option in (option for step in plan.steps for link in step.links for option in link.options):
        was = number(option.value)
        if option.name not in OPTIONS or was is None or option.value_span is None:
            continue
        for count in counts:
            if count != was:
                edit = Edit(option.value_span, b"%d" % count, why)
                yield Fix((edit,), Safety.ASK, "%s %d" % (option.spelling.decode("ascii", "replace"), count))


def _of_request(job: Job, counts: List[int], why: str) -> Iterator[Fix]:
    for setting in job.settings:
        for value in _values(setting, counts):
            made = restate(job, setting, value, why)
            if made is not None:
                yield made.fix(Safety.ASK, "%s=%s" % (setting.name, value.decode("utf-8", "replace")))


def _values(setting: Setting, counts: List[int]) -> Iterator[bytes]:
    """Yield what a setting may say in place of one of its numbers; the place of chunks may be scattered."""
    if setting.name == "place" and b"pack" in setting.value.split(b":"):
        yield setting.value.replace(b"pack", b"scatter")
    for _, pattern in PLACES.get(setting.name, ()) if b"+" not in setting.value else ():
        match = pattern.search(setting.value)
        if match is not None:
            head, tail = setting.value[: match.start(1)], setting.value[match.end(1) :]
            yield from (head + b"%d" % count + tail for count in counts if count != int(match.group(1)))
