"""What Maple's own service remembers of a job: what was really submitted, what the user had written, how it ended."""

from __future__ import annotations

import os
from typing import Any

from maple_submit_filter.types.job_records import Outcome, Record, Version

from ....ask.memory.service import NoService, Refused, ask
from ....ask.memory.versions import HANDED_OVER, decision, is_meant, submission, version
from ..name_patterns import NO_INDEX
from .job_facts import JobFacts

MASKED = b"[masked]"


def remembered(job_id: str) -> JobFacts | None:
    """Return what the service tells of the caller's own job; None where there is no service, or it knows no such job.

    A task of an array is found by the array's id too: then only what was submitted is told.
    """
    try:
        return _facts(job_id)
    except (NoService, Refused, OSError, LookupError, TypeError, ValueError):
        return None


def of_submission(record: Record) -> JobFacts | None:
    """Return what the service tells of a submission, None where it tells nothing."""
    try:
        return _of_record(record, "", whole=False)
    except (NoService, Refused, OSError, LookupError, TypeError, ValueError):
        return None


def _facts(job_id: str) -> JobFacts | None:
    record = submission(job_id)
    if record is None:
        return None
    return _of_record(record, job_id, whole=is_meant(job_id, record.job))


def _of_record(record: Record, job_id: str, whole: bool) -> JobFacts:
    answer = ask({"ask": "version", "version": record.version}) if record.version else None
    made = version(answer) if answer else None
    decided = decision(record.decision) if record.decision else None
    script, argv = _submitted(record, made, decided)
    changed = made is not None and script != made.script
    out = _outcome(record.outcome if whole else None)
    return JobFacts(
        by="Maple",
        scheduler=made.scheduler if made else "",
        id=record.job or job_id,
        owner=os.getuid(),
        name=made.name if made else "",
        submitted=record.at,
        site=str((decided or {}).get("site") or ""),
        work_dir=made.cwd if made else "",
        script=script or None,
        before=made.script if made is not None and changed else None,
        path=made.path if made else "",
        argv=argv,
        exact=argv is not None,
        **out,
    )


def _submitted(
    record: Record, made: Version | None, decided: dict[str, Any] | None
) -> tuple[bytes, tuple[bytes, ...] | None]:
    """Return script and words that were handed over, secrets masked."""
    if made is None:
        return b"", None
    new = (decided or {}).get(HANDED_OVER.get(record.verdict, ""))
    if new:
        return new["script"].encode("utf-8", "surrogateescape"), _bytes(new["argv"])
    return made.script, _bytes(made.argv)


def _bytes(words: Any) -> tuple[bytes, ...] | None:
    encoded = tuple(str(word).encode("utf-8", "surrogateescape") for word in words)
    return None if not encoded or any(MASKED in word for word in encoded) else encoded


def _outcome(outcome: Outcome | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    return {
        "state": outcome.state,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "started": outcome.started,
        "ended": outcome.ended,
        "nodes": tuple(part for part in outcome.nodes.split(",") if part) if "[" not in outcome.nodes else (),
        "stdout": outcome.output if outcome.output and NO_INDEX not in outcome.output else None,
        "stderr": outcome.error if outcome.error and NO_INDEX not in outcome.error else None,
    }
