"""What stands where a job's id is expected: a job, a log, or a batch script.

The job that is meant where none is named: the caller's last one that failed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import click
from maple_submit_filter.answer.report import printable

from ...base import output
from ...base.complaint import Complaint
from ...base.terminal import at_terminal
from ...diagnose.at_end import kept

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Record

_taken: List[str] = []  # by this call: the line that it ends with need not tell of that job again
FILES = "or name files: maple-fix --log FILE --script FILE --site ID"

LOOKED_AT = 16 * 1024  # bytes of a file
_OF_LOGS = re.compile(r"\.(?:out|err|log|txt|[oe]\d+)\Z", re.IGNORECASE)
_SHELL = re.compile(rb"#![^\n]*\b(?:ba|z|k|da|tc|c)?sh\b")
_DIRECTIVE = re.compile(rb"^#(?:SBATCH|PBS)[ \t]+-", re.MULTILINE)


class Named(NamedTuple):
    """What is to be explained."""

    job: Optional[str]
    logs: Tuple[str, ...] = ()
    script: Optional[str] = None


def named(job: Optional[str], logs: Tuple[str, ...], script: Optional[str]) -> Named:
    """Return what *job* names beside *logs* and *script*. Raises `Complaint` for a script where nobody can be asked."""
    if job is None or job == "last" or script is not None or not _is_file(job):
        return Named(job, logs, script)
    if not is_script(job):
        return Named(None, (job, *logs))
    if logs:  # there is a log, so what stands beside it is the script
        return Named(None, logs, job)
    if not at_terminal():
        raise Complaint(
            "%s is a batch script, not a job or a log" % job,
            "for its failed job: maple-fix --script %s --log FILE; before submitting: maple check %s" % (job, job),
        )
    return Named(None, (), job) if _agreed(job) else Named(None, (job,))


def is_script(path: str) -> bool:
    """Return whether a file is a batch script: by its first bytes, unless it is called as logs are."""
    if _OF_LOGS.search(path):
        return False
    try:
        with open(path, "rb") as file:
            begins = file.read(LOOKED_AT)
    except OSError:
        return False
    return bool(_SHELL.match(begins) or _DIRECTIVE.search(begins))


def _agreed(script: str) -> bool:
    """Return whether the user means the script; an empty answer says so."""
    from ...diagnose.read.clean_lines import safe

    click.echo(safe("maple: %s is a batch script. Use it as --script? [Y/n] " % script), nl=False, err=True)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _is_file(name: str) -> bool:
    """Return whether a file is named in place of a job: no job's id has a letter before its first dot or bracket."""
    return not name[:1].isdigit() and os.path.isfile(name)


def last_failed(acts: bool, asked_for: bool = False) -> str:
    """Return the id of the job of one's own that failed last, and say on stderr which it is. Raises `Complaint`.

    Of a submission after it that was refused, and so has no job, its own id.

    Only on a terminal, or where it was *asked_for*: a program names the job that it means. *acts*: something is to be
    submitted or remembered; for that the job is named, because another may have failed since the user looked.
    """
    if not asked_for and not _is_seen():
        raise Complaint("name a job, or files", "maple-fix JOBID, maple-fix last, or maple-fix --log FILE")
    from ...diagnose.gather.refusals import last_refused
    from ...diagnose.gather.which_job import last_failed as found_last

    last, refused = found_last(), last_refused()
    if refused is not None and (last is None or (last.ended or 0.0) < refused.at):
        return _refused(refused, acts)
    if last is None:
        raise Complaint("none of your jobs is known to have failed", "name one: maple-fix JOBID, " + FILES)
    name = " (%s)" % last.name if last.name else ""
    shown = "%s%s, %s%s" % (last.job, name, last.state, _when(last.ended, time.time()))
    if acts:
        raise Complaint("name the job, so that no other is changed", "your last failed job is %s" % shown)
    from ...diagnose.read.clean_lines import safe

    click.echo(safe("maple: your last failed job: %s" % shown), err=True)
    _taken.append(last.job)
    return last.job


def _refused(record: "Record", acts: bool) -> str:
    """Return the id of the submission that was refused, and say on stderr which it is. Raises `Complaint`."""
    shown = "%s,%s" % (record.id, _when(record.at, time.time()))
    if acts:
        raise Complaint("name the submission, so that no other is changed", "your last one was refused: %s" % shown)
    click.echo("maple: your last submission was refused: %s" % shown, err=True)
    return record.id


def taken() -> Optional[str]:
    """Return the job that this call took by itself, None for none."""
    return _taken[-1] if _taken else None


def _is_seen() -> bool:
    return sys.stdout.isatty() and sys.stderr.isatty()


def _when(ended: float | None, now: float) -> str:
    """Return when it was, as people say it; "" where nobody knows."""
    if ended is None or not 0 < ended <= now + 60:
        return ""
    minutes = max(0, int(now - ended) // 60)
    if minutes < 1:
        return " just now"
    if minutes < 120:
        return " %d minute%s ago" % (minutes, "" if minutes == 1 else "s")
    local = time.localtime(ended)
    return time.strftime(" at %H:%M" if now - ended < 20 * 3600 else " on %d %B, %H:%M", local)


def shown(job: str, as_json: bool) -> Optional[int]:
    """Print what was found at the end of a job, and return the exit code; None where nothing was."""
    from ...diagnose.tell.json_form import VERSION

    record = kept(job, time.time())
    try:
        if record is None:
            return None
        answer, text, at = record["told"], str(record["shown"]), float(record["at"])
        if answer["version"] != VERSION:
            return None
        unknown = answer["cause"]["class"] == "unknown"
    except (KeyError, TypeError, ValueError):
        return None
    if as_json:
        output.echo(answer)
    else:
        for line in text.splitlines():
            click.echo(printable(line))
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
        click.echo("found at the job's end, %s; maple-fix %s --anew reads the logs again" % (when, printable(job)))
    _remembered(answer)
    return 1 if unknown else 0


def _remembered(answer: Dict[str, Any]) -> None:
    """Tell the service the class that was found at the job's end: a node of the job's may have had no way to it."""
    from ...diagnose.class_report import tell

    cause = answer["cause"]
    if not cause.get("likely"):
        tell(str(answer.get("job") or ""), str(cause["class"]))
