"""The backend and the hardware."""

from __future__ import annotations

from typing import Iterator

from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..limits import judged
from ..program_words import value_of
from ..site import Site
from . import rule


@rule("MPL507", "nccl where there is no NVIDIA or AMD GPU")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """NCCL (RCCL) moves data between NVIDIA (AMD) GPUs only.

    Wrong: python train.py --backend nccl, on the Intel GPUs of Stampede3
    Right: python train.py --backend xccl, or ccl with Intel's own extension
    Why:   init_process_group says that the distributed package has no NCCL built in. There is no fix: which backend is
           right depends on the PyTorch that you load.
    """
    kinds = plan.allocation.node_kinds
    if not judged(job) or not kinds or any(kind.gpu_vendor != "intel" or not kind.gpus for kind in kinds):
        return
    for step in plan.steps:
        if value_of(step.program, "backend")[1] == b"nccl" and not step.maybe:
            yield Finding("MPL507", "nccl, but the nodes it may run on have Intel GPUs", step.program_span or step.span,
                          True, help="xccl in PyTorch itself, ccl with Intel's extension")  # fmt: skip
