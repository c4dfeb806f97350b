"""The job that is meant where none is named: the caller's last one that failed."""

from __future__ import annotations

import sys
import time
from typing import List, Optional

import click

from ...base.complaint import Complaint

_taken: List[str] = []  # by this call: the line that it ends with need not tell of that job again
FILES = "or name files: maple-fix --log FILE --script FILE --site ID"


def last_failed(acts: bool, asked_for: bool = False) -> str:
    """Return the id of the job of one's own that failed last, and say on stderr which it is. Raises `Complaint`.

    Only on a terminal, or where it was *asked_for*: a program names the job that it means. *acts*: something is to be
    submitted or remembered; for that the job is named, because another may have failed since the user looked.
    """
    if not asked_for and not _is_seen():
        raise Complaint("name a job, or files", "maple-fix JOBID, maple-fix last, or maple-fix --log FILE")
    from ...diagnose.gather.last_failed import last_failed as found_last

    found = found_last()
    if found is None:
        raise Complaint("none of your jobs is known to have failed", "name one: maple-fix JOBID, " + FILES)
    name = " (%s)" % found.name if found.name else ""
    said = "%s%s, %s%s" % (found.job, name, found.state, _when(found.ended, time.time()))
    if acts:
        raise Complaint("name the job, so that no other is changed", "your last failed job is %s" % said)
    from ...diagnose.tell.safe import safe

    click.echo(safe("maple: your last failed job: %s" % said), err=True)
    _taken.append(found.job)
    return found.job


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
