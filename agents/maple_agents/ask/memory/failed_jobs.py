"""Jobs of one's own that failed, told in one line: by the service with the next submission, or by the next `maple`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from maple_submit_filter.answer.report import printable
from maple_submit_filter.types.job_records import Outcome

from ...base.quantities import elapsed

STATES = ("failed", "timeout", "out-of-memory", "node-failed")  # ends that nobody wished for
ENDED = {"timeout": "its time limit", "out-of-memory": "out of memory", "node-failed": "its node failed"}
MOST_NAME = 60  # characters
_PART = re.compile(r"(\d+)[_+]\d", re.ASCII)


class Failure(NamedTuple):
    """A job that failed. *job*: of an array the whole array's id. *seconds*: that it ran, None where not known."""

    job: str
    name: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    ended: float = 0.0


def failure_of(outcome: Outcome) -> Failure | None:
    """Return the failure that an end is, None for a job that ran well, goes on, or that somebody ended."""
    if outcome.state not in STATES:
        return None
    ran = outcome.ended - outcome.started if outcome.ended and outcome.started else None
    return Failure(
        whole(outcome.job), outcome.name, outcome.state, outcome.exit_code, outcome.signal,
        ran if ran is not None and ran >= 0 else None, outcome.ended or 0.0,
    )  # fmt: skip


def whole(job: str) -> str:
    """Return the id of the array or heterogeneous job that *job* is a part of: it is told once for all its tasks."""
    if "[" in job:
        first, _, rest = job.partition("[")
        return first + "[]" + rest.partition("]")[2]
    found = _PART.match(job)
    return found[1] if found else job


def said(failures: Sequence[Failure], cause: Callable[[str], str] = lambda job: "") -> str:
    """Return the line that tells of *failures*, the newest first; "" for none.

    *cause*: what a diagnosis made at the job's end says of it, "" for nothing.
    """
    if not failures:
        return ""
    one = failures[0]
    name = " (%s)" % one.name[:MOST_NAME] if one.name else ""
    after = " after %s" % elapsed(one.seconds) if one.seconds is not None else ""
    why = cause(one.job) or _ending(one)
    more = "; so did %d more of your jobs" % (len(failures) - 1) if len(failures) > 1 else ""
    text = "maple: job %s%s failed%s%s; maple-fix %s%s" % (
        one.job, name, after, ": " + why if why else "", one.job, more,
    )  # fmt: skip
    return printable(text)


def read(told: Any) -> list[Failure]:
    """Return the failures that the service tells of. Raises `ValueError` for what is no answer."""
    try:
        return [Failure(*one) for one in told]
    except TypeError as error:
        raise ValueError("not failures: %s" % error) from None


def _ending(one: Failure) -> str:
    if one.state in ENDED:
        return ENDED[one.state]
    if one.signal:
        return "signal %d" % one.signal
    return "exit code %d" % one.exit_code if one.exit_code else ""
