"""The backend and the hardware."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...cures.places import moves, needs_of
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged
from ..program_text import place_of, programs, value_of

_CUDA = re.compile(rb"""torch\.cuda\.set_device\(|init_process_group\(\s*(?:backend\s*=\s*)?['"]nccl['"]""")
_OTHERWISE = (b"xpu", b"is_available", b"xccl", b"accelerator")


@rule("MPL507", "nccl where there is no NVIDIA or AMD GPU")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """NCCL (RCCL) moves data between NVIDIA (AMD) GPUs only.

    Wrong: python train.py --backend nccl, on the Intel GPUs of Stampede3
    Wrong: python train.py --backend nccl, in the partition gg of Vista, whose nodes have no GPU
    Right: python train.py --backend xccl, or ccl with Intel's own extension
    Why:   init_process_group says that the distributed package has no NCCL built in. Maple suggests xccl and does
           not apply it: which backend is right depends on the PyTorch that you load.
    """
    kinds = plan.allocation.node_kinds
    if judged(job, site) and kinds and all(kind.gpus == 0 for kind in kinds):
        yield from _without_gpus(plan, job, site)
    if not judged(job, site) or not kinds or any(kind.gpu_vendor != "intel" or not kind.gpus for kind in kinds):
        return
    for step in plan.steps:
        backend = value_of(step.program, b"backend")
        if backend is not None and backend.value == b"nccl" and not step.maybe:
            where = place_of(backend, step)
            fix = _xccl(job.source, where) if where is not None else None
            yield Finding("MPL507", "backend nccl, but the nodes it may run on have Intel GPUs", where or step.span,
                          True, fixes=(fix,) if fix is not None else (),
                          help="use xccl (PyTorch), or ccl with Intel's extension")  # fmt: skip

    for program in programs(plan, job):
        if _CUDA.search(program.text) and not any(word in program.text for word in _OTHERWISE):
            says = "%s wants CUDA, but the nodes it may run on have Intel GPUs" % program.name
            yield Finding("MPL507", says, program.step.program_span or program.step.span,
                          help="use device xpu and the backend xccl, or a partition with NVIDIA GPUs")  # fmt: skip


def _without_gpus(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that NCCL is to be used on nodes without any GPU."""
    for step in plan.steps:
        backend = value_of(step.program, b"backend")
        if backend is not None and backend.value == b"nccl" and not step.maybe and step.groups:
            with_gpus = tuple(kind.name for kind in site.kinds if kind.gpus)
            ranks = step.groups[0].ranks_per_node
            fixes = tuple(moves(job, site, needs_of(job, ranks), with_gpus, "MPL507"))[:3]
            yield Finding("MPL507", "backend nccl, but the nodes it may run on have no GPU",
                          place_of(backend, step) or step.span, True, fixes=fixes,
                          help="choose a partition with GPUs, or the backend gloo")  # fmt: skip


def _xccl(source: bytes, where: Span) -> Optional[Fix]:
    says = "--backend xccl, PyTorch's own for these GPUs"
    if re.fullmatch(rb"\"?\$\{?\w+\}?\"?", source[where.start : where.end]):
        return Fix((Edit(where, b"xccl", "MPL507"),), Safety.ASK, says)  # where it is set, `cures.origins` finds out
    at = source.find(b"nccl", where.start, where.end)
    if at < 0 or source.count(b"nccl", where.start, where.end) != 1:
        return None
    return Fix((Edit(Span(at, at + 4), b"xccl", "MPL507"),), Safety.ASK, says)
