"""Launchers whose options came to stand behind the script."""

from __future__ import annotations

import re
from typing import Iterator, List

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

_OF_TORCHRUN = (rb"--(?:nnodes|nproc[-_]per[-_]node|node[-_]rank|rdzv[-_](?:backend|endpoint|id|conf)"
                          rb"|max[-_]restarts|master[-_](?:addr|port)|standalone)(?:=|\Z)")  # fmt: skip
_OF_ACCELERATE = (rb"--(?:num_processes|num_machines|machine_rank|main_process_(?:ip|port)|multi_gpu"
                            rb"|mixed_precision|config_file)(?:=|\Z)")  # fmt: skip
_OWN = {"torchrun": _OF_TORCHRUN, "accelerate": _OF_ACCELERATE}
ENOUGH = 2  # a script may have one option of such a name itself


@rule("MPL315", "the launcher's options stand after the script")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """All words behind the script are the script's own; the launcher reads those before it.

    Wrong: srun torchrun train.py --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500
    Right: srun torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
    Why:   each torchrun starts one rank in a world of its own, and the script ends with: unrecognized arguments.
           Maple only reports it, because a script may know such options itself, and only where the launcher was
           given none of them.
    """
    for step in plan.steps:
        behind = _behind(step)
        if len(behind) >= ENOUGH:
            names = " ".join(name.decode("ascii", "replace") for name in behind[:3])
            says = "%s: written after the script, where %s does not read options" % (names, step.links[-1].name)
            at = next((span for span in step.program_spans[:1] if span is not None), step.span)
            yield Finding("MPL315", says, at, help="move the options in front of the script")


def _behind(step: Step) -> List[bytes]:
    link = step.links[-1] if step.links else None
    own = _OWN.get(link.name) if link is not None else None
    if link is None or own is None or step.maybe or link.open:
        return []
    words = [word for word in step.program[1:] if word[:2] == b"--"]
    if len(words) < ENOUGH or any(re.match(own, b"--" + option.name.encode()) for option in link.options):
        return []
    found = [word.partition(b"=")[0] for word in words if re.match(own, word)]
    return list(dict.fromkeys(found))
