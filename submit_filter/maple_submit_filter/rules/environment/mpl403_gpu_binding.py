"""Tasks that are bound to fewer GPUs than they have ranks."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...cures.launch_edits import change
from ...cures.option_edits import at, restate
from ...launchers.registry import AGENTS
from ...request.slurm import values
from ...site.facts import Site
from ...types.edits import Fix, Safety, Span
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link, Step
from .. import rule

_NUMBERED = re.compile(rb"(?:verbose,)?(single|per_task):(\d+)")
_CLOSEST = re.compile(rb"(?:verbose,)?closest")


@rule("MPL403", "a task is bound to fewer GPUs than it has ranks", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """--gpu-bind shows each task some of the node's GPUs; a launcher's ranks are all in one task (srun(1)).

    Wrong: srun --gpu-bind=closest --ntasks-per-node=1 torchrun --nproc-per-node=4 train.py
    Wrong: #SBATCH --gpu-bind=single:1 ... srun torchrun --nproc-per-node=4 train.py
    Wrong: srun --gpus-per-task=1 --ntasks-per-node=1 torchrun --nproc-per-node=4 train.py
    Right: srun --gpu-bind=none --ntasks-per-node=1 torchrun --nproc-per-node=4 train.py
    Why:   local ranks 1 to 3 ask for GPUs that the task does not see: invalid device ordinal. What is closest depends
           on the node, but one task that starts a rank for each GPU of its node needs them all, so Maple unbinds it
           unasked; where fewer ranks start it only offers that.
    """
    for step in plan.steps:
        agent = step.links[-1] if step.links else None
        outer = step.links[0] if step.links else None
        if agent is None or agent.name not in AGENTS or outer is None or outer.name != "srun" or step.maybe:
            continue
        yield from _given_fewer(step, outer, agent, plan)
        value, place = _binding(step, job)
        seen = _shown(value)
        if seen and (step.workers_per_task or 0) > seen and step.tasks_per_node == 1:
            says = "--gpu-bind=%s shows a task %s%s, but %s starts %d ranks in it" % (
                value.decode("utf-8", "replace"), "" if b":" in value else "the closest ",
                counted(seen, "GPU") if b":" in value else "GPU", agent.name, step.workers_per_task or 0)  # fmt: skip
            yield Finding("MPL403", says, place, fixes=_unbound(step, plan, job),
                          help="one task that drives several GPUs needs --gpu-bind=none")  # fmt: skip


def _given_fewer(step: Step, outer: Link, agent: Link, plan: LaunchPlan) -> Iterator[Finding]:
    """Yield that the line gives each task fewer GPUs than the ranks that an agent starts in it."""
    option = outer.option("gpus-per-task")
    value = option.value.raw if option is not None and option.value is not None else b""
    count, ranks = values.whole(value.rpartition(b":")[2]), step.workers_per_task or 0
    if option is not None and count and count < ranks:
        new = value[: len(value) - len(value.rpartition(b":")[2])] + b"%d" % ranks
        edits = change(option, new, "MPL403")
        says = "--gpus-per-task=%s gives a task %s, but %s starts %d ranks in it" % (
            value.decode("utf-8", "replace"), counted(count, "GPU"), agent.name, ranks)  # fmt: skip
        fix = Fix(tuple(edits or ()), Safety.ASK, "a GPU for each of its ranks", harmless=_wants_all(step, plan))
        fixes = (fix,) if edits else ()
        yield Finding("MPL403", says, option.span or step.span, fixes=fixes,
                      help="the task of a launcher needs the GPUs of all its ranks")  # fmt: skip


def _unbound(step: Step, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    option, setting = step.links[0].option("gpu-bind"), job.settings.get("gpu-bind")
    if option is not None:
        edits = change(option, b"none", "MPL403")
        fix = Fix(tuple(edits), Safety.ASK, "--gpu-bind=none") if edits else None
    else:
        made = restate(job, setting, b"none", "MPL403") if setting is not None else None
        fix = made.fix(Safety.ASK, "--gpu-bind=none") if made is not None else None
    alone = option is not None or len(plan.steps) == 1
    return (fix._replace(harmless=alone and _wants_all(step, plan)),) if fix is not None else ()


def _wants_all(step: Step, plan: LaunchPlan) -> bool:
    """Return whether the one task of a node starts a rank for each GPU that it could be shown: it needs them all."""
    given, kinds = plan.allocation.gpus_per_node, {kind.gpus for kind in plan.allocation.node_kinds}
    return step.tasks_per_node == 1 and (given == step.workers_per_task or kinds == {step.workers_per_task})


def _binding(step: Step, job: Job) -> Tuple[bytes, Optional[Span]]:
    """Return the --gpu-bind in force for a step, and where it stands."""
    option = step.links[0].option("gpu-bind")
    if option is not None:
        return (option.value.raw if option.value is not None and option.value.known else b""), option.span
    setting = job.settings.get("gpu-bind")
    return (setting.value or b"" if setting is not None else b""), at(setting)


def _shown(value: bytes) -> int:
    """Return how many GPUs each task is shown, 0 where that is not known."""
    if _CLOSEST.fullmatch(value):
        return 1
    match = _NUMBERED.fullmatch(value)
    count = values.whole(match.group(2)) if match is not None else None
    return 1 if match is not None and match.group(1) == b"single" else count or 0
