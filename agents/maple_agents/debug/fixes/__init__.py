"""What would make the job run: steps that people take, and changes of the script that were checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from maple_submit_filter.decide import Decision, Rewritten

from ..diagnosing import said
from ..facts import facts
from ..knowledge.conditions import holds
from ..knowledge.entries import Entry
from ..values import Cure, Diagnosis, Digest


def cures(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry]
) -> tuple[Cure, ...]:
    """Return what would cure the first cause, the best first; () where nothing is known to help, or all is well."""
    return tuple(_cures(diagnosis, digest, decision, known))


def _cures(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry]
) -> Iterator[Cure]:
    first = diagnosis.causes[0]
    if first.cause == "none":
        return
    given = facts(diagnosis.case, digest, decision)
    entry = known.get(first.entry)
    for remedy in entry.fixes if entry else ():
        if not remedy.when or holds(remedy.when, given) is True:
            steps = tuple(said(step, first.values) for step in remedy.steps)
            yield Cure(remedy.kind, said(remedy.says, first.values), steps=steps)
    better = (decision.repaired or decision.offered) if decision else None
    if better is not None and decision is not None:
        yield _checked(better, "safe" if better is decision.repaired else "ask", diagnosis)


def _checked(better: Rewritten, safety: str, diagnosis: Diagnosis) -> Cure:
    asked = diagnosis.case.asked
    argv = better.argv if asked and better.argv != asked.argv else None
    return Cure("script_launch_line", "; ".join(better.says), safety, better.script, argv)
