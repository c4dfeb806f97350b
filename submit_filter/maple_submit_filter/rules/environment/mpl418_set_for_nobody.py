"""Variables of the libraries that are set for nobody."""

from __future__ import annotations

import re
from typing import Iterator

from ...bash.parser import parse
from ...bash.questions import simples
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
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
_NAMES = re.compile(rb"\b[A-Z][A-Z0-9_]+\b(?!=)")
_EXPORTS = re.compile(rb"(?:export|declare|typeset|env|setenv)\b[^\n;]*")
_BY_PBS = (b"OMP_NUM_THREADS",)  # set and exported by PBS itself, so a new value goes along (pbs_resources(7B))
_READS = re.compile(rb"(?m)(?:^|[;&|]|\bthen\b)[ \t]*(?:source|\.)[ \t]+(?!\S*(?:activate|conda\.sh|bashrc)\b)")
_ALL = re.compile(rb"\bset(?:[ \t]|\\\n)+(?:-\w*a\w*|-o[ \t]+allexport)\b|(?m:^#!.*[ \t]-\w*a)")


@rule("MPL418", "a variable that libraries read is set, and not exported")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Programs see what is exported; what is only assigned stays in the batch shell.

    Wrong: CUDA_DEVICE_MAX_CONNECTIONS=1, on a line of its own, and then srun python pretrain_gpt.py
    Right: export CUDA_DEVICE_MAX_CONNECTIONS=1
    Why:   no program is told of it, and the script itself does not read it either. One that a module or the submitting
           shell has exported before would be told its new value, and so Maple only reports it.
    """
    names = [name for name in plan.assigned if _OF_LIBRARIES.match(name) and name not in _BY_PBS]
    names = [name for name in names if name not in job.submission.environment and not _is_named_again(name, job.source)]
    if not names or _ALL.search(job.source):
        return
    alone = {
        assignment.span.start
        for command in simples(parse(job.source))
        for assignment in (command.assignments if not command.words else ())
    }
    for name in names:
        spans = plan.assigned[name]
        begun = any(step.span.start >= spans[-1].end and step.program for step in plan.steps)
        if begun and all(span.start in alone for span in spans) and not _READS.search(job.source, spans[0].end):
            says = "%s is set, but neither exported nor read here" % name.decode()
            edit = Edit(Span(spans[0].start, spans[0].start), b"export ", "MPL418")
            fix = Fix((edit,), Safety.ASK, "export %s" % name.decode())
            yield Finding("MPL418", says, spans[0], fixes=(fix,), help="export it, or leave it out")


def _is_named_again(name: bytes, source: bytes) -> bool:
    """Return whether a script names a variable elsewhere than where it assigns it: exports, reads or hands it on."""
    if any(word == name for word in _NAMES.findall(source)):
        return True
    return any(name + b"=" in command for command in _EXPORTS.findall(source))
