"""Versions and submissions of one's own jobs, as the service tells them.

Jobs that an id may mean as users type it: without the server of PBS, a task for its array, and the reverse.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from maple_submit_filter.host import configuration, own_folders
from maple_submit_filter.types.job_records import TRIAL_SCRIPT, Outcome, Part, Reached, Record, Value, Version

from ..schedulers.pbs.jobs import same_server
from ..sites.this_site import COMMANDS, front_conf
from .service import OF_MAPLE, SECONDS, Refused, ask

_PART = re.compile(r"(\d+)[_+]\d+", re.ASCII)  # of Slurm's arrays and heterogeneous jobs
_PBS = re.compile(r"(\d+)(\[\d*\])?((?:\.[\w.-]*)?)", re.ASCII)

# By the verdict of a submission: which of the changes that were decided on went to the scheduler.
HANDED_OVER = {"repaired": "repaired", "accepted": "offered", "known-good": "offered"}
MOST = 500  # versions and submissions that are looked through
MOST_SCRIPTS = 50  # that come in one answer
_TRIAL = hashlib.sha256(TRIAL_SCRIPT).hexdigest()


class Job(NamedTuple):
    """One lineage: its versions, the newest first, and the submissions of each."""

    versions: tuple[Version, ...]
    records: dict[str, tuple[Record, ...]]

    @property
    def newest(self) -> Version:
        return self.versions[0]

    def parent(self, version: Version) -> Optional[Version]:
        """Return the version that one was made from, None where it is the first, or forgotten."""
        return next((other for other in self.versions if other.id == version.parent), None)


def jobs(wanted: str, path: str) -> list[Job]:
    """Return the jobs that are called *wanted*, as their script is, lie at *path*, or whose version's id begins so.

    All for "", but for those by which an administrator tried the service. A script may be named without its ending,
    where nothing has that very name. The one that was submitted last comes first. Raises as `ask` does.
    """
    versions = [version(row) for row in ask({"ask": "versions", "limit": MOST})]
    lineages = dict.fromkeys(
        made.lineage for made in versions if (_is(made, wanted, path) if wanted else made.script_hash != _TRIAL)
    )
    if not lineages:  # as people say it: without the ending of its file
        lineages = dict.fromkeys(made.lineage for made in versions if wanted in _stems(made))
    by_version: dict[str, list[Record]] = {}
    for record in records():
        by_version.setdefault(record.version, []).append(record)
    found_jobs = []
    for lineage in lineages:
        own = tuple(made for made in versions if made.lineage == lineage)
        found_jobs.append(Job(own, {made.id: tuple(by_version.get(made.id, ())) for made in own}))
    return sorted(found_jobs, key=_last, reverse=True)


def unread() -> list[Record]:
    """Return the submissions that are known without their script, the newest first. Raises as `ask` does."""
    return [record for record in records() if not record.version and record.verdict != "trial"]


def unrecorded() -> list[Outcome]:
    """Return how jobs ended of which only the scheduler's hooks know, the newest first. Raises `NoService`.

    An array is one, and not each of its tasks too; jobs of `maple verify` are none. An older service tells of none.
    """
    try:
        rows = ask({"ask": "ends", "limit": MOST})
    except Refused:
        return []
    ends = [Outcome(**_known(Outcome._fields, row)) for row in rows]
    known = {made.job for made in records()} | {end.job for end in ends} if ends else set()
    parts = {end.job for end in ends if any(name != end.job and name in known for name in _submitted_as(end.job))}
    return [end for end in ends if end.job not in parts and not OF_MAPLE.fullmatch(end.name)]


def with_scripts(job: Job) -> Job:
    """Return the job with the scripts of its newest versions."""
    rows = ask({"ask": "versions", "lineage": job.newest.lineage, "scripts": True, "limit": MOST_SCRIPTS})
    scripts = {row["id"]: version(row).script for row in rows}
    return job._replace(versions=tuple(made._replace(script=scripts.get(made.id, b"")) for made in job.versions))


def records(version: str = "", job: str = "", limit: int = MOST) -> list[Record]:
    """Return submissions, the newest first; of one with an offer with what came of that, where it is known."""
    submissions = [record(row) for row in ask({"ask": "records", "version": version, "job": job, "limit": limit})]
    if all(submission.verdict and not _is_open(submission) for submission in submissions):
        return submissions
    return with_answers(submissions, list(_audit_lines()), time.time())


def told_runs(name: str, limit: int, seconds: float = SECONDS) -> list[dict[str, Any]]:
    """Return what one's own ended jobs asked for and used, of one name or of all, the newest first. Raises as `ask`."""
    rows = ask({"ask": "runs", "name": name, "limit": limit}, seconds=seconds)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


# What came of an offer. The service has answered before the user is asked; the front's own audit line comes after.

ANSWERED = {"accepted": "accepted", "findings": "declined"}  # by the verdict of the line
ASKED = 60.0  # seconds after which a question has its answer
TAIL = 1 << 20  # bytes of a file of audit lines that are looked through


def _is_open(record: Record) -> bool:
    return record.verdict == "findings" and bool(record.offered_hash)


def with_answers(records: Sequence[Record], lines: Sequence[Mapping[str, Any]], now: float) -> list[Record]:
    """Return the submissions with what the user's own audit *lines* tell of each offer: "accepted" or "declined".

    "ended" where nothing was submitted: there is no line of it, and there are older ones of its host. Of one that the
    helper answered, because the service was late, *how* is "late-" and the verdict of the line, with its codes.
    """
    verdicts = {row.get("record"): str(row.get("verdict")) for row in lines}
    records = _of_helper(records, lines)
    since: dict[Any, str] = {}
    for line in lines:
        since[line.get("host")] = min(str(line.get("time")), since.get(line.get("host"), "~"))
    return [
        _answered(record, verdicts, since.get(record.host, "~"), now) if _is_open(record) else record
        for record in records
    ]


