"""Tensor-parallel groups that the distribution of tasks takes apart."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from ...cures.launch_edits import change
from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..program_text import TENSOR, is_rank, named_values, parallel_parts


@rule("MPL331", "tensor-parallel groups are dealt over several nodes", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Ranks of a tensor-parallel group follow each other, so tasks must fill one node after the other.

    Wrong: srun -m cyclic --ntasks-per-node=4 python pretrain_gpt.py --tensor-model-parallel-size 4
    Wrong: #SBATCH --distribution=cyclic, and the same launch line
    Right: srun --ntasks-per-node=4 python pretrain_gpt.py --tensor-model-parallel-size 4
    Right: srun -m plane=4 ..., which deals whole groups
    Why:   each layer's sums then go over the network in place of the links between GPUs: 3 to 12 times the
           communication. `maple map check` estimates it. `maple check` shows the change; at submission Maple only
           reports it: which rank does what is for the program to say.
    """
    for step in plan.steps:
        size = _tensor_size(step)
        crossing = _crossing(step, size) if size is not None else None
        if crossing is not None:
            says = "tensor-parallel group {%s} is dealt over %d nodes, and would fit on one" % (
                ",".join(map(str, crossing[0])), crossing[1])  # fmt: skip
            spread, place = _distribution(step, job)
            says += ": %s" % spread if spread else ""
            yield Finding("MPL331", says, place or step.span, fixes=_as_blocks(step, job),
                          help="-m block fills one node after the other")  # fmt: skip


def _tensor_size(step: Step) -> Optional[int]:
    """Return how many ranks a tensor-parallel group of a launch line has, None where none is said, or not surely."""
    if not is_rank(step) or step.maybe or step.unknown or step.breaches or len(step.groups) != 1:
        return None
    numbers = [value for value in named_values(step.program) if value.value.isdigit() and len(value.value) < 6]
    part = parallel_parts(numbers).get(TENSOR)
    return int(part.value) if part is not None and int(part.value) > 1 else None


def _crossing(step: Step, size: int) -> Optional[Tuple[List[int], int]]:
    """Return the first group that is on several nodes though each node has room for whole groups."""
    on_node: Dict[int, int] = {}
    for process in step.groups[0].processes:
        if process.rank is None or process.node is None:
            return None
        on_node[process.rank] = process.node
    each = step.tasks_per_node
    if not each or each % size or not step.groups[0].complete:
        return None
    for first in range(0, len(on_node), size):
        members = list(range(first, first + size))
        if all(rank in on_node for rank in members) and len({on_node[rank] for rank in members}) > 1:
            return members, len({on_node[rank] for rank in members})
    return None


def _distribution(step: Step, job: Job) -> Tuple[str, Optional[Span]]:
    """Return what deals the tasks so, as it is written, and where it stands."""
    option = step.links[0].option("distribution") if step.links else None
    if option is not None and option.value is not None:
        return "%s %s" % (option.spelling.decode(), option.value.raw.decode("utf-8", "replace")), option.span
    setting = job.settings.get("distribution")
    if setting is not None and setting.value:
        return "--distribution=%s" % setting.value.decode("utf-8", "replace"), at(setting)
    return "", None


def _as_blocks(step: Step, job: Job) -> Tuple[Fix, ...]:
    option = step.links[0].option("distribution") if step.links else None
    if option is not None:
        edits = change(option, b"block", "MPL331")
        return (Fix(tuple(edits), Safety.ASK, "-m block"),) if edits else ()
    setting = job.settings.get("distribution")
    made = restate(job, setting, b"block", "MPL331") if setting is not None else None
    return (made.fix(Safety.ASK, "--distribution=block"),) if made is not None else ()
