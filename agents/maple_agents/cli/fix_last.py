"""The job that is meant where none is named: the caller's last one that failed, where the service remembers one."""

from __future__ import annotations

import sys
from typing import Optional

import click
from maple_submit_filter.job_records import Record
from maple_submit_filter.report import printable

MOST = 200  # submissions that are looked through


def last_failed() -> Optional[str]:
    """Return the id of the job of one's own that failed last, and say on stderr which it is; None for none.

    Only on a terminal: a program names the job that it means.
    """
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return None
    found = max(_failed(), key=lambda one: (one.outcome.ended if one.outcome else None) or one.at, default=None)
    if found is None:
        return None
    click.echo("maple: job %s is the last of yours that failed" % printable(found.job), err=True)
    return found.job


def _failed() -> list[Record]:
    from ..memory.asking import NoService, Refused
    from ..memory.failed_jobs import failure_of
    from ..memory.remembered import records

    try:
        known = records(limit=MOST)
    except (NoService, Refused, OSError, LookupError, TypeError, ValueError):
        return []
    return [one for one in known if one.job and one.outcome is not None and failure_of(one.outcome) is not None]
