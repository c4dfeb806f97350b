"""The last rung of repair: a script of another scheduler, written anew for this site, as one offer.

No small edit carries directives over. What is offered passes `maple check` itself, and is never applied unasked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from maple_submit_filter.answer.decision import Decision, Rewritten, decide, understood
from maple_submit_filter.answer.reply import heard
from maple_submit_filter.request.unread_directives import CODE, is_beyond_edits, other_scheduler
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Job, line_of

from ..ask.submission import Answer

if TYPE_CHECKING:
    from maple_agents.base.slots import Lacking
    from maple_agents.write.values import Carried


def with_last_rung(asked: Answer) -> Answer:
    """Return the answer with the whole script written for the site on offer, where only that helps.

    Where something is missing for it, a finding asks for it; where it cannot be written, `held_back` says why. Small
    edits that would mend the launch line for the nodes of a job that nobody meant are on offer no more. For any other
    script nothing is imported.
    """
    job = _beyond_edits(asked)
    if job is None:
        return asked
    decision = asked.decision._replace(offered=asked.decision.repaired)
    from maple_agents.base.slots import Lacking, Refused

    try:
        made = _carried(job, asked)
    except (Refused, ValueError) as error:
        return asked._replace(decision=_held(decision, str(error)))
    if isinstance(made, Lacking):
        return asked._replace(decision=decision._replace(findings=(*decision.findings, *_asking(made, decision))))
    return asked._replace(decision=_offering(made, job, asked, decision))


def _beyond_edits(asked: Answer) -> Optional[Job]:
    """Return the job, if it is one of another scheduler that small edits do not mend."""
    decision, source = asked.decision, asked.submission.script
    if not decision.findings or source is None:
        return None
    job = understood(asked.submission, None)
    cured = decision.repaired is not None
    return job if job is not None and is_beyond_edits(job, heard(decision, source), cured) else None


def _carried(job: Job, asked: Answer) -> "Carried | Lacking":
    """Return the script for the site, or what is missing. Raises `Refused`, or `ValueError` for a wrong site file."""
    from maple_agents.request.script import foreign_script as script
    from maple_agents.write import clusters
    from maple_agents.write.carry.carry import carry

    from ..request.script.slots import slots_of_words

    foreign = script.read(job.source, other_scheduler(job), asked.submission.path)
    return carry(foreign, clusters.cluster(asked.site.id), slots_of_words(job, asked.site))


def _asking(lacking: "Lacking", decision: Decision) -> tuple[Finding, ...]:
    """Return a finding for each slot that nothing asks for yet."""
    known = {finding.asks_for for finding in decision.findings}
    missing = [slot for slot in lacking.missing if slot.slot not in known]
    return tuple(
        Finding(CODE, "to be written for this site it lacks the %s: %s" % (slot.slot, slot.says), asks_for=slot.slot)
        for slot in missing
    )


def _offering(made: "Carried", job: Job, asked: Answer, decision: Decision) -> Decision:
    """Return the decision with the new script on offer, if the submit path finds nothing wrong with it."""
    left = decide(asked.submission._replace(script=made.script), asked.site)
    wrong = next((finding for finding in left.findings if finding.proven), None)
    if left.verdict == "unread" or wrong is not None:
        return _held(decision, left.why if wrong is None else "%s %s" % (wrong.code, wrong.says))
    because = tuple((_line(job), reason) for reason in (CODE, *_template(made)))
    says = ("%s the script is written for %s" % (CODE, asked.site.id), *_assumed(made), *made.advice)
    return decision._replace(offered=Rewritten(made.script, asked.submission.argv, says, because))


def _template(made: "Carried") -> tuple[str, ...]:
    """Return which launch template the words come from, as a rule's edits say it."""
    launch = made.plan.launch if made.plan is not None else None
    return ("%s revision %d" % (launch.name, launch.revision),) if launch is not None else ()


def _assumed(made: "Carried") -> tuple[str, ...]:
    """Return a sentence for each value of the request that nobody said."""
    request = ("nodes", "partition", "queue", "qos", "walltime", "filesystems")
    assumed = made.plan.assumed if made.plan is not None else ()
    return tuple("%s %s: %s" % (value.slot, value.value, value.because) for value in assumed if value.slot in request)


def _line(job: Job) -> int:
    """Return the line of the first directive of the other scheduler."""
    spans = [directive.span for directive in job.script.directives] + [oddity.span for oddity in job.script.oddities]
    return line_of(job.source, min(span.start for span in spans)) if spans else 1


def _held(decision: Decision, why: str) -> Decision:
    held = (CODE, "it cannot be written for this site: " + why)
    return decision._replace(held_back=(*decision.held_back, held))
