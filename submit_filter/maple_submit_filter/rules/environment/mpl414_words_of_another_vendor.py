"""Words that are about the GPUs of another maker."""

from __future__ import annotations

import re
from typing import Dict, Iterator, NamedTuple, Optional, Set, Tuple

from ...cures.places import moves, needs_of
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged
from ..program_text import place_of, value_of

CODE = "MPL414"
_CHOOSES = re.compile(
    rb"(?m)^[ \t]*(?:case|elif)\b|\bcommand -v\b|\bif\b[^\n]*(?:nvidia|rocm|xpu|cuda|HOST|SITE|CLUSTER)"
)


class _Words(NamedTuple):
    """Words of a script that only some *makers'* GPUs have a use for."""

    pattern: "re.Pattern[bytes]"
    makers: Tuple[str, ...]


def _lines(begin: bytes, names: bytes) -> "re.Pattern[bytes]":
    return re.compile(rb"(?m)^[ \t]*(?:[^#\n]*[;&][ \t]*)?%s[^#\n]*?(?<![\w./-])(%s)(?![\w-])" % (begin, names))


_LOADS = rb"(?:module[ \t]+(?:load|add|try-load)|ml[ \t])"
_RUNS = rb"[^#\n]*(?:apptainer|singularity)[ \t]"
_WORDS = (
    _Words(_lines(_LOADS, rb"(?:cuda|cudatoolkit|cudnn|nccl|nvhpc|craype-accel-nvidia\w+)(?:/[\w.-]+)?"), ("nvidia",)),
    _Words(_lines(_LOADS, rb"(?:rocm|rccl|craype-accel-amd-\w+)(?:/[\w.-]+)?"), ("amd",)),
    _Words(_lines(_RUNS, rb"--(?:nv|nvccli)"), ("nvidia", "amd")),  # on AMD's, MPL701 speaks of it
    _Words(_lines(_RUNS, rb"--rocm"), ("amd", "nvidia")),
    _Words(_lines(rb"export[ \t]", rb"(?:ROCR|HIP)_VISIBLE_DEVICES(?==)"), ("amd",)),
    _Words(
        _lines(rb"export[ \t]", rb"(?:ZE_AFFINITY_MASK|ZE_FLAT_DEVICE_HIERARCHY|ONEAPI_DEVICE_SELECTOR)(?==)"),
        ("intel",),
    ),
)
_NEEDLES = {
    "nvidia": (b"cuda", b"cudnn", b"nccl", b"nvhpc", b"accel-nvidia", b"--nv"),
    "amd": (b"rocm", b"rccl", b"accel-amd", b"ROCR_", b"HIP_"),
    "intel": (b"ZE_", b"ONEAPI_"),
}
# What a program is told: which GPUs know the word, and what is written for others.
_TOLD: Dict[bytes, Dict[bytes, Tuple[str, ...]]] = {
    b"device": {b"cuda": ("nvidia", "amd"), b"xpu": ("intel",)},
    b"backend": {b"xccl": ("intel",), b"ccl": ("intel",)},
    b"accelerator": {b"cuda": ("nvidia", "amd"), b"xpu": ("intel",)},
}
_INSTEAD = {b"cuda": b"xpu", b"xpu": b"cuda", b"xccl": b"nccl", b"ccl": b"nccl"}


@rule("MPL414", "words for the GPUs of another maker")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Modules, devices, backends and variables belong to the GPUs of one maker.

    Wrong: module load cuda, or train.py --device cuda, in the partition pvc of Stampede3, whose GPUs are Intel's
    Wrong: apptainer exec --nv on Intel's GPUs; train.py --backend xccl on Polaris, whose GPUs are NVIDIA's
    Right: train.py --device xpu --backend xccl on Intel's GPUs, cuda and nccl on NVIDIA's (and AMD's)
    Why:   the script was written for other nodes: the module is not there, the library is not found, or the program
           says that it has no such device. `maple check` shows the word, or the partition, that fits; at submission
           Maple only reports it.
    """
    kinds = [kind for kind in plan.allocation.node_kinds if kind.gpus]
    vendors = {kind.gpu_vendor for kind in kinds}
    if not judged(job, site) or len(vendors) != 1 or "" in vendors or len(kinds) != len(plan.allocation.node_kinds):
        return
    vendor = vendors.pop()
    yield from _told(plan, job, site, vendor)
    others = [word for maker, words in _NEEDLES.items() if maker != vendor for word in words]
    if not any(word in job.source for word in others) or _CHOOSES.search(job.source):
        return  # an expression is made where there is something to look for
    source = joined(job.source)
    seen: Set[Tuple[str, ...]] = set()
    for words in _WORDS:
        match = words.pattern.search(source) if vendor not in words.makers and words.makers not in seen else None
        if match is not None:
            seen.add(words.makers)
            name = match.group(1).decode("utf-8", "replace")
            yield Finding(CODE, "%s is for GPUs of %s, and the nodes have GPUs of %s" % (name, words.makers[0], vendor),
                          Span(*match.span(1)), fixes=_elsewhere(plan, job, site, words.makers),
                          help="take what belongs to these GPUs, or nodes with the others")  # fmt: skip


def _told(plan: LaunchPlan, job: Job, site: Site, vendor: str) -> Iterator[Finding]:
    """Yield the values of a program's options that name another maker's device or library."""
    for step in plan.steps:
        for option, values in _TOLD.items() if not step.maybe else ():
            named = value_of(step.program, option)
            word = named.value.partition(b":")[0] if named is not None else b""
            if named is None or vendor in values.get(word, (vendor,)):
                continue
            where = place_of(named, step)
            fix = _written(job.source, word, where)
            says = "%s %s, but the nodes it may run on have GPUs of %s" % (option.decode(), word.decode(), vendor)
            yield Finding(CODE, says, where or step.span,
                          fixes=(*fix, *_elsewhere(plan, job, site, values[word])),
                          help="say %s here" % _INSTEAD[word].decode())  # fmt: skip


def _written(source: bytes, word: bytes, where: Optional[Span]) -> Tuple[Fix, ...]:
    if where is None or source.count(word, where.start, where.end) != 1:
        return ()
    at = source.find(word, where.start, where.end)
    edit = Edit(Span(at, at + len(word)), _INSTEAD[word], CODE)
    return (Fix((edit,), Safety.ASK, "%s for these GPUs" % _INSTEAD[word].decode()),)


def _elsewhere(plan: LaunchPlan, job: Job, site: Site, makers: Tuple[str, ...]) -> Tuple[Fix, ...]:
    """Choose a partition of nodes with such GPUs, as many on each as the ranks want."""
    kinds = tuple(kind.name for kind in site.kinds if kind.gpus and kind.gpu_vendor in makers)
    ranks = max((group.ranks_per_node or 1 for step in plan.steps for group in step.groups), default=1)
    return (
        tuple(moves(job, site, needs_of(job, ranks), kinds, CODE))[:2]
        if kinds and job.submission.scheduler == "slurm"
        else ()
    )
