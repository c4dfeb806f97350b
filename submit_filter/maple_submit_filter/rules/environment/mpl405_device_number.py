"""Device numbers where each task sees a device of its own."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link, Step
from .. import rule
from ..program_text import Named, named_values, place_of, programs

_LOCAL = re.compile(
    rb"set_device\(\s*(?:int\(\s*)?os\.environ(?:\[|\.get\()\s*['\"](?:SLURM_LOCALID|LOCAL_RANK)['\"][^%\n]*$"
    rb"|^\s*(\w+)\s*=\s*int\(\s*os\.environ(?:\[|\.get\()\s*['\"]SLURM_LOCALID['\"][^%\n]*$", re.MULTILINE,
)  # fmt: skip
_DEVICES = ("device", "devices", "device_id", "gpu", "gpu_id", "cuda_device")
_BY_LOCAL = re.compile(rb"\A(?:--?[\w.-]+=)?[\"']?(?:cuda:|cuda=)?\$\{?SLURM_LOCALID\}?[\"']?\Z")
_MASKED = re.compile(rb"((?:CUDA|HIP|ROCR)_VISIBLE_DEVICES)=[\"']?\\?\$\{?(?:SLURM_LOCALID|LOCAL_RANK)\b\}?[\"']?")
_HELP = "use device 0, or --gpus-per-node in place of --gpus-per-task"
_COUNTS = (b"device_count", b"CUDA_VISIBLE_DEVICES", b"ROCR_VISIBLE_DEVICES", b"HIP_VISIBLE_DEVICES")


@rule("MPL405", "the program asks for a device that its task does not see", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """With --gpus-per-task=1 each task sees one GPU, whose number there is 0 (srun(1)).

    Wrong: srun --ntasks-per-node=8 --gpus-per-task=1 python train.py, where train.py calls set_device(SLURM_LOCALID)
    Wrong: srun --gpus-per-task=1 bash -c 'python train.py --device cuda:$SLURM_LOCALID'
    Wrong: srun --gpus-per-task=1 bash -c 'HIP_VISIBLE_DEVICES=$SLURM_LOCALID python train.py'
    Wrong: srun --gpus-per-task=1 --gpu-bind=closest bash -c 'LOCAL_RANK=$SLURM_LOCALID python train.py'
    Right: srun --ntasks-per-node=8 --gpus-per-node=8 python train.py, or set_device(0) in train.py
    Why:   local ranks 1 to 7 end with: invalid device ordinal. Maple only shows the change: Slurm 22.05 without
           cgroups shows all devices all the same.
    """
    for step in plan.steps:
        named = _numbered(step, job) if _sees_one(step, job) and not step.maybe else None
        if named is not None:
            says = "%s is the task's number on its node, but each task sees one GPU, number 0" % named.name.decode()
            yield Finding("MPL405", says, place_of(named, step) or step.span,
                          fixes=_all_of_a_node(step.links[0], step, job), help=_HELP)  # fmt: skip
            return
    hidden = _hidden_by_number(plan, job)
    if hidden is not None:
        yield hidden
        return
    own = _own_local_rank(plan, job, site)
    if own is not None:
        yield own
        return
    for program in programs(plan, job):
        if not _sees_one(program.step, job) or any(word in program.text for word in _COUNTS):
            continue
        match = _LOCAL.search(program.text)
        if match and (not match.group(1) or _is_taken(match.group(1), program.text)):
            yield Finding(
                "MPL405",
                "%s takes the GPU of its local rank, but each task sees one, number 0" % program.name,
                program.step.program_span or program.step.span,
                fixes=_all_of_a_node(program.step.links[0], program.step, job),
                help=_HELP,
            )


def _hidden_by_number(plan: LaunchPlan, job: Job) -> Optional[Finding]:
    """Return that a script hides all devices but that of the task's number, where the task has one, number 0."""
    step = next((step for step in plan.steps if _sees_one(step, job) and not step.maybe), None)
    match = _MASKED.search(job.source) if step is not None else None
    if step is None or match is None:
        return None
    says = "each task sees one GPU, number 0, and %s names that of its number on the node" % match.group(1).decode()
    return Finding("MPL405", says, Span(*match.span()), fixes=_all_of_a_node(step.links[0], step, job), help=_HELP)


_LOCAL_RANK = re.compile(rb"(?m)^(?![ \t]*#).*?\bLOCAL_RANK=[\"']?\\?\$\{?(SLURM_LOCALID)\b\}?[\"']?")


