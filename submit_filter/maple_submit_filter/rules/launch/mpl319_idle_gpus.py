"""GPUs that no rank uses."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...cures.launch_edits import change, put
from ...launchers.devices import mask_of
from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import asked

_OPTION = {name: agent.ranks for name, agent in AGENTS.items()}
_SAYS_SO = ("gpus-per-node", "gres", "gpus", "ngpus")


@rule("MPL319", "fewer ranks than GPUs on a node")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A launcher starts one rank for each GPU that it is to use.

    Wrong: #SBATCH --gpus-per-node=4 ... accelerate launch --num_machines=2 --num_processes=4 (the total: two on each)
    Wrong: #SBATCH --gpus-per-node=4 ... torchrun --nproc-per-node=$SLURM_NTASKS_PER_NODE, where that is 1
    Wrong: #SBATCH --gpus-per-node=4 ... torchrun train.py --nproc-per-node=4 (an argument of train.py)
    Right: #SBATCH --gpus-per-node=4 ... torchrun --nproc-per-node=4 train.py
    Why:   the job trains, exits with 0, and pays for GPUs that do nothing. Maple only shows the change: a rank
           may use several.
    """
    given, steps = plan.allocation.gpus_per_node, [step for step in plan.steps if step.groups]
    if mask_of(plan.allocation.node_kinds) in plan.assigned:
        return  # the script shares the devices out itself
    if not given or len(steps) != 1 or not any(asked(job, name) for name in _SAYS_SO):
        return
    step = steps[0]
    ranks = _ranks(step)
    if ranks is None or ranks >= given or step.breaches or step.maybe:
        return
    link = step.links[-1]
    option = link.option(_OPTION[link.name])
    taken_for_a_node = option is not None and AGENTS[link.name].total_ranks and step.groups[0].declared == given
    if ranks != 1 and not taken_for_a_node:
        return  # several GPUs for a rank, where a model is split
    at = (option.span if option is not None else None) or link.name_span or step.span
    says = "%d rank%s per node start%s, but the job requests %d GPUs per node" % (
        ranks, "s"[: ranks != 1], "s"[: ranks == 1], given)  # fmt: skip
    yield Finding(
        "MPL319", says, at, fixes=_one_each(step, given), help="start a rank for each GPU, or request fewer GPUs"
    )


def _one_each(step: Step, given: int) -> Tuple[Fix, ...]:
    """Start a rank for each GPU; accelerate counts those of all machines."""
    link, name = step.links[-1], _OPTION[step.links[-1].name]
    total = given * (step.nodes or 1) if AGENTS[link.name].total_ranks else given
    spelled = AGENTS[link.name].spelled(name)
    edits = change(link.option(name), b"%d" % total, "MPL319") if link.option(name) else put(
        link, [(spelled, b"%d" % total)], "MPL319")  # fmt: skip
    return (Fix(tuple(edits), Safety.ASK, "--%s=%d" % (spelled, total)),) if edits else ()


def _ranks(step: Step) -> Optional[int]:
    """Return the ranks on each node that each take a GPU, None where that is not what the launcher starts."""
    link = step.links[-1] if step.links else None
    if link is None or link.name not in _OPTION or len(step.groups) != 1:
        return None
    group = step.groups[0]
    return group.ranks_per_node if all(process.binds_gpu for process in group.processes) else None