def _of_helper(records: Sequence[Record], lines: Sequence[Mapping[str, Any]]) -> list[Record]:
    audited = {line.get("record"): line for line in lines}
    return [
        record._replace(
            how="late-%s" % audited[record.id].get("verdict"),
            codes=tuple(map(str, audited[record.id].get("codes") or ())),
        )
        if not record.verdict and record.id in audited
        else record
        for record in records
    ]


def _answered(record: Record, verdicts: Mapping[Any, str], since: str, now: float) -> Record:
    if record.id in verdicts:
        return record._replace(verdict=ANSWERED.get(verdicts[record.id], record.verdict))
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.at))
    return record._replace(verdict="ended") if since <= at and now - record.at > ASKED and not record.job else record


def _audit_lines() -> Iterator[Mapping[str, Any]]:
    """Yield the user's own audit lines: of the installation here, and of the own state folder."""
    conf = next(filter(None, map(front_conf, COMMANDS)), "")
    spool = configuration.read_conf(conf).get("audit", "") if conf else ""
    own = own_folders.state()
    paths = [f"{spool}/{os.getuid()}.jsonl"] if spool else []
    for path in [*paths, *([f"{own}/audit.jsonl"] if own else [])]:
        yield from _lines(path)


def _lines(path: str) -> Iterator[Mapping[str, Any]]:
    try:
        with open(path, "rb", opener=_own_file) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            for line in file.read(TAIL).split(b"\n"):
                with contextlib.suppress(ValueError):
                    row = json.loads(line)
                    if isinstance(row, dict):
                        yield row
    except OSError:
        return


def _own_file(path: str, flags: int) -> int:
    """Open a file of one's own; in a spool anybody may lay another of that name. Raises `OSError`."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    facts = os.fstat(descriptor)
    if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.getuid():
        return descriptor
    os.close(descriptor)
    raise PermissionError(path)


def decision(key: str) -> Optional[dict[str, Any]]:
    """Return what was decided as `maple check --json` has it, secrets masked; None where that is not kept."""
    answer = ask({"ask": "decision", "decision": key}) if key else None
    return answer if isinstance(answer, dict) else None


def version(row: dict[str, Any]) -> Version:
    """Return the version that the service tells of."""
    made = dict(row)
    made["script"] = (row["script"] or "").encode("utf-8", "surrogateescape")
    made["argv"] = tuple(row["argv"])
    made["parts"] = tuple(Part(**{**part, "lines": tuple(part["lines"])}) for part in row["parts"])
    made["values"] = tuple(Value(**value) for value in row["values"])
    return Version(**_known(Version._fields, made))


def record(row: dict[str, Any]) -> Record:
    """Return the submission that the service tells of."""
    outcome = row["outcome"]
    made = {**row, "codes": tuple(row["codes"])}
    made["outcome"] = Outcome(**_known(Outcome._fields, outcome)) if outcome else None
    reached = row.get("reached")
    made["reached"] = Reached(**_known(Reached._fields, reached)) if reached else None
    return Record(**_known(Record._fields, made))


def _known(fields: Iterable[str], row: dict[str, Any]) -> dict[str, Any]:
    """Return what is known here: a newer service may tell more."""
    return {name: row[name] for name in fields if name in row}


def _is(version: Version, wanted: str, path: str) -> bool:
    begins = len(wanted) >= 6 and (version.id.startswith(wanted) or version.lineage.startswith(wanted))
    called = wanted in (version.name, os.path.basename(version.path))  # from any folder: a name is no path
    return called or bool(version.path) and version.path == path or begins


def names() -> list[str]:
    """Return what one's own jobs are called, each once, the newest first. Raises as `ask` does."""
    versions = [version(row) for row in ask({"ask": "versions", "limit": MOST})]
    return list(dict.fromkeys(name for made in versions for name in (os.path.basename(made.path), made.name) if name))


def _stems(version: Version) -> set[str]:
    return {os.path.splitext(name)[0] for name in (version.name, os.path.basename(version.path))}


def _last(job: Job) -> float:
    times: Sequence[float] = [record.at for records in job.records.values() for record in records[:1]]
    return max((*times, job.newest.at))


def is_meant(asked: str, known: str) -> bool:
    """Return whether *asked* names the job *known*, or an array or heterogeneous job that it is a part of."""
    if asked == known:
        return True
    part, here, there = _PART.fullmatch(known), _PBS.fullmatch(asked), _PBS.fullmatch(known)
    if part is not None:
        return asked == part[1]
    if here is None or there is None or here[1] != there[1]:
        return False
    whole = here[2] in (None, "[]") and there[2] is not None
    return (whole or here[2] == there[2]) and same_server(here[3][1:], there[3][1:])


def submission(asked: str) -> Optional[Record]:
    """Return the submission that became the job that *asked* names, the newest of several; a task's is its array's.

    None where none is remembered. Raises as `asking.ask` does.
    """
    for name in _submitted_as(asked):
        bare, _, server = name.partition(".")
        latest = records(job=name, limit=1) or (records(job=bare, limit=1) if server else [])
        if latest and same_server(server, latest[0].job.partition(".")[2]):
            return latest[0]
    return None


def _submitted_as(asked: str) -> list[str]:
    """Return what the submit command may have called it: a job of its own, or the whole that it is a part of."""
    part, pbs = _PART.fullmatch(asked), _PBS.fullmatch(asked)
    if part is not None:
        return [asked, part[1]]
    whole = ["%s%s%s" % (pbs[1], sign, pbs[3]) for sign in ("[]", "")] if pbs is not None else []
    return list(dict.fromkeys((asked, *whole)))
