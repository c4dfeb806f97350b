"""Steps do not share what they have."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from ...play.slurm_allocation import gpus_in, gres_gpus
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from ...types.text import number
from .. import rule

# With one of these a step has only what it names, or shares.
_NARROWER = (
    "overlap", "exact", "exclusive", "mem", "mem-per-cpu", "mem-per-gpu", "gpus", "gpus-per-node",
    "gpus-per-task", "gres", "het-group", "whole",
)  # fmt: skip


_SHARES = ("overlap", "exact", "exclusive", "gpus", "gpus-per-node", "gpus-per-task", "gres")


@rule("MPL316", "a step waits until one in the background ends", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A step has all CPUs and GPUs of its nodes for itself until it ends (srun(1), since Slurm 20.11).

    Wrong: srun --ntasks-per-node=1 nvidia-smi -l 30 > gpus.log &
           srun torchrun ... train.py
    Right: srun --overlap --ntasks-per-node=1 nvidia-smi -l 30 > gpus.log &
           srun torchrun ... train.py
    Wrong: srun --gres=gpu:4 vllm serve ... &, in a job of four GPUs, and then srun --gres=gpu:2 python train.py
    Right: srun --gres=gpu:2 vllm serve ... &
    Why:   srun says: Job step creation temporarily disabled, retrying (Requested nodes are busy). A step that watches
           the job never ends, so the training never begins. `maple check` shows the change; at submission Maple only
           reports it: one that ends soon is waited for.
    """
    if b"OVERLAP" in job.source:
        return
    for held, step in (*_waiting(plan), *_on_one_node(plan, job), *_without_gpus(plan)):
        says = "this step gets the job's CPUs and GPUs when the one in the background on line %d ends" % held.line
        fix = _beside(held)
        yield Finding("MPL316", says, step.span, fixes=(fix,) if fix is not None else (),
                      help="if that one goes on for long, start it by srun --overlap")  # fmt: skip


def _waiting(plan: LaunchPlan) -> List[Tuple[Step, Step]]:
    """Return steps in the background, each with the next of its phase that waits for it."""
    waiting: List[Tuple[Step, Step]] = []
    any_nodes: Dict[int, Step] = {}  # the next step of a phase
    all_nodes: Dict[int, Step] = {}  # and the next that surely has all nodes of the job
    for step in reversed(plan.steps):
        if not _wants_it(step, plan):
            continue
        later = (any_nodes if _has_all(step, plan) else all_nodes).get(step.phase)
        if step.background and not step.maybe and later is not None:
            waiting.append((step, later))
        any_nodes[step.phase] = step
        if _has_all(step, plan):
            all_nodes[step.phase] = step
    return waiting[::-1]


def _on_one_node(plan: LaunchPlan, job: Job) -> List[Tuple[Step, Step]]:
    """Return steps in the background that block, each with a later one for the same one node, which has its GPUs."""
    out: List[Tuple[Step, Step]] = []
    takes = any(name in job.settings for name in ("gpus-per-node", "gres", "gpus"))
    for index, held in enumerate(plan.steps if takes else ()):
        node = _only_node(held)
        if (
            not held.background
            or held.maybe
            or not node
            or b"--block" not in job.source[held.span.start : held.span.end]
        ):
            continue
        later = (step for step in plan.steps[index + 1 :] if _only_node(step) == node and not step.background)
        out += [(held, step) for step in later][:1]
    return out


def _without_gpus(plan: LaunchPlan) -> List[Tuple[Step, Step]]:
    """Return steps in the background that name all GPUs of the one node, each with the next that names some."""
    out: List[Tuple[Step, Step]] = []
    most = plan.allocation.gpus_per_node
    for index, held in enumerate(plan.steps if plan.allocation.nodes == 1 and most else ()):
        if not held.background or held.maybe or _named_gpus(held) != most:
            continue
        later = (step for step in plan.steps[index + 1 :] if step.phase == held.phase and not step.background)
        out += [(held, step) for step in later if _named_gpus(step)][:1]
    return out


def _named_gpus(step: Step) -> int:
    """Return how many GPUs a step of srun asks for by its own words and keeps for itself; 0 where that is not known."""
    first = step.links[0] if step.links else None
    if first is None or first.name != "srun" or first.open or first.option("overlap") is not None:
        return 0
    for name, times in (("gpus", 1), ("gpus-per-node", 1), ("gres", 1), ("gpus-per-task", step.tasks or 0)):
        option = first.option(name)
        if option is not None and option.value is not None and option.value.known:
            asked = gres_gpus(option.value.raw) if name == "gres" else gpus_in(option.value.raw)
            return (asked or 0) * times
    return 0


def _only_node(step: Step) -> bytes:
    """Return the one node that a step of srun names, b"" where it takes less than all of it, or another is named."""
    first = step.links[0] if step.links else None
    if first is None or first.name != "srun" or first.open or step.nodes != 1 or first.option(*_SHARES) is not None:
        return b""
    named = first.option("nodelist")
    return named.value.raw if named is not None and named.value is not None and named.value.known else b""


def _beside(held: Step) -> Optional[Fix]:
    at = held.links[0].options_at
    if at is None:
        return None
    return Fix(
        (Edit(Span(at, at), b" --overlap", "MPL316"),), Safety.ASK, "start line %d by srun --overlap" % held.line
    )


def _has_all(step: Step, plan: LaunchPlan) -> bool:
    """Return whether a step surely has all nodes of the job."""
    return plan.allocation.nodes is not None and step.nodes == plan.allocation.nodes


def _wants_it(step: Step, plan: LaunchPlan) -> bool:
    """Return whether a step has all of each of its nodes; as many CPUs as the job has for a task are no fewer."""
    first = step.links[0] if step.links else None
    if first is None or first.name != "srun" or first.open or first.option(*_NARROWER) is not None:
        return False
    cpus = first.option("cpus-per-task")
    return cpus is None or (number(cpus.value) or 0) == plan.allocation.cpus_per_task