def _own_local_rank(plan: LaunchPlan, job: Job, site: Site) -> Optional[Finding]:
    """Return that a script numbers the ranks of a node as LOCAL_RANK where each sees one device.

    That is so by two words of srun, or by one on a cluster whose Slurm binds each task to its GPUs then. Programs take
    the device of that number. Where the program lies beside the script, it says so itself.
    """
    step = next((step for step in plan.steps if _sees_one(step, job) and not step.maybe), None)
    match = _LOCAL_RANK.search(job.source) if step is not None else None
    bind = step.links[0].option("gpu-bind") if step is not None else None
    bound = bind is not None or _binds(job, site)
    if step is None or match is None or not bound or next(iter(programs(plan, job)), None) is not None:
        return None
    says = "LOCAL_RANK counts the tasks of a node, and each task sees one GPU, number 0"
    zero = Edit(Span(match.start(1) - 1, match.end(1)), b"0", "MPL405")
    plain = (
        job.source[match.start(1) - 1 : match.start(1)] == b"$"
        and job.source[match.start(1) - 2 : match.start(1) - 1] == b"="
    )
    fixes = _all_of_a_node(step.links[0], step, job)
    fixes += (Fix((zero,), Safety.ASK, "LOCAL_RANK=0"),) if plain else ()
    return Finding("MPL405", says, Span(match.start(1), match.end(1)), fixes=fixes, help=_HELP)


def _binds(job: Job, site: Site) -> bool:
    """Return whether --gpus-per-task alone binds (srun(1): since 21.08 it says --gpu-bind=per_task)."""
    return (not site.version or site.version >= (21, 8)) and not job.settings.value("gpu-bind")


def _sees_one(step: Step, job: Job) -> bool:
    """Return whether srun starts several tasks on a node, and shows each a GPU of its own."""
    outer = step.links[0] if step.links else None
    if outer is None or outer.name != "srun" or _on_a_node(step) < 2:
        return False
    return _each(outer, job) == b"1"


def _on_a_node(step: Step) -> int:
    """Return how many tasks start on a node: as is said, or so many that they fill the nodes evenly; 0 unknown."""
    even = step.tasks // step.nodes if step.tasks and step.nodes and step.tasks % step.nodes == 0 else 0
    return step.tasks_per_node or even


def _numbered(step: Step, job: Job) -> Optional[Named]:
    """Return the device that a program is told by the number of its task on the node."""
    for named in named_values(step.program):
        span = place_of(named, step)
        if named.last in _DEVICES and span is not None and _BY_LOCAL.search(job.source[span.start : span.end]):
            return named
    return None


def _all_of_a_node(srun: Link, step: Step, job: Job) -> Tuple[Fix, ...]:
    """Give the step the GPUs of a node together, of which each task takes its own."""
    option, setting, bind = srun.option("gpus-per-task"), job.settings.get("gpus-per-task"), srun.option("gpu-bind")
    words = b"--gpus-per-node=%d" % _on_a_node(step)
    spans = [option.span if option is not None else None, setting.origin.span if setting is not None else None]
    edits = [Edit(span, words, "MPL405") for span in spans if span is not None]
    if bind is not None and bind.value_span is not None:
        edits += [Edit(bind.value_span, b"none", "MPL405")]
    says = " and ".join([words.decode()] * bool(spans[0] or spans[1]) + ["--gpu-bind=none"] * (bind is not None))
    return (Fix(tuple(edits), Safety.ASK, says),) if edits else ()


def _each(srun: Link, job: Job) -> bytes:
    """Return the GPUs that each task of a step is given, as they are written."""
    option = srun.option("gpus-per-task")
    if option is not None:
        return option.value.raw if option.value is not None else b""
    bind = srun.option("gpu-bind")
    if bind is not None and bind.value is not None and bind.value.raw.endswith(b"single:1"):
        return b"1"
    closest = bind is None or (bind.value is not None and bind.value.raw == b"closest")
    if not closest or srun.option("gpus-per-node", "gpus", "gres") is not None:
        return b""
    return job.settings.value("gpus-per-task") or b""


def _is_taken(name: bytes, text: bytes) -> bool:
    """Return whether a variable with the local rank is the number of a device."""
    return (
        re.search(rb"set_device\(\s*%s\s*\)|cuda:\{%s\}|[\"']cuda[\"']\s*,\s*%s\b" % (name, name, name), text)
        is not None
    )
