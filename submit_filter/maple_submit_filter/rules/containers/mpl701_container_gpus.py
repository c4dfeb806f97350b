"""GPUs inside a container."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Set, Tuple

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import judged
from ..program_text import is_rank

_FLAG = {"nvidia": ("nv", "nvccli"), "amd": ("rocm",)}
_LETS = {"apptainer": ("nv", "nvccli", "rocm", "device"), "podman-hpc run": ("gpu", "gpus", "device")}
_BINDS_ALONE = ("nv", "gpu")  # of NVIDIA's driver an image has nothing; a ROCm image brings its own libraries
_RUNNERS = (b"apptainer", b"singularity")
_NAME = re.compile(rb"\$\{?([A-Za-z_]\w*)")
_FLAGS = re.compile(rb"(?<!\S)--(\w+)(?!\S)")
_WITH_VALUE = frozenset(b"--bind -B --pwd --cwd --env --env-file --home -H --workdir -W --overlay -o --mount".split())
_SET = (b"APPTAINER_NV", b"SINGULARITY_NV", b"APPTAINER_NVCCLI", b"APPTAINER_ROCM", b"SINGULARITY_ROCM")
# The driver comes another way, or in another line.
_BY_HAND = re.compile(
    rb"libcuda|libnvidia|/dev/nvidia|/nvidia-smi|nvidia\.com/gpu|/\.singularity\.d/libs"
    rb"|(?<![\w-])--(?:nv|nvccli|gpu)(?![\w-])"
)
_PYTHON = re.compile(rb"(?:\S*/)?python")
_GPU_WORD = re.compile(rb"(?:\A|=)(?:nccl|cuda(?::\d+)?|gpu)\Z")
_CPU_WORD = re.compile(rb"(?:\A|=)(?:gloo|mpi|cpu)\Z|(?:no|disable)[-_](?:cuda|gpu)")


@rule("MPL701", "a container without access to the GPUs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """apptainer (singularity) gives a container the GPUs of its host only with --nv or --rocm.

    Wrong: srun apptainer exec image.sif torchrun --nproc-per-node=4 train.py, on NVIDIA GPUs
    Wrong: srun podman-hpc run --rm image torchrun --nproc-per-node=4 train.py, without --gpu
    Wrong: srun apptainer exec --nv image.sif python train.py, on AMD GPUs
    Right: srun apptainer exec --nv image.sif torchrun --nproc-per-node=4 train.py
    Why:   inside no driver is found and the program says that CUDA is not available. Maple adds --nv unasked: where a
           site has made it the default, or nodes have other GPUs, it changes nothing. --rocm is only offered: an image
           may bring what it needs.
    """
    yield from _by_plan(plan, job)
    wanted = _wanted(plan)
    if not judged(job, site) or wanted is None or any(name in job.source for name in _SET):
        return
    yield from _of_other_maker(job, wanted)
    for step in plan.steps:
        if _is_given_none(step, plan, job, wanted):
            fix = _given(step, job, wanted[0])
            yield Finding("MPL701", "the container cannot use the GPUs of the node", step.span,
                          fixes=(fix,) if fix is not None else (), help="add --%s after exec" % wanted[0])  # fmt: skip
            return


def _by_plan(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that ranks that take GPUs run in a container that has none, however the line came about."""
    if not any(step.images for step in plan.steps):
        return
    if any(name in job.source for name in _SET) or _stands_there(plan, job) or _vendors(plan) == {"intel"}:
        return  # the device files of Intel's GPUs come with /dev
    for step in plan.steps:
        takes = any(process.binds_gpu for group in step.groups for process in group.processes)
        for runner, options in step.images if takes and not step.maybe else ():
            lets = _LETS.get(runner, ())
            if lets and not any(name in options for name in (*lets, "...")):
                fixes = _let_in(runner, lets[0], step, job)
                yield Finding("MPL701", "the container cannot use the GPUs of the node", step.span, fixes=fixes,
                              help=_help(runner, lets[0], job))  # fmt: skip
                return
    yield from _by_words(plan, job)


