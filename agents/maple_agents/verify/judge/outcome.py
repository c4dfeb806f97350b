"""The verdict on all launch lines of a script together."""

from __future__ import annotations

from collections.abc import Sequence

from ..run.runs import Run
from .comparing import Difference, compare
from .judging import reasons_of
from .sanity import idle, warnings_of
from .scenes import Scene
from .verdicts import Kind, Reason, Verdict, verdict_of


def judged(runs: Sequence[Run], scene: Scene) -> Verdict:
    """Return the verdict on all launch lines together."""
    reasons: list[Reason] = []
    differences: list[Difference] = []
    values = known = 0
    for run in runs:
        reasons += reasons_of(run, scene)
        if run.facts:
            found = compare(run.step, run.facts, scene.names)
            differences += found.differences
            values, known = values + found.values, known + found.known
    reasons = _meeting_on_one_port(runs, reasons)
    if not any(run.facts for run in runs) and not reasons:
        reasons = [Reason(Kind.UNCLEAR, "every launch line stands behind a condition, and none ran", "see maple plan")]
    warnings = [warning for run in runs if run.facts for warning in warnings_of(run)]
    warnings += idle(runs, scene.names.hosts)
    return verdict_of(reasons, warnings, differences, values, known)


def _meeting_on_one_port(runs: Sequence[Run], reasons: list[Reason]) -> list[Reason]:
    """Launch lines beside each other that meet at one address and port take each other's ranks for their own."""
    at: dict[tuple[str | None, int | None], set[int]] = {}
    for run in runs:
        if run.step.background:
            for fact in run.facts:
                if fact.master_port is not None and fact.table("from").get("master_port"):
                    at.setdefault((fact.master_addr, fact.master_port), set()).add(run.step.line)
    shared = next(((where, lines) for where, lines in at.items() if len(lines) > 1), None)
    touched = (Kind.PORT, Kind.DUPLICATE, Kind.WORLD, Kind.RENDEZVOUS, Kind.COLLECTIVE, Kind.MISSING)
    if shared is None or not any(reason.kind in touched for reason in reasons):
        return reasons
    (address, port), lines = shared
    says = f"lines {' and '.join(map(str, sorted(lines)))} run at the same time and both meet at {address}:{port}"
    one = Reason(Kind.PORT, says, "give each launch line a port of its own", min(lines))
    return [one, *(reason for reason in reasons if reason.kind not in touched)]
