"""What one can do about a failure: a cure's difference, its steps with the names of this job, and what is left to try
where the log does not tell the cause.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from ...ask.submission import GENERIC
from ...base.difference import unified
from ..fix.registry import whole
from ..values import Case, Cure, Diagnosis
from .further_evidence import further_evidence
from .page_rows import short
from .safe import safe_lines, safe_script


def difference(cure: Cure, diagnosis: Diagnosis) -> str:
    """Return the unified diff of a cure as it may be shown, "" where it changes no script."""
    asked = diagnosis.case.asked
    if cure.script is None or asked is None or asked.script is None:
        return ""
    before, after = safe_script(asked.script), safe_script(cure.script)
    return safe_lines(unified(before, after, diagnosis.case.name or "job.sh"))


def changes(cure: Cure) -> bool:
    """Return whether a cure changes what is submitted, and is offered."""
    return (cure.script is not None or cure.argv is not None) and not cure.held_back


def changed(diagnosis: Diagnosis) -> bool:
    """Return whether a change is offered for the cause itself, not only for what stands beside it."""
    return any(changes(cure) and not cure.says.startswith("besides") for cure in diagnosis.cures)


# Steps to take with the names of this job in the places that general advice leaves open.

_JOB_SAID = re.compile(r"\b(?:StepId=|JobId=|JOB |STEP |job |Job )(\d{2,12})(?:[.\s]|$)")
_WORD = re.compile(r"[^\W_]{2,}|\$\w+|-\w+")
SAME = 0.8  # share of a step's words that its heading holds, from which it says nothing new


def filled(step: str, diagnosis: Diagnosis) -> str:
    """Return *step* with the job's id for JOBID and the script's name for JOB.sh, as far as they are known."""
    job, script = _job(diagnosis), diagnosis.case.name
    step = re.sub(r"\bJOBID\b", lambda _: job, step) if job else step
    return re.sub(r"\bJOB\.sh\b", lambda _: shlex.quote(script), step) if script and "/" not in script else step


def _job(diagnosis: Diagnosis) -> str:
    """Return the job's id, as it is known or as the evidence says it; "" where neither does."""
    if diagnosis.case.ended.id:
        return diagnosis.case.ended.id
    lines = [*diagnosis.causes[0].evidence, *diagnosis.cascade]
    jobs = {match[1] for evidence in lines for match in _JOB_SAID.finditer(evidence.text)}
    return jobs.pop() if len(jobs) == 1 else ""


def new(steps: Sequence[str], heading: str) -> list[str]:
    """Return the steps that say more than the heading above them."""
    words = set(_WORD.findall(heading.lower()))
    return [step for step in steps if not _is_in(step, words)]


def _is_in(step: str, words_above: set[str]) -> bool:
    words = set(_WORD.findall(step.lower()))
    return bool(words) and len(words & words_above) >= SAME * len(words)


# What one can do where the log does not tell the cause: show more of the job, look it up, ask people, say it later.

GOING_ON = ("pending", "running")


def steps(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what to do next, the cheapest first; nothing where the cause is known or all is well."""
    case, cause = diagnosis.case, diagnosis.causes[0].cause
    if cause == "none" and case.ended.state == "unknown":
        yield "how it ended is not known here; if it failed, add: --state failed --exit-code N"
    if cause != "unknown":
        return
    call = "maple-fix %s" % case.ended.id if case.ended.id else "maple-fix"
    if case.ended.state in GOING_ON:
        yield from _waiting(case, call)
        return
    yield from _more(case, call)
    yield from (filled(step, diagnosis) for step in further_evidence(diagnosis))
    yield "ask %s and send this page; secrets in it are masked%s" % (
        _people(case), ": %s > %s.txt" % (call, case.ended.id) if case.ended.id else ""
    )  # fmt: skip
    if case.ended.id:
        yield "once you know the cause: %s --was CLASS; Maple will recognise it next time" % call


def _waiting(case: Case, call: str) -> Iterator[str]:
    """What there is to see of a job that has not ended: nothing of it has failed yet."""
    job, slurm = case.ended.id, case.scheduler != "pbs"
    if case.ended.state == "pending":
        yield "it is still waiting; to see why, and when it may start: %s" % (
            "squeue --start -j %s" % job if slurm else "qstat -f %s | grep comment" % job
        )
    else:
        yield from (
            "it is still running; follow its output: tail -f %s" % short(log_file.path) for log_file in case.logs[:1]
        )
    yield "when it has ended: %s" % call


def _more(case: Case, call: str) -> Iterator[str]:
    if not case.logs or case.missing:
        yield "if it wrote elsewhere, name the file: %s --log FILE" % call
    if case.asked is None:
        yield "add its script, so that its launch lines are checked: --script FILE"


def _people(case: Case) -> str:
    site = whole(case.site) if case.site.id not in GENERIC else None
    return "the help desk of %s" % (site.center or site.name) if site is not None else "your cluster's help desk"
