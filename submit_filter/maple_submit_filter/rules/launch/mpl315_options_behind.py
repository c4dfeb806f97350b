"""Launchers whose options came to stand behind the script."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional

from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

ENOUGH = 2  # a script may have one option of such a name itself
CHOSEN_LATER = tuple(agent.misplaced for agent in AGENTS.values() if agent.misplaced)  # for the helper's image


@rule("MPL315", "the launcher's options stand after the script")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """All words behind the script are the script's own; the launcher reads those before it.

    Wrong: srun torchrun train.py --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500
    Right: srun torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
    Why:   each torchrun starts one rank in a world of its own, and the script ends with: unrecognized arguments. `maple
           check` shows the change; at submission Maple only reports it, because a script may know such options itself,
           and only where the launcher was given none of them.
    """
    for step in plan.steps:
        behind = _behind(step)
        if len(behind) >= ENOUGH:
            names = " ".join(name.decode("ascii", "replace") for name in behind[:3])
            says = "%s: written after the script, where %s does not read options" % (names, step.links[-1].name)
            at = next((span for span in step.program_spans[:1] if span is not None), step.span)
            fix = _in_front(step, job)
            yield Finding("MPL315", says, at, fixes=(fix,) if fix is not None else (),
                          help="move the options in front of the script")  # fmt: skip


def _in_front(step: Step, job: Job) -> Optional[Fix]:
    """Move the launcher's options that follow the script, up to the first word of the script's own."""
    own, spans, last, at = AGENTS[step.links[-1].name].misplaced, step.program_spans, 0, 1
    while at < len(step.program) and re.match(own, step.program[at]):
        apart = b"=" not in step.program[at] and at + 1 < len(step.program) and step.program[at + 1][:1] != b"-"
        at += 2 if apart else 1
        last = at - 1
    if not last or last >= len(spans) or any(re.match(own, word) for word in step.program[at:]):
        return None
    script, first, end = spans[0], spans[1], spans[last]
    if script is None or first is None or end is None or not script.end < first.start < end.end:
        return None
    words = job.source[first.start : end.end]
    moved = Edit(Span(script.start, script.start), words + b" ", "MPL315")
    return Fix(
        (moved, Edit(Span(script.end, end.end), b"", "MPL315")), Safety.ASK, "move the options in front of the script"
    )


def _behind(step: Step) -> List[bytes]:
    link = step.links[-1] if step.links else None
    own = AGENTS[link.name].misplaced if link is not None and link.name in AGENTS else b""
    if link is None or not own or step.maybe or link.open:
        return []
    words = [word for word in step.program[1:] if word[:2] == b"--"]
    if len(words) < ENOUGH or any(re.match(own, b"--" + option.name.encode()) for option in link.options):
        return []
    names = [word.partition(b"=")[0] for word in words if re.match(own, word)]
    return list(dict.fromkeys(names))
