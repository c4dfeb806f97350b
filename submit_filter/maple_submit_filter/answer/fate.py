"""What becomes of a finding's fix when the script is submitted: the sentence, and the decision it follows from.

What would follow from the changes that advice proposes: for `maple check`, never at submission.

Advice proves nothing, so nobody is asked about it and nothing is changed by it; who reads it gets its diff even so.
"""

from __future__ import annotations

from typing import List, Optional, Set, Tuple

from ..host.bounded_file import read_file
from ..repair.search import State, tried
from ..site.facts import Site
from ..types.edits import Fix, Safety
from ..types.findings import Finding
from ..types.job import Job, Read, line_of
from ..types.submission import Submission
from .decision import Decision, Rewritten, examined, understood
from .report import FIXED, Fate

MOST_CHANGES = 6


def fates(decision: Decision, mode: str) -> Fate:
    """Return what says of each finding of *decision* what submitting in *mode* does about it.

    "fixed automatically" is said if and only if the submitted script differs and no longer shows the finding.
    """
    return lambda finding: _fate(finding, decision, mode)


def _fate(finding: Finding, decision: Decision, mode: str) -> str:
    made = _fixed_by(finding, decision)
    if made is not None:
        return "%s: %s" % (FIXED if mode == "repair" else "would be fixed, but the mode is %s" % mode, made)
    if not finding.fixes:
        return ""
    says, safety = finding.fixes[0].says, finding.fixes[0].safety
    if safety == Safety.ASK:
        return "suggested, not applied without your word: " + says
    if safety != Safety.SAFE or not finding.proven:
        return says
    return "not applied: %s. Possible fix: %s" % (_why_held(finding, decision), says)


def _fixed_by(finding: Finding, decision: Decision) -> Optional[str]:
    """Return the change that cures the finding unasked, None where nothing does."""
    if decision.repaired is None or not finding.proven:
        return None
    own = [one[len(finding.code) + 1 :] for one in decision.repaired.says if one.startswith(finding.code + " ")]
    best = [one for one in own if finding.fixes and one.startswith(finding.fixes[0].says)]
    others = sorted({one.split(" ")[0] for one in decision.repaired.says})
    return (best or own or ["by the change for " + " and ".join(others)])[0]


def _why_held(finding: Finding, decision: Decision) -> str:
    """Return why a fix that could be made unasked is not made."""
    own = next((why for code, why in decision.held_back if code == finding.code), "")
    says = ": " + finding.fixes[0].says
    if own:
        return own[: -len(says)] if own.endswith(says) else own
    found = {one.code for one in decision.findings}
    others = sorted({code for code, _ in decision.held_back if code in found})
    if others:
        return "%s must be settled first" % " and ".join(others)
    hidden = dict(decision.held_back)  # what comes to light when this one is mended
    says = "%s comes to light then (maple explain %s): %s"
    return "; ".join(says % (code, code, why) for code, why in hidden.items()) or "the repair as a whole was not proven"


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
