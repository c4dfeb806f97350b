"""Launches beside each other on one node that take the same GPUs."""

from __future__ import annotations

import re
from typing import Iterator, Set, Tuple

from ...cures.launch_edits import Edits, change
from ...launchers.devices import mask_of
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Group, LaunchPlan, Step
from ...types.text import number
from .. import rule

CODE = "MPL330"
Device = Tuple[int, bytes]
_BEHIND = re.compile(rb"(?:[^&|;#\n]|[<>]&|&>)*?([ \t]*&)[ \t]*$", re.MULTILINE)


@rule("MPL330", "two launches beside each other take the same GPUs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Each worker takes the GPU of its local rank among those that its launch sees.

    Wrong: torchrun --nproc-per-node=4 a.py & torchrun --nproc-per-node=4 --master-port=29501 b.py & on four GPUs
    Right: CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 a.py & CUDA_VISIBLE_DEVICES=2,3 torchrun ... b.py &
    Why:   both share the memory of a GPU, and one ends with: CUDA out of memory. Maple only shows the change: small
           models may share on purpose.
    """
    if b"cuda-mps" in job.source or b"CUDA_MPS" in job.source:
        return
    taken: Set[Tuple[int, Device]] = set()
    for step in plan.steps:
        for group in step.groups if step.background and not step.maybe else ():  # one for each world of a phase
            devices = {(step.phase, device) for device in _devices(group)}
            both = sorted(devices & taken)
            if both:
                says = "GPU %s is taken by two launches beside each other" % both[0][1][1].decode("ascii", "replace")
                yield Finding("MPL330", says, step.span, fixes=tuple(_apart(step, plan, job.source)),
                              help="give each GPUs of its own, or start one after the other")  # fmt: skip
                return
            taken |= devices


def _apart(step: Step, plan: LaunchPlan, source: bytes) -> Iterator[Fix]:
    """Yield ways to keep two launches apart: other nodes under ibrun, other devices, or one after the other."""
    beside = [launch for launch in plan.steps if launch.background and launch.phase == step.phase]
    if len(beside) != 2:
        return
    first, second = beside
    moved = _behind(first, second, plan)
    if moved:
        yield Fix(tuple(moved), Safety.ASK, "on the nodes behind those of the first")
    yield from _halves(first, second, plan)
    end = source.find(b"\n", first.span.end)
    mark = _BEHIND.match(source, first.span.end, end if end >= 0 else len(source))
    if mark is not None:
        edit = Edit(Span(mark.start(1), mark.end(1)), b"", CODE)
        yield Fix((edit,), Safety.ASK, "start one after the other")


def _behind(first: Step, second: Step, plan: LaunchPlan) -> Edits:
    """Have ibrun begin behind the tasks of the first launch, where the job has room for both."""
    offset, tasks = second.links[0].option("offset", "o") if second.links else None, first.tasks
    if offset is None or not tasks or tasks + (second.tasks or tasks) > (plan.allocation.tasks or 0):
        return None
    return change(offset, b"%d" % ((number(offset.value) or 0) + tasks), CODE)


def _halves(first: Step, second: Step, plan: LaunchPlan) -> Iterator[Fix]:
    """Yield devices of their own for two launches of one node that fit beside each other."""
    mask = mask_of(plan.allocation.node_kinds)
    sizes = [len(_devices(group)) for group in (*first.groups, *second.groups)]
    if mask in plan.assigned or plan.allocation.nodes != 1 or len(sizes) != 2 or not all(sizes):
        return
    if sum(sizes) > (plan.allocation.gpus_per_node or 0):
        return
    lists = [range(sizes[0]), range(sizes[0], sum(sizes))]
    words = [mask + b"=" + b",".join(b"%d" % device for device in devices) + b" " for devices in lists]
    starts = [launch.span.start for launch in (first, second)]
    edits = tuple(Edit(Span(start, start), word, CODE) for start, word in zip(starts, words))
    yield Fix(edits, Safety.ASK, "%sand %sfor the second" % (words[0].decode(), words[1].decode()))


def _devices(group: Group) -> Set[Device]:
    """Return the devices that the workers of a world take, none where one is not known."""
    out: Set[Device] = set()
    for process in group.processes:
        local, gpus = process.local_rank, process.gpus
        if not process.binds_gpu or process.node is None or gpus is None or local is None or local >= len(gpus):
            return set()
        out.add((process.node, gpus[local]))
    return out
