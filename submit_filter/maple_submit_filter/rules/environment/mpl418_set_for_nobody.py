"""Variables of the libraries that are set for nobody."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Set

from ...cures.exports import exported
from ...site.facts import Site
from ...types.edits import Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

# Families that libraries read from the environment: NCCL, CUDA, torch, OpenMP, MPI, libfabric, XLA and their like.
_OF_LIBRARIES = re.compile(
    rb"(?:NCCL|RCCL|CUDA|NVTE|TORCH|PYTORCH|TORCHELASTIC|GLOO|OMP|MKL|KMP|OPENBLAS|HF|TRANSFORMERS|TOKENIZERS|WANDB"
    rb"|XLA|JAX|TF|FI|MPICH|UCX|OMPI_MCA|I_MPI|HSA|ROCR|HIP|MIOPEN|ZE|CCL|SYCL|TRITON|VLLM|APPTAINERENV|SINGULARITYENV)"
    rb"_[A-Z0-9_]+\Z|PYTHON(?:UNBUFFERED|FAULTHANDLER|HASHSEED|NOUSERSITE)\Z"
)
_READS = re.compile(
    rb"(?m)(?:^|[;&|]|\bthen\b)[ \t]*(?:\w+=\S*[ \t]+)*(?:source|\.)[ \t]+(?!\S*(?:activate|conda\.sh|bashrc)\b)"
)
_BY_PBS = (b"OMP_NUM_THREADS",)  # set and exported by PBS itself, so a new value goes along (pbs_resources(7B))


@rule("MPL418", "a variable that libraries read is set, and not exported")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Programs see what is exported; what is only assigned stays in the batch shell.

    Wrong: CUDA_DEVICE_MAX_CONNECTIONS=1, on a line of its own, and then srun python pretrain_gpt.py
    Wrong: export -n NCCL_DEBUG, or declare NCCL_DEBUG=INFO
    Right: export CUDA_DEVICE_MAX_CONNECTIONS=1
    Why:   no program is told of it, and the script itself does not read it either. One that a module or the submitting
           shell has exported before would be told its new value, and so Maple only reports it.
    """
    unheard = {name: spans[0] for name, spans in plan.assigned.items() if _is_for_nobody(name, spans[0], plan, job)}
    read = _names_read(unheard, job.source) if unheard else set()
    for name, span in unheard.items():
        if name in read or _READS.search(job.source, job.source.rfind(b"\n", 0, span.start) + 1):
            continue
        says = "%s is set, but neither exported nor read here" % name.decode()
        edits = exported(plan, job.source, (name,), "MPL418")
        fixes = (Fix(tuple(edits), Safety.ASK, "export %s" % name.decode()),) if edits else ()
        yield Finding("MPL418", says, span, fixes=fixes, help="export it, or leave it out")


def _is_for_nobody(name: bytes, span: Span, plan: LaunchPlan, job: Job) -> bool:
    """Return whether a variable of libraries is set at *span*, and no step behind it is told of it."""
    if not _OF_LIBRARIES.match(name) or name in _BY_PBS or name in job.submission.environment:
        return False
    later = [step for step in plan.steps if step.span.start >= span.end and step.program]
    return bool(later) and all(name in step.withheld for step in later)


_DECLARES = re.compile(
    rb"(?m)\b(?:export|declare|typeset|readonly|local)\b(?:[ \t]+(?:[-+]\w+|[A-Za-z_]\w*(?![\w=])))+"
)
_NAMES = re.compile(rb"\b[A-Z][A-Z0-9_]+\b(?!=)")


def _names_read(names: Iterable[bytes], source: bytes) -> Set[bytes]:
    """Return those that a script names otherwise than to set or declare them: reads them or hands them on."""
    named, commands = set(_NAMES.findall(_DECLARES.sub(b"", source))), _ENV.findall(source)
    return {name for name in names if name in named or any(name + b"=" in command for command in commands)}


_ENV = re.compile(rb"\b(?:env|setenv)\b[^\n;]*")
