"""What becomes of a finding's fix when the script is submitted: the sentence, and the decision it follows from.

What would follow from the changes that advice proposes: for `maple check`, never at submission.

Advice proves nothing, so nobody is asked about it and nothing is changed by it; who reads it gets its diff even so.
The same holds of a cure that leaves something else to be settled, and of the second way to read a value.
"""

from __future__ import annotations

from typing import Iterator, List, Mapping, Optional, Set, Tuple

from ..cures.origins import ways
from ..host.bounded_file import read_file
from ..repair.search import Again, State, tried
from ..site.facts import Site
from ..types.edits import Edit, Fix, Safety, Span, apply_argv
from ..types.findings import Finding
from ..types.job import Job, Read, line_of
from ..types.submission import Submission
from .decision import Decision, Rewritten, advised, understood
from .report import FIXED, Fate

MOST_CHANGES = 6
MOST_SEARCHED = 3  # of what no rule says
MOST_OFFERS = 9  # a list that is still read


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
    if decision.repaired is None:
        return None
    own = [say[len(finding.code) + 1 :] for say in decision.repaired.says if say.startswith(finding.code + " ")]
    best = [say for say in own if finding.fixes and say.startswith(finding.fixes[0].says)]
    if not finding.proven:
        return next(iter(best), None)
    others = sorted({say.split(" ")[0] for say in decision.repaired.says})
    return (best or own or ["by the change for " + " and ".join(others)])[0]


def _why_held(finding: Finding, decision: Decision) -> str:
    """Return why a fix that could be made unasked is not made."""
    own = next((why for code, why in decision.held_back if code == finding.code), "")
    says = ": " + finding.fixes[0].says
    if own:
        return own[: -len(says)] if own.endswith(says) else own
    codes = {own.code for own in decision.findings}
    others = sorted({code for code, _ in decision.held_back if code in codes})
    if others:
        return "%s must be settled first" % " and ".join(others)
    hidden = dict(decision.held_back)  # what comes to light when this one is mended
    says = "%s comes to light then (maple explain %s): %s"
    return "; ".join(says % (code, code, why) for code, why in hidden.items()) or "the repair as a whole was not proven"


def suggested(decision: Decision, submission: Submission, site: Site, read: Optional[Read] = read_file) -> Decision:
    """Return the decision with what all that is proposed would make of the script as the offer, where there is none.

    A change counts where its finding is gone behind it, nothing that was understood is lost, and no rule proves more
    against the new script than against the old one. What no change cures stays as it was, and is still told.
    """
    if decision.repaired is not None or decision.offered is not None or not _may_be_changed(decision):
        return decision
    job = understood(submission, read, read)
    if job is None:
        return _with_other_words(decision, submission, read)
    start = advised(job, site)
    state = start
    taken: List[Tuple[str, Fix]] = []
    because: List[Tuple[int, str]] = []
    for _ in range(MOST_CHANGES):
        step = _next(state, start, site)
        if step is None:
            break
        finding, fix, after = step
        taken.append((finding.code, fix))
        because += _because(state, fix)
        state = after
    if not taken or not _parses(state.job.source):
        return decision
    says = tuple("%s %s" % (code, fix.says) for code, fix in taken)
    return decision._replace(offered=_rewritten(start, state, says, because))


def _with_other_words(decision: Decision, submission: Submission, read: Optional[Read]) -> Decision:
    """Return the decision with a command line on offer that is understood, in place of one that is refused."""
    for finding in decision.findings:
        for fix in finding.fixes:
            argv = apply_argv(submission.argv, fix.argv_edits)
            if not fix.edits and understood(submission._replace(argv=argv), read, read) is not None:
                says = ("%s %s" % (finding.code, fix.says),)
                return decision._replace(offered=Rewritten(None, argv, says, ((0, finding.code),)))
    return decision


def offers(
    decision: Decision, submission: Submission, site: Site, read: Optional[Read] = read_file
) -> Tuple[Rewritten, ...]:
    """Return every way on offer, each a whole script: what is offered, then each other fix of a finding.

    Where a value may be meant in two ways both stand here, each with what else must change then; of ways to spell one
    change of one line the first does. What is done unasked is none of them.
    """
    rewrittens = [decision.offered] if decision.offered is not None and decision.offered != decision.repaired else []
    job = understood(submission, read, read) if _may_be_changed(decision) else None
    if job is None or decision.repaired is not None:
        return tuple(rewrittens)
    start = advised(job, site)
    for finding, fix, after in _each(start, start, site):
        made = _with_the_rest(finding, fix, after, start, site)
        if all(_differs(made, rewritten) for rewritten in rewrittens) and _parses(made.script or b""):
            rewrittens.append(made)
        if len(rewrittens) >= MOST_OFFERS:
            break
    return tuple(rewrittens)


def _with_the_rest(finding: Finding, fix: Fix, after: State, start: State, site: Site) -> Rewritten:
    """Return what a fix leads to, with the changes for what is still wrong then, where those lead to a right script."""
    from ..repair.cost import asks_for_less
    from ..repair.offers import completed

    says, because = ["%s %s" % (finding.code, fix.says)], _because(start, fix)
    if after.proven() and not asks_for_less(start.job, after.job):
        rest = completed(after, _again(site))
        if rest.whole and not asks_for_less(start.job, rest.state.job):
            says += ["%s %s" % (code, more.says) for code, more in rest.taken]
            return _rewritten(start, rest.state, tuple(says), [*because, *rest.because])
    return _rewritten(start, after, tuple(says), because)


