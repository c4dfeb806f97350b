"""Launches beside each other on one node that take the same GPUs."""

from __future__ import annotations

from typing import Iterator, Set, Tuple

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Group, LaunchPlan
from .. import rule

Device = Tuple[int, bytes]


@rule("MPL330", "two launches beside each other take the same GPUs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Each worker takes the GPU of its local rank among those that its launch sees.

    Wrong: torchrun --nproc-per-node=4 a.py & torchrun --nproc-per-node=4 --master-port=29501 b.py & on four GPUs
    Right: CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 a.py & CUDA_VISIBLE_DEVICES=2,3 torchrun ... b.py &
    Why:   both share the memory of a GPU, and one ends with: CUDA out of memory. Maple only reports it: small models
           may share on purpose.
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
                yield Finding("MPL330", says, step.span, help="give each GPUs of its own, or start one after the other")
                return
            taken |= devices


def _devices(group: Group) -> Set[Device]:
    """Return the devices that the workers of a world take, none where one is not known."""
    out: Set[Device] = set()
    for process in group.processes:
        local, gpus = process.local_rank, process.gpus
        if not process.binds_gpu or process.node is None or gpus is None or local is None or local >= len(gpus):
            return set()
        out.add((process.node, gpus[local]))
    return out
