"""A diagnosis as `maple-fix --json` prints it, in the shape of `schema.py`, which is stable: other programs read it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ...ask.submission import GENERIC
from ...base.difference import unified
from ...templates.knowledge import meanings
from ..fix.registry import whole
from ..values import Case, Cause, Cure, Diagnosis, Evidence
from . import schema
from .page_rows import short
from .safe import safe_lines, safe_script, safe_words
from .site_help import here

VERSION: Literal[1] = 1  # of the shape; a key that is added does not change it
Object = dict[str, object]


def as_json(diagnosis: Diagnosis) -> Object:
    """Return a diagnosis as JSON; what is not known is null, or an empty list. Every text may be shown as it is."""
    return answer(diagnosis).dumped()


def answer(diagnosis: Diagnosis) -> schema.Answer:
    """Return a diagnosis in the shape that programs read."""
    first, ended = diagnosis.causes[0], diagnosis.case.ended
    return schema.Answer(
        version=VERSION,
        job=ended.id or None,
        site=diagnosis.case.site.id,
        site_known_by=diagnosis.case.site_known_by or None,
        state=None if ended.state == "unknown" else ended.state,
        exit_code=ended.exit_code,
        cause=schema.Cause(**_cause(first)),
        evidence=_lines(first.evidence),
        cascade=_lines(diagnosis.cascade),
        fixes=[_cure(cure, diagnosis) for cure in diagnosis.cures],
        by=first.by,
        others=[schema.Other(**_cause(cause), evidence=_lines(cause.evidence)) for cause in diagnosis.causes[1:]],
        excerpt=_lines(diagnosis.excerpt),
        documents=[
            schema.Passage(file=cited.file, line=cited.line, heading=cited.heading, text=cited.text)
            for cited in diagnosis.cited
        ],
        advice=diagnosis.advice or None,
        here=list(here(diagnosis)),
        next=list(steps(diagnosis)),
        again=_again(first),
        missing=list(diagnosis.case.missing),
        notes=list(diagnosis.case.notes),
    )


def _cause(cause: Cause) -> dict[str, Any]:
    return {"cause": cause.cause, "says": cause.says, "confidence": round(cause.confidence, 2), "likely": cause.likely,
            "voters": list(cause.voters)}  # fmt: skip


def _again(cause: Cause) -> schema.Again | None:
    """Return whether the same job is worth running again, None where no class is known that would tell."""
    known = meanings().get(cause.cause)
    return None if known is None else schema.Again(helps=known.again, because=known.because)


def _lines(lines: Iterable[Evidence]) -> list[schema.Line]:
    return [schema.Line(file=evidence.file, line=evidence.line, text=evidence.text) for evidence in lines]


def _cure(cure: Cure, diagnosis: Diagnosis) -> schema.Fix:
    return schema.Fix(
        kind=cure.kind,
        says=cure.says,
        safety=cure.safety,
        diff=difference(cure, diagnosis) or None,
        argv=None if cure.argv is None else safe_words(cure.argv),
        steps=[filled(step, diagnosis) for step in cure.steps],
        held_back=cure.held_back or None,
    )


def difference(cure: Cure, diagnosis: Diagnosis) -> str:
    """Return the unified diff of a cure as it may be shown, "" where it changes no script."""
    asked = diagnosis.case.asked
    if cure.script is None or asked is None or asked.script is None:
        return ""
    before, after = safe_script(asked.script), safe_script(cure.script)
    return safe_lines(unified(before, after, diagnosis.case.name or "job.sh"))


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
    found = {match[1] for evidence in lines for match in _JOB_SAID.finditer(evidence.text)}
    return found.pop() if len(found) == 1 else ""


def new(steps: Sequence[str], heading: str) -> list[str]:
    """Return the steps that say more than the heading above them."""
    said = set(_WORD.findall(heading.lower()))
    return [step for step in steps if not _is_in(step, said)]


def _is_in(step: str, said: set[str]) -> bool:
    words = set(_WORD.findall(step.lower()))
    return bool(words) and len(words & said) >= SAME * len(words)


# What one can do where the log does not tell the cause: show more of the job, look it up, ask people, say it later.

GOING_ON = ("pending", "running")
_LOUD = (
    "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "TORCH_DISTRIBUTED_DEBUG=DETAIL", "NCCL_DEBUG=INFO",
)  # fmt: skip


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
    yield "run it again with more output: %s" % louder(case)
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


def louder(case: Case) -> str:
    """Return the lines that make a job tell more and that its script does not hold; no trace where it has secrets."""
    script = (case.asked.script if case.asked is not None else None) or b""
    names = [one for one in _LOUD if one.partition("=")[0].encode() not in script]
    told = ["export " + " ".join(names)] if names else []
    if script and b"set -x" not in script and safe_script(script) == script:
        told.append("set -x")
    return "; ".join(told) or "on one node, where the error may show sooner"


def _people(case: Case) -> str:
    site = whole(case.site) if case.site.id not in GENERIC else None
    return "the help desk of %s" % (site.center or site.name) if site is not None else "your cluster's help desk"
