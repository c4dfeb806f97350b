"""A case from files alone: nobody is asked, so it is the same on any machine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from maple_submit_filter.types.job_records import STATES

from ...ask.submission import source_of, submission
from ...base.complaint import Complaint
from ...base.secrets.masking import masked
from ..values import Case, Ended, LogFile
from .folders import logs_in
from .places import known_site
from .unread import left_unread

_RANK = re.compile(r"(?:rank|proc|task|worker)[._-]?(\d{1,6})(?!\d)", re.IGNORECASE)
_TORCHRUN = re.compile(r"attempt_\d+/(\d{1,6})/(?:stdout\.log|stderr\.log|error\.json)\Z")
_STDERR = re.compile(r"(?:\.err|\.stderr|stderr\.log|_stderr|\.ER|\.e\d+(?:\.\d+)?)\Z")
_STDOUT = re.compile(r"(?:stdout\.log|\.stdout|_stdout|\.OU|\.o\d+(?:\.\d+)?)\Z")


def by_files(
    logs: Sequence[str],
    script: Optional[str] = None,
    site_id: Optional[str] = None,
    words: Sequence[str] = (),
    state: Optional[str] = None,
    exit_code: Optional[int] = None,
) -> Case:
    """Return the case that files make: *logs* in the order given, a *script* and the *words* before it.

    *state*: one of `job_records.STATES`, None not known. Raises `Complaint` where no log and no script can be read, for
    a script that cannot be read, and for a state or a site that there is not.
    """
    if state and state not in STATES:
        raise Complaint("--state %s: there is no such state" % state, "there are %s" % ", ".join(STATES))
    found, wrong = log_files(logs)
    source = source_of(script) if script is not None else None
    if not found and (logs or source is None):
        raise Complaint(wrong[0] if wrong else "nothing to read", "name a log that you can read: --log FILE")
    site, known_by = known_site(site_id, source or b"")
    asked = (
        submission(script, source, list(words), site.scheduler) if script is not None and source is not None else None
    )
    return Case(
        ended=Ended(state=state or _by_code(exit_code), exit_code=exit_code),
        scheduler=site.scheduler,
        site=site,
        site_known_by=known_by,
        asked=asked,
        name="" if script is None else "stdin" if script == "-" else os.path.basename(script),
        logs=tuple(found),
        missing=tuple(wrong),
        notes=tuple(masked(line) for line in left_unread(asked, site, found)) if asked is not None else (),
    )


def _by_code(exit_code: Optional[int]) -> str:
    """Return the state that an exit code alone tells."""
    return "unknown" if exit_code is None else "completed" if exit_code == 0 else "failed"


def log_files(names: Sequence[str]) -> tuple[list[LogFile], list[str]]:
    """Return the files that can be read, each once, with what their names tell; and a line for each that cannot.

    Of a folder that holds logs they are read.
    """
    found: list[LogFile] = []
    wrong: list[str] = []
    seen: set[tuple[int, int]] = set()
    for name in [one for named in names for one in _or_inside(named, wrong)]:
        why, key = _looked_at(name)
        if why:
            wrong.append("%s: %s" % (name, why))
        elif key is not None and key not in seen:
            seen.add(key)
            found.append(described(name))
    return _one_is_both(found), wrong


def _or_inside(name: str, wrong: list[str]) -> Sequence[str]:
    """Return *name*, or of a folder the logs in it; what is left out of them is said in *wrong*."""
    if "\0" in name or not os.path.isdir(name):
        return [name]
    inside = logs_in(name)
    wrong += ["%s: an older run, which is not read" % one for one in inside.older]
    if inside.left:
        wrong.append("%s: there are more logs in it, which are not read" % name)
    return inside.paths or [name]


def _looked_at(name: str) -> tuple[str, Optional[tuple[int, int]]]:
    """Return why a file cannot be read, "" where it can, and what tells it from others."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        return (error.strerror.lower() if isinstance(error, OSError) and error.strerror else "is no file name"), None
    try:
        facts = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if stat.S_ISDIR(facts.st_mode):
        return "is a folder without logs; name the files in it", None
    if not stat.S_ISREG(facts.st_mode):
        return "is no regular file", None
    return "", (facts.st_dev, facts.st_ino)


def described(name: str) -> LogFile:
    """Return the file with what its name tells: the stream, and the rank."""
    if os.path.basename(name) in ("error.json", "error_file.json"):
        role = "error-file"
    else:
        role = "stderr" if _STDERR.search(name) else "stdout" if _STDOUT.search(name) else "both"
    rank = _TORCHRUN.search(name) or _RANK.search(os.path.basename(name))
    if rank and role == "both":
        role = "rank"
    return LogFile(name, role, int(rank[1]) if rank else None, "", "named by the user")  # type: ignore[arg-type]


def _one_is_both(found: list[LogFile]) -> list[LogFile]:
    """A single file whose name says stdout may hold both streams (`-j oe`, no `-e`)."""
    if len(found) == 1 and found[0].role == "stdout" and found[0].rank is None:
        return [replace(found[0], role="both")]
    return found


__all__ = ["by_files", "described", "log_files"]
