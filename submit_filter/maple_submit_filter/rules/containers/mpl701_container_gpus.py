"""GPUs inside a container."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import judged

_FLAG = {"nvidia": ("nv", "nvccli"), "amd": ("rocm",)}
_RUNNERS = (b"apptainer", b"singularity")
_SET = (b"APPTAINER_NV", b"SINGULARITY_NV", b"APPTAINER_NVCCLI", b"APPTAINER_ROCM", b"SINGULARITY_ROCM")


@rule("MPL701", "a container without access to the GPUs")
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
        if _is_given_none(step, job.source, wanted):
            yield Finding("MPL701", "the container cannot use the GPUs of the node", step.span,
                          help="add --%s after exec" % wanted[0])  # fmt: skip
            return


def _is_given_none(step: Step, source: bytes, wanted: Tuple[str, ...]) -> bool:
    """Return whether ranks that take GPUs start in a container whose whole line stands there to be read."""
    inner = step.links[-1] if step.links else None
    if inner is None or inner.name_span is None or not any(one.binds_gpu for g in step.groups for one in g.processes):
        return False
    line = source[step.span.start : inner.name_span.start]
    words = line.split()
    runs = [word.rpartition(b"/")[2] in _RUNNERS and verb in (b"exec", b"run") for word, verb in zip(words, words[1:])]
    if True not in runs or any(b"$" in word or b"`" in word for word in words[runs.index(True) :]):
        return False
    return not any(b"--" + one.encode() in line for one in (*wanted, "device"))
