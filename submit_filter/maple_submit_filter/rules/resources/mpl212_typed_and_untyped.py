"""GPUs with a type and without in one request."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from ...cures.option_edits import at, unsay
from ...request.slurm.values import Gres
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import gpu_items, judged

_OPTIONS = ("gres", "gpus-per-node", "gpus", "gpus-per-task")
_EACH_NODE = ("gres", "gpus-per-node")


@rule("MPL212", "GPUs are requested with a type and without", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """One request names the type of its GPUs everywhere, or nowhere.

    Wrong: #SBATCH --gres=gpu:a100:4 and #SBATCH --gpus-per-node=4
    Right: #SBATCH --gpus-per-node=a100:4
    Why:   Slurm 22.05 says: Invalid GRES specification (with and without type identification), whichever options the
           two stand in. Where both ask for the same number on each node, the one without a type says nothing more and
           is left out; else it asks.
    """
    if not judged(job, site):
        return
    requests = [(name, item) for name in _OPTIONS for item in gpu_items(job.settings, name)]
    typed = [request for request in requests if request[1].type]
    bare = [request for request in requests if not request[1].type]
    if typed and bare:
        setting = job.settings.get(bare[0][0])
        says = "--%s names a GPU type and --%s does not; Slurm refuses the combination" % (typed[0][0], bare[0][0])
        fix = _without(job, typed, bare)
        yield Finding("MPL212", says, at(setting), True, fixes=(fix,) if fix is not None else (),
                      help="name the type in both or in neither")  # fmt: skip


def _without(job: Job, typed: List[Tuple[str, Gres]], bare: List[Tuple[str, Gres]]) -> Optional[Fix]:
    name, item = bare[0]
    if len(bare) != 1 or name == typed[0][0] or b"," in (job.settings.value(name) or b""):
        return None
    made = unsay(job, name, "MPL212")
    if made is None:
        return None
    alike = len(typed) == 1 and typed[0][1].amount == item.amount and {name, typed[0][0]} == set(_EACH_NODE)
    unseen = b"SLURM_GPUS" not in job.source
    return made.fix(Safety.SAFE if alike and unseen else Safety.ASK, "remove --%s, which names no type" % name)
