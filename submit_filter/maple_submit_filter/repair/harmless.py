"""What is only likely, and is cured unasked even so, because no right script can feel it.

Advice proves nothing: for some value of what is unknown the script is right as it stands. So a change may follow from
it only where each value allows it: where the script is right it starts the same processes, on the same nodes, with the
same devices and variables; where it is not, it is cured. `--nv` for a container is such a change, for where it is a
site's default it says nothing new; fewer ranks are not. A rule marks such a fix, and never because of what a site file
says: that may be wrong. Here it is made only if nothing that is seen of the job speaks against the rule.
"""

from __future__ import annotations

from typing import Optional, Tuple

from ..cures.origins import ways
from ..plan.declared_worlds import lost
from ..types.findings import Finding
from ..types.launch_plan import Step
from .cost import asks_for_less
from .search import Again, Repair, State, Taken, tried, walked

MOST = 4  # changes that follow from advice; who needs more of them should read it


def eased(start: State, again: Again) -> Optional[Repair]:
    """Return what the harmless changes lead to, None where there is none. *start* has all findings, also advice."""
    state, taken, because = walked(start, MOST, lambda state: _next(state, again))
    return Repair(state, not state.proven(), tuple(taken), because, ()) if taken else None


def _next(state: State, again: Again) -> Optional[Taken]:
    for finding in state.findings:
        for fix in finding.fixes[:1]:
            for way in ways(fix, state.plan, state.job) if fix.harmless else ():
                after = tried(state, way, again)
                if after is not None and _cures(finding, state, after) and _keeps(state, after):
                    return finding.code, way, after
    return None


def _cures(finding: Finding, before: State, after: State) -> bool:
    """Return whether a finding is gone, and nothing is proven that was not; of a refused text nothing was."""
    had = {other.code for other in before.proven()}
    more = {other.code for other in after.proven()} - had
    return _count(finding, after) < _count(finding, before) and (not more or bool(before.job.script.refused))


def _count(finding: Finding, state: State) -> int:
    return sum(other.code == finding.code for other in state.findings)


def _keeps(before: State, after: State) -> bool:
    """Return whether as much is asked for, and each line starts as many processes, in the worlds that were meant."""
    if before.job.script.refused:
        return True  # nothing of it runs
    same = [_size(step) for step in before.plan.steps] == [_size(step) for step in after.plan.steps]
    return same and not asks_for_less(before.job, after.job) and not lost(before.played(), after.played())


def _size(step: Step) -> Tuple[Optional[int], ...]:
    return step.nodes, step.tasks, step.tasks_per_node, step.workers_per_task
