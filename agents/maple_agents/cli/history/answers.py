"""What `maple history` and `maple show` print with `--json`, and the shapes of it, which are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Optional, TypedDict

from maple_submit_filter.types import job_records
from maple_submit_filter.types.job_records import Outcome, Reached, Record, Value

from ...base.output import text, unified
from .versions import changed, diff, label, name_of, state, submitted

if TYPE_CHECKING:
    from ...ask.memory.versions import Job


class HowFar(TypedDict):
    """How far a run came, over the whole run; null is not known. *began*: the step at which it took the run up."""

    step: Optional[float]
    total: Optional[int]
    began: Optional[float]
    step_seconds: Optional[float]
    checkpoint: Optional[int]
    checkpoint_at: Optional[float]


class Submission(TypedDict):
    """One submission of a version. *job*: the scheduler's id, and *joined* how it is known; *state*: how it ended."""

    record: str
    at: float
    host: str
    verdict: str
    codes: list[str]
    how: str
    job: Optional[str]
    joined: Optional[str]
    state: Optional[str]
    exit_code: Optional[int]
    reached: Optional[HowFar]


class PartRead(TypedDict):
    """A piece of a job, the first and last of its lines, and why it was read again, or was not."""

    part: str
    lines: list[int]
    read: Annotated[str, "known|new|changed|above|anew"]


class Version(TypedDict):
    """A state of a job. *parent*: the one it was made from; *changed*: the parts that are not as there."""

    id: str
    parent: Optional[str]
    at: float
    argv: list[str]
    changed: list[str]
    diff: str
    parts: list[PartRead]
    values: list[Value]
    submissions: list[Submission]


class Lineage(TypedDict):
    """A job with its newest versions, the newest first."""

    lineage: str
    name: str
    path: str
    cwd: str
    versions: list[Version]


class End(TypedDict):
    """How a job ended that was submitted without Maple: only hooks told it. *at*: seconds since 1970."""

    job: str
    name: str
    state: str
    exit_code: Optional[int]
    at: Optional[float]


class History(TypedDict):
    """`maple history`."""

    jobs: list[Lineage]
    ends: list[End]


class Submitted(TypedDict):
    """What was handed over; "" for a script that is not kept."""

    script: str
    argv: list[str]
    diff: str


class Show(TypedDict):
    """`maple show`. *decision*: as `maple check` has it, secrets masked; null where nothing was found."""

    submission: Record
    version: Optional[job_records.Version]
    decision: Optional[dict[str, Any]]
    submitted: Submitted


def history(jobs: list[Job], ends: list[Outcome], limit: int) -> History:
    """Return jobs with the newest *limit* versions of each, and *ends* of jobs without a submission."""
    return History(jobs=[_lineage(job, limit) for job in jobs], ends=list(map(_end, ends)))


def show(record: Record, version: Optional[job_records.Version], decision: Optional[dict[str, Any]]) -> Show:
    """Return a submission with its version, what was decided, and what was handed over."""
    source, words = submitted(record, version, decision)
    before = version.script if version else b""
    difference = unified(before, source, name_of(version) if version else "")
    handed_over = Submitted(script=text(source), argv=words, diff=difference)
    return Show(submission=record, version=version, decision=decision, submitted=handed_over)


def _end(end: Outcome) -> End:
    return End(job=end.job, name=end.name, state=end.state, exit_code=end.exit_code, at=end.ended)


def _lineage(job: Job, limit: int) -> Lineage:
    newest = job.newest
    return Lineage(
        lineage=newest.lineage,
        name=newest.name,
        path=newest.path,
        cwd=newest.cwd,
        versions=[_version(version, job) for version in job.versions[:limit]],
    )


def _version(version: job_records.Version, job: Job) -> Version:
    parent = job.parent(version)
    return Version(
        id=version.id,
        parent=version.parent or None,
        at=version.at,
        argv=list(version.argv),
        changed=list(changed(version, parent)),
        diff=diff(version, parent),
        parts=[
            PartRead(part=label(part), lines=list(part.lines), read=state(part, version, parent))
            for part in version.parts
        ],
        values=list(version.values),
        submissions=[_submission(record) for record in job.records.get(version.id, ())],
    )


def _submission(record: Record) -> Submission:
    outcome = record.outcome
    return Submission(
        record=record.id,
        at=record.at,
        host=record.host,
        verdict=record.verdict,
        codes=list(record.codes),
        how=record.how,
        job=record.job or None,
        joined=record.joined or None,
        state=outcome.state if outcome else None,
        exit_code=outcome.exit_code if outcome else None,
        reached=_how_far(record.reached) if record.reached is not None else None,
    )


def _how_far(reached: Reached) -> HowFar:
    return HowFar(
        step=reached.step,
        total=reached.total,
        began=reached.began,
        step_seconds=reached.step_seconds,
        checkpoint=reached.checkpoint,
        checkpoint_at=reached.checkpoint_at,
    )