def _by_words(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that a program which is told of GPUs, or of which a rank runs for each, is in a container without them."""
    if _vendors(plan) - {"nvidia"} or not _has_gpus(plan) or _BY_HAND.search(job.source):
        return
    for step in plan.steps:
        for runner, options in step.images if not step.maybe and (_is_for_gpus(step, plan) or _is_all(plan)) else ():
            lets = _LETS.get(runner, ())
            if lets and not any(name in options for name in (*lets, "...")):
                fixes = tuple(fix._replace(harmless=False) for fix in _let_in(runner, lets[0], step, job))
                yield Finding("MPL701", "the container cannot use the GPUs of the node", step.span, fixes=fixes,
                              help=_help(runner, lets[0], job))  # fmt: skip
                return


def _help(runner: str, flag: str, job: Job) -> str:
    plain = runner.split()[0].encode() not in job.source and runner not in ("apptainer", "singularity")
    return "add --device nvidia.com/gpu=all after run" if plain else "add --%s after exec or run" % flag


def _has_gpus(plan: LaunchPlan) -> bool:
    """Return whether the job has GPUs: they are asked for, or there are no other nodes."""
    given, kinds = plan.allocation, plan.allocation.node_kinds
    asked = given.gpus_per_node or given.gpus_per_task or given.gpus or given.gpus_asked
    return bool(asked) or (bool(kinds) and all(kind.gpus for kind in kinds))


def _is_for_gpus(step: Step, plan: LaunchPlan) -> bool:
    """Return whether a Python's words name CUDA, NCCL or GPUs, or a rank for each GPU is to meet the others."""
    if not _PYTHON.match(b" ".join(step.program)) or any(_CPU_WORD.search(word) for word in step.program):
        return False
    if any(_GPU_WORD.search(word) for word in step.program):
        return True
    each = step.tasks_per_node is not None and step.tasks_per_node == plan.allocation.gpus_per_node
    return each and is_rank(step) and b"MASTER_ADDR" in plan.assigned


def _is_all(plan: LaunchPlan) -> bool:
    """Return whether all that a job of GPUs starts is Python in containers, so that nothing of it can use them."""
    asked = plan.allocation.gpus_asked or plan.allocation.gpus_per_node or plan.allocation.gpus_per_task
    return bool(asked) and all(
        step.images and _PYTHON.match(b" ".join(step.program)) and not any(map(_CPU_WORD.search, step.program))
        for step in plan.steps
    )


def _let_in(runner: str, flag: str, step: Step, job: Job) -> Tuple[Fix, ...]:
    """Say the flag behind the command of the runner, where the launch line has both words."""
    names = b"|".join(_RUNNERS) if runner.encode() in _RUNNERS else re.escape(runner.split()[0].encode())
    words = rb"(?<![\w.-])(?:%s)[ \t]+(?:\S+[ \t]+)*?(?:exec|run)(?![\w-])" % names
    match = re.compile(words).search(job.source, step.span.start, step.span.end)
    edit = Edit(Span(match.end(), match.end()), b" --" + flag.encode(), "MPL701") if match is not None else None
    fix = Fix((edit,), Safety.ASK, "add --" + flag, harmless=flag in _BINDS_ALONE) if edit is not None else None
    return (fix,) if fix is not None else ()


def _stands_there(plan: LaunchPlan, job: Job) -> bool:
    """Return whether the words of a line show it, which then has a fix."""
    wanted = _wanted(plan)
    return wanted is not None and any(_is_given_none(step, plan, job, wanted) for step in plan.steps)


def _vendors(plan: LaunchPlan) -> Set[str]:
    return {kind.gpu_vendor for kind in plan.allocation.node_kinds if kind.gpus != 0}


def _wanted(plan: LaunchPlan) -> Optional[Tuple[str, ...]]:
    vendors = _vendors(plan)
    return _FLAG.get(next(iter(vendors))) if len(vendors) == 1 else None


def _of_other_maker(job: Job, wanted: Tuple[str, ...]) -> Iterator[Finding]:
    """Yield that a container is given the drivers of a maker whose GPUs are not there, and not those of the other."""
    others = [flag for flags in _FLAG.values() if flags != wanted for flag in flags]
    if not any(runner in job.source for runner in _RUNNERS):
        return
    if any(flag.encode() in _FLAGS.findall(job.source) for flag in wanted):
        return
    for match in re.finditer(rb"(?m)^(?![ \t]*#).*?[ \t]--(\w+)(?!\S)", joined(job.source)):
        flag = match.group(1).decode()
        if flag in others and any(runner in match.group() for runner in _RUNNERS):
            span = Span(match.start(1), match.end(1))
            fix = Fix(
                (Edit(span, wanted[0].encode(), "MPL701"),), Safety.ASK, "--%s in place of --%s" % (wanted[0], flag)
            )
            yield Finding("MPL701", "--%s brings the driver of another maker's GPUs" % flag, span, fixes=(fix,),
                          help="use --%s here, and an image built for these GPUs" % wanted[0])  # fmt: skip
            return


def _given(step: Step, job: Job, flag: str) -> Optional[Fix]:
    """Put the flag behind exec or run."""
    inner = step.links[-1].name_span
    line = job.source[step.span.start : inner.start if inner is not None else step.span.end]
    match = re.search(rb"(?:apptainer|singularity)[ \t]+(?:exec|run)(?=[ \t\\])", line)
    if match is None:
        return None
    at = step.span.start + match.end()
    edit = Edit(Span(at, at), b" --" + flag.encode(), "MPL701")
    return Fix((edit,), Safety.ASK, "add --%s" % flag, harmless=flag in _BINDS_ALONE)


def _is_given_none(step: Step, plan: LaunchPlan, job: Job, wanted: Tuple[str, ...]) -> bool:
    """Return whether ranks that take GPUs start in a container whose whole line stands there to be read."""
    inner = step.links[-1] if step.links else None
    if (
        inner is None
        or inner.name_span is None
        or not any(process.binds_gpu for g in step.groups for process in g.processes)
    ):
        return False
    line = job.source[step.span.start : inner.name_span.start]
    words = line.split()
    runs = [word.rpartition(b"/")[2] in _RUNNERS and verb in (b"exec", b"run") for word, verb in zip(words, words[1:])]
    if True not in runs:
        return False
    behind = words[runs.index(True) :]
    if any(not _is_read(word, plan) for before, word in zip((b"", *behind), behind) if not _is_value(before, word)):
        return False
    flags = [flag for flags in _FLAG.values() for flag in flags]
    return not any(b"--" + flag.encode() in job.source for flag in (*flags, "device"))


def _is_value(before: bytes, word: bytes) -> bool:
    """Return whether a word is one path, or the value of the option before it: no flag comes out of it."""
    return before in _WITH_VALUE or (word[:1] == b'"' and word[-1:] == b'"') or b"/" in word


def _is_read(word: bytes, plan: LaunchPlan) -> bool:
    """Return whether all that stands in a word stands in the script, too."""
    return b"`" not in word and b"$(" not in word and all(name in plan.assigned for name in _NAME.findall(word))
