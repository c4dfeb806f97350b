"""What one can do where the log does not tell the cause: show more of the job, look it up, ask people, say it later."""

from __future__ import annotations

from collections.abc import Iterator

from ...ask.submission import GENERIC
from ..fix.site_files import whole
from ..values import Case, Diagnosis
from .rows import short
from .safe import safe_script

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
        yield from ("it is still running; follow its output: tail -f %s" % short(one.path) for one in case.logs[:1])
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