def _differs(new: Rewritten, other: Rewritten) -> bool:
    """Tell whether a reader can tell two offers apart: what they say, or the lines that they change."""
    same_bytes = (new.script, new.argv) == (other.script, other.argv)
    return not same_bytes and (new.says, new.because) != (other.says, other.because)


def _because(state: State, fix: Fix) -> List[Tuple[int, str]]:
    lines = [(line_of(state.job.source, edit.span.start), edit.because) for edit in fix.edits]
    return lines + [(0, edit.because) for edit in fix.argv_edits]


def _rewritten(start: State, state: State, says: Tuple[str, ...], because: List[Tuple[int, str]]) -> Rewritten:
    script = state.job.source if state.job.source != start.job.source else None
    return Rewritten(script, state.job.submission.argv, says, tuple(dict.fromkeys(because)))


def _next(state: State, start: State, site: Site) -> Optional[Tuple[Finding, Fix, State]]:
    """Return the first change that does what it says, and what it leads to."""
    return next(_each(state, start, site), None)


def _may_be_changed(decision: Decision) -> bool:
    """Return whether a rule has a change, or a proven finding may have one that is searched for."""
    return any(suspect.fixes or suspect.proven for suspect in decision.findings)


def _each(state: State, start: State, site: Site) -> Iterator[Tuple[Finding, Fix, State]]:
    """Yield each change that does what it says, and what it leads to; none asks for less where others are made too."""
    from ..repair.cost import asks_for_less

    for finding in state.findings:
        own = False
        for fix in finding.fixes:
            for way in ways(fix, state.plan, state.job):
                after = tried(state, way, _again(site), loops=True)
                if after is None or (state is not start and asks_for_less(start.job, after.job)):
                    continue
                if _count(finding, after) >= _count(finding, state):
                    continue
                own = True
                if _proven(after) <= _proven(state):
                    yield finding, way, after
                    break
                more = _with_what_follows(finding, way, after, state, site)
                if more is not None:
                    yield (finding, *more)
                    break
        if not own and finding.proven and not finding.asks_for and not finding.elsewhere:
            yield from _searched(finding, state, site)


def _searched(finding: Finding, state: State, site: Site) -> Iterator[Tuple[Finding, Fix, State]]:
    """Yield the single decisions that make the plan whole, where the rule itself knows none: a second witness.

    Those that leave the worlds as they were meant come first.
    """
    from ..cures.decisions import decisions
    from ..plan.declared_worlds import lost
    from ..repair.cost import asks_for_less
    from ..repair.search import shown

    whole: List[Tuple[int, Fix, State]] = []
    for fix in decisions(state.plan, state.job, finding.code):
        after = tried(state, fix, _again(site))
        if after is None or after.proven() or asks_for_less(state.job, after.job) or not shown(after, state):
            continue
        if _count(finding, after) < _count(finding, state) and len(after.findings) < len(state.findings):
            whole.append((len(lost(state.played(), after.played())), fix, after))
    for _, fix, after in sorted(whole, key=lambda row: row[0])[:MOST_SEARCHED]:
        yield finding, fix, after


def _with_what_follows(
    finding: Finding, way: Fix, after: State, state: State, site: Site
) -> Optional[Tuple[Fix, State]]:
    """Return a change with what has to follow from it: fewer nodes, and the launcher that was to wait for more."""
    from ..repair.offers import completed

    rest = completed(after, _again(site))
    if not rest.whole or _count(finding, rest.state) >= _count(finding, state):
        return None
    if not _proven(rest.state) <= _proven(state):
        return None
    says = "; ".join((way.says, *dict.fromkeys(fix.says for _, fix in rest.taken)))
    whys = dict(rest.because)
    return Fix(_changed_lines(state, rest.state, finding.code, whys), way.safety, says, way.argv_edits), rest.state


def _changed_lines(before: State, after: State, why: str, whys: Mapping[int, str]) -> Tuple[Edit, ...]:
    """Return each line that is another then, as an edit; no change adds or takes away a line.

    *whys*: for what else a line is changed, what one mistake had hidden among it.
    """
    edits: List[Edit] = []
    start = 0
    lines = zip(before.job.source.split(b"\n"), after.job.source.split(b"\n"))
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            edits.append(Edit(Span(start, start + len(old)), new, whys.get(number, why)))
        start += len(old) + 1
    return tuple(edits)


def _again(site: Site) -> Again:
    """Return what plays a changed script again and says all that is said of it, what is likely among it."""

    def again(job: Job, source: bytes, argv: Tuple[bytes, ...]) -> Optional[State]:
        changed = understood(job.submission._replace(script=source, argv=argv), job.read, job.peruse)
        return advised(changed, site) if changed is not None else None

    return again


def _count(finding: Finding, state: State) -> int:
    return sum(other.code == finding.code for other in state.findings)


def _proven(state: State) -> Set[str]:
    return {finding.code for finding in state.proven()}


def _parses(source: bytes) -> bool:
    from ..bash.check import parses

    return parses(source)
