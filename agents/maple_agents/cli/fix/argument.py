"""What stands where a job's id is expected: a job, a log, or a batch script."""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple, Optional, Tuple

import click

from ...base.complaint import Complaint
from ...base.terminal import at_terminal

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
    from ...diagnose.tell.safe import safe

    click.echo(safe("maple: %s is a batch script. Use it as --script? [Y/n] " % script), nl=False, err=True)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _is_file(name: str) -> bool:
    """Return whether a file is named in place of a job: no job's id has a letter before its first dot or bracket."""
    return not name[:1].isdigit() and os.path.isfile(name)
