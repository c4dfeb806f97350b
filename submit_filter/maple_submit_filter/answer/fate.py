"""What becomes of a finding's fix when the script is submitted: the sentence, and the decision it follows from."""

from __future__ import annotations

from typing import Optional

from ..types.edits import Safety
from ..types.findings import Finding
from .decision import Decision
from .report import FIXED, Fate


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
