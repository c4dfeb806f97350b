"""What the rules of the new cluster advise on a carried script: followed where they know how, else told.

A script may be whole on the new cluster and still bring along what does not work there: a container's option for GPUs
of another maker, a program that a module has to bring first. The rules know it, so they are asked here.
"""

from __future__ import annotations

from typing import NamedTuple

from maple_submit_filter.repair.search import State
from maple_submit_filter.types.edits import Conflict, Fix, apply
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of

from ...request.script.parts import Foreign
from ...templates.cluster import Cluster
from ..values import Layout
from . import judgement

MOST = 5  # changes, and sentences


class Advised(NamedTuple):
    """The script after the rules' changes, and a sentence for each of them and for each that is left to a person."""

    script: bytes
    says: tuple[str, ...]


def followed(script: bytes, foreign: Foreign, cluster: Cluster, wanted: list[Layout | None]) -> Advised:
    """Return the carried script as the cluster's rules want it. *wanted*: as `judgement.wrong` takes it.

    A change is made only if every world stays as it was decided, and nothing else is found then.
    """
    state, says = judgement.state_of(script, foreign, cluster), list[str]()
    while state is not None and len(says) < MOST:
        change = _change(state, foreign, cluster, wanted)
        if change is None:
            break
        says.append("changed for the new cluster: %s (%s)" % (change.says, change.why))
        script, state = change.state.job.source, change.state
    left = state.findings if state is not None else ()
    told = dict.fromkeys(_sentence(finding, script) for finding in left if not finding.proven)
    return Advised(script, (*says, *list(told)[:MOST]))


class _Change(NamedTuple):
    state: State  # after it
    says: str
    why: str


def _change(state: State, foreign: Foreign, cluster: Cluster, wanted: list[Layout | None]) -> _Change | None:
    """Return the first change of the rules' own after which its finding is gone, and all else as right as it was."""
    for finding in state.findings:
        for fix in finding.fixes[:1]:
            after = _after(state, fix, foreign, cluster)
            if after is None or not _is_better(finding, state, after):
                continue
            if not judgement.wrong_in(after, after.job.source, foreign, wanted):
                return _Change(after, fix.says, finding.says)
    return None


def _after(state: State, fix: Fix, foreign: Foreign, cluster: Cluster) -> State | None:
    """Return the state after a fix of the script alone; None where it cannot be made."""
    try:
        script = apply(state.job.source, fix.edits)
    except Conflict:
        return None
    if fix.argv_edits or script == state.job.source:
        return None
    return judgement.state_of(script, foreign, cluster)


def _is_better(finding: Finding, before: State, after: State) -> bool:
    codes = [[other.code for other in state.findings] for state in (before, after)]
    return codes[1].count(finding.code) < codes[0].count(finding.code) and set(codes[1]) <= set(codes[0])


def _sentence(finding: Finding, script: bytes) -> str:
    line = "line %d of the new script: " % line_of(script, finding.at.start) if finding.at else ""
    return "%s%s (%s)%s" % (line, finding.says, finding.code, ": " + finding.help if finding.help else "")
