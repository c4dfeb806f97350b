"""GPUs inside a container."""

from __future__ import annotations

from typing import Iterator, Optional

from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan, Link, Step
from ..limits import judged
from ..site import Site
from . import rule

_FLAG = {"nvidia": ("nv", "nvccli"), "amd": ("rocm",)}
_SET = (b"APPTAINER_NV", b"SINGULARITY_NV", b"APPTAINER_NVCCLI", b"APPTAINER_ROCM", b"SINGULARITY_ROCM")


@rule("MPL701", "a container that is not given the GPUs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """apptainer (singularity) gives a container the GPUs of its host only when it is told to.

    Wrong: srun apptainer exec image.sif torchrun --nproc-per-node=4 train.py, on NVIDIA GPUs
    Right: srun apptainer exec --nv image.sif torchrun --nproc-per-node=4 train.py
    Why:   inside no driver is found and the program says that CUDA is not available. It is only said: a site may have
           made it the default.
    """
    vendors = {kind.gpu_vendor for kind in plan.allocation.node_kinds if kind.gpus != 0}
    wanted = _FLAG.get(next(iter(vendors))) if len(vendors) == 1 else None
    if not judged(job) or wanted is None or any(name in job.source for name in _SET):
        return
    for step in plan.steps:
        link = _container(step)
        if link is None or link.open or link.option(*wanted) is not None or link.option("device") is not None:
            continue
        if any(one.binds_gpu for group in step.groups for one in group.processes):
            yield Finding("MPL701", "the container does not get the GPUs of the node", link.name_span or step.span,
                          help="%s exec --%s" % (link.argv[0].raw.decode("utf-8", "replace"), wanted[0]))  # fmt: skip
            return


def _container(step: Step) -> Optional[Link]:
    return next((link for link in step.links if link.name == "apptainer"), None)
