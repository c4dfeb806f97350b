"""What would follow from the changes that advice proposes: for `maple check`, never at submission.

Advice proves nothing, so nobody is asked about it and nothing is changed by it; who reads it gets its diff even so.
"""

from __future__ import annotations

from typing import List, Optional, Set, Tuple

from ..host.bounded_file import read_file
from ..repair.search import State, tried
from ..site.facts import Site
from ..types.edits import Fix
from ..types.findings import Finding
from ..types.job import Job, Read
from ..types.script import line_of
from ..types.submission import Submission
from .decision import Decision, Rewritten, examined, understood

MOST_CHANGES = 6


def suggested(decision: Decision, submission: Submission, site: Site, read: Optional[Read] = read_file) -> Decision:
    """Return the decision with what its advice would make of the script as the offer, where nothing else is offered.

    A change counts where its finding is gone behind it, nothing that was understood is lost, and no rule proves more
    against the new script than against the old one.
    """
    if decision.repaired is not None or decision.offered is not None or not any(map(_proposes, decision.findings)):
        return decision
    job = understood(submission, read, read)
    if job is None:
        return decision
    start = examined(job, site)
    state = start
    taken: List[Tuple[str, Fix]] = []
    because: List[Tuple[int, str]] = []
    for _ in range(MOST_CHANGES):
        step = _next(state, site)
        if step is None:
            break
        finding, fix, after = step
        taken.append((finding.code, fix))
        because += [(line_of(state.job.source, edit.span.start), edit.because) for edit in fix.edits]
        because += [(0, edit.because) for edit in fix.argv_edits]
        state = after
    if not taken or not _parses(state.job.source):
        return decision
    script = state.job.source if state.job.source != start.job.source else None
    says = tuple("%s %s" % (code, fix.says) for code, fix in taken)
    return decision._replace(offered=Rewritten(script, state.job.submission.argv, says, tuple(dict.fromkeys(because))))


def _proposes(finding: Finding) -> bool:
    return not finding.proven and bool(finding.fixes)


def _next(state: State, site: Site) -> Optional[Tuple[Finding, Fix, State]]:
    """Return the first change that does what it says, and what it leads to."""

    def again(job: Job, source: bytes, argv: Tuple[bytes, ...]) -> Optional[State]:
        changed = understood(job.submission._replace(script=source, argv=argv), job.read, job.peruse)
        return examined(changed, site) if changed is not None else None

    for finding in filter(_proposes, state.findings):
        for fix in finding.fixes:
            after = tried(state, fix, again)
            if after is None:
                continue
            gone = sum(one.code == finding.code for one in after.findings) < sum(
                one.code == finding.code for one in state.findings
            )
            if gone and _proven(after) <= _proven(state):
                return finding, fix, after
    return None


def _proven(state: State) -> Set[str]:
    return {one.code for one in state.proven()}


def _parses(source: bytes) -> bool:
    from ..bash.check import parses

    return parses(source)
