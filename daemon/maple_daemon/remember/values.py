"""What is read of a submission's parts: each value with the line it stands on and who says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maple_agents.admission.analysis import analyse
from maple_submit_filter.answer import decision
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job_records import Part, Value
from maple_submit_filter.types.submission import Submission

from .sections import last_read

# What is asked of the scheduler: read of the directives, words and variables alone.
REQUESTED = frozenset(
    (
        "ntasks",
        "ntasks-per-node",
        "cpus-per-task",
        "partition",
        "queue",
        "qos",
        "account",
        "constraint",
        "time",
        "array",
    )
)


def values_of(submission: Submission, parts: Sequence[Part], site: Site) -> Iterator[Value]:
    """Yield what is known of a job from its script and the words around it; *submission* with the script as it runs.

    What the job does hangs on all of the script but its harmless end, so that is left out.
    """
    yield from _requested(submission, parts)
    last = last_read(parts)
    if last is not None and submission.script is not None:
        lines = submission.script.split(b"\n")[: last.lines[1]]
        yield from analyse(submission._replace(script=b"\n".join(lines) + b"\n"), parts, site).values


def _requested(submission: Submission, parts: Sequence[Part]) -> Iterator[Value]:
    job = decision.understood(submission, None)
    for one in job.settings if job is not None else ():
        part = _part(one.origin.line, one.origin.kind, parts)
        if one.name in REQUESTED and part is not None:
            value = one.value.decode("utf-8", "surrogateescape")
            yield Value(one.name, value, "", one.origin.line, part.hash, "script")


def _part(line: int, origin: str, parts: Sequence[Part]) -> Part | None:
    """Return the part in which a setting stands."""
    kind = {"argv": "argv", "environment": "variables"}.get(origin, "directives" if line else "")
    return next((one for one in parts if one.kind == kind), None)
