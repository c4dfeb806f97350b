"""What would make the job run: steps that people take, and changes of the script that were checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from maple_submit_filter.decide import Decision, Rewritten, examined, understood
from maple_submit_filter.edits import Fix
from maple_submit_filter.reading import read_file
from maple_submit_filter.submission import Submission

from ..diagnosing import said
from ..facts import facts
from ..knowledge.conditions import Fact, holds
from ..knowledge.entries import Entry, Remedy
from ..values import Cause, Cure, Diagnosis, Digest
from . import line_endings, options, ports, requests, variables  # noqa: F401  # each registers its fixes
from .checking import changed, objection
from .given import MADE, Given

AS_CHECKED = "as-checked"


def cures(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry]
) -> tuple[Cure, ...]:
    """Return what would cure the first cause, the best first; () where nothing is known to help, or all is well.

    What the rules mend of the script by themselves is in every changed script: a copy that is wrong helps nobody.
    """
    first = diagnosis.causes[0]
    if first.cause == "none":
        return ()
    entry = known.get(first.entry)
    given = facts(diagnosis.case, digest, decision)
    remedies = [one for one in (entry.fixes if entry else ()) if not one.when or holds(one.when, given) is True]
    made = [_cure(one, first, diagnosis, digest, decision, given) for one in remedies]
    checked = _as_checked(decision, diagnosis)
    if checked is not None and not any(one.script is not None or one.argv is not None for one in made):
        made.append(checked)
    return tuple(_ordered(made))


def _ordered(made: list[Cure]) -> Iterator[Cure]:
    """Yield what changes the script first; what people have to do comes after it, each said once."""
    seen: set[object] = set()
    for cure in sorted(made, key=lambda one: one.script is None and one.argv is None):
        key = (cure.script, cure.argv) if cure.script is not None or cure.argv is not None else cure.says
        if key not in seen:
            seen.add(key)
            yield cure


def _cure(
    remedy: Remedy, cause: Cause, diagnosis: Diagnosis, digest: Digest, decision: Decision | None,
    given: Mapping[str, Fact],
) -> Cure:  # fmt: skip
    steps = tuple(said(step, cause.values) for step in remedy.steps)
    plain = Cure(remedy.kind, said(remedy.says, cause.values), steps=steps)
    if remedy.how == AS_CHECKED:
        checked = _as_checked(decision, diagnosis)
        return plain if checked is None else replace(checked, kind=remedy.kind, steps=steps)
    asked = _base(diagnosis, decision)
    maker = MADE.get(remedy.how)
    if maker is None or asked is None:
        return plain
    job = understood(asked, read_file)
    if job is None:
        return plain
    state = examined(job, diagnosis.case.site)
    give = {name: said(value, cause.values) if isinstance(value, str) else value for name, value in remedy.give.items()}
    fix = maker(Given(diagnosis.case, job, state.plan, diagnosis.case.site, digest, given, cause.values, give))
    return plain if fix is None else _tried(plain, fix, asked, diagnosis)


def _base(diagnosis: Diagnosis, decision: Decision | None) -> Submission | None:
    """Return what was submitted, with what the rules mend safely."""
    asked = diagnosis.case.asked
    if asked is None or asked.script is None:
        return None
    if decision is None or decision.repaired is None:
        return asked
    script = decision.repaired.script if decision.repaired.script is not None else asked.script
    return asked._replace(script=script, argv=decision.repaired.argv)


def _tried(plain: Cure, fix: Fix, base: Submission, diagnosis: Diagnosis) -> Cure:
    after = changed(base, fix)
    if after is None:
        return plain
    wrong = objection(base, after, diagnosis.case.site)
    if wrong:
        return replace(plain, held_back=wrong)
    asked = diagnosis.case.asked
    assert asked is not None
    return replace(
        plain,
        says="%s: %s" % (plain.says, fix.says) if fix.says not in plain.says else plain.says,
        safety=fix.safety,
        script=after.script if after.script != asked.script else None,
        argv=after.argv if after.argv != asked.argv else None,
        fix=fix,
    )


def _as_checked(decision: Decision | None, diagnosis: Diagnosis) -> Cure | None:
    """Return what `maple check` would submit, or offers, as a cure; None where it has nothing to change."""
    better = (decision.repaired or decision.offered) if decision else None
    if decision is None or better is None:
        return None
    return _of_rules(better, "safe" if better is decision.repaired else "ask", diagnosis)


def _of_rules(better: Rewritten, safety: str, diagnosis: Diagnosis) -> Cure:
    asked = diagnosis.case.asked
    argv = better.argv if asked and better.argv != asked.argv else None
    return Cure("script_launch_line", "; ".join(better.says), safety, better.script, argv)
