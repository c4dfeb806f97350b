"""What would be wrong if nothing that nobody has read changed anything: advice, where nothing can be proven.

An environment is activated, a sourced file lies elsewhere, options come from a variable: then hardly anything of a
script is certain, and most such files and environments leave the launch as it is written. So the script is played
through once more with that taken for granted, and what is then wrong is told.
"""

from __future__ import annotations

from typing import Callable

from ..repair.search import State
from ..types.edits import Safety
from ..types.findings import Finding, sentence
from ..types.launch_plan import LaunchPlan

Play = Callable[[], State]
_LAUNCH = "MPL3"


def presumed(state: State, play: Play) -> State:
    """Return the state with the findings that hold where what is unread changes nothing; *play* plays it so.

    Of rules that have spoken nothing is added: one word of a kind is enough.
    """
    if not state.plan.presumable:
        return state
    other = play()
    spoken = {finding.code for finding in state.findings}
    why = _why(other.plan)
    more = tuple(_told(finding, why) for finding in other.findings if finding.code not in spoken)
    files = tuple(dict.fromkeys((*state.plan.depends, *other.plan.depends)))
    return state._replace(plan=state.plan._replace(depends=files), findings=state.findings + more)


def _why(plan: LaunchPlan) -> str:
    """Return what it is that is not known, as the script has it first."""
    line, why = next(iter(plan.unread), (0, ""))
    return "line %d, %s" % (line, why) if line else why or "what is loaded and sourced here is not known"


def _told(finding: Finding, why: str) -> Finding:
    parts = ([finding.help] if finding.help else []) + [sentence("likely, not certain: " + why)]
    fixes = tuple(fix._replace(safety=Safety.ASK) for fix in finding.fixes)
    return finding._replace(proven=False, fixes=fixes, help=". ".join(parts))
