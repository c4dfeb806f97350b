"""What is read of a submission's parts: each value with the line it stands on and who says so."""

from __future__ import annotations

from collections.abc import Sequence

from maple_submit_filter import decide
from maple_submit_filter.job_records import Part, Value
from maple_submit_filter.submission import Submission

WANTED = (
    "nodes",
    "ntasks",
    "ntasks-per-node",
    "gpus",
    "gpus-per-node",
    "partition",
    "queue",
    "account",
    "time",
    "array",
)


def values_of(submission: Submission, parts: Sequence[Part]) -> list[Value]:
    """Return what is known of a job from its script and the words around it."""
    job = decide.understood(submission, None)
    if job is None:
        return []
    found = []
    for one in job.settings:
        part = _part(one.origin.line, one.origin.kind, parts)
        if one.name in WANTED and part is not None:
            value = one.value.decode("utf-8", "surrogateescape")
            found.append(Value(one.name, value, "", one.origin.line, part.hash, "script"))
    return found


def _part(line: int, origin: str, parts: Sequence[Part]) -> Part | None:
    """Return the part that a line is in; what was said elsewhere is in the words or variables."""
    kind = {"argv": "argv", "environment": "variables"}.get(origin)
    if kind:
        return next((one for one in parts if one.kind == kind), None)
    return next((one for one in parts if line and one.lines[0] <= line <= one.lines[1]), None)
