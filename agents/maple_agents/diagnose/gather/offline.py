"""A case from files alone: nobody is asked, so it is the same on any machine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job_records import STATES
from maple_submit_filter.types.submission import Submission

from ...ask.submission import source_of, submission
from ...base.complaint import Complaint
from ...base.secrets.masking import masked
from ..values import Case, Ended, LogFile
from .evidence_files import Gathered
from .launch_files import Facts, launched, redirected
from .name_patterns import Window, regular
from .places import known_site
from .script_outputs import play

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
    files, wrong = log_files(logs)
    source = source_of(script) if script is not None else None
    if not files and (logs or source is None):
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
        logs=tuple(files),
        missing=tuple(wrong),
        notes=tuple(masked(line) for line in left_unread(asked, site, files)) if asked is not None else (),
    )


def _by_code(exit_code: Optional[int]) -> str:
    """Return the state that an exit code alone tells."""
    return "unknown" if exit_code is None else "completed" if exit_code == 0 else "failed"


def log_files(names: Sequence[str]) -> tuple[list[LogFile], list[str]]:
    """Return the files that can be read, each once, with what their names tell; and a line for each that cannot.

    Of a folder that holds logs they are read.
    """
    files: list[LogFile] = []
    wrong: list[str] = []
    seen: set[tuple[int, int]] = set()
    for name in [path for named in names for path in _or_inside(named, wrong)]:
        why, key = _looked_at(name)
        if why:
            wrong.append("%s: %s" % (name, why))
        elif key is not None and key not in seen:
            seen.add(key)
            files.append(described(name))
    return _one_is_both(files), wrong


def _or_inside(name: str, wrong: list[str]) -> Sequence[str]:
    """Return *name*, or of a folder the logs in it; what is left out of them is said in *wrong*."""
    if "\0" in name or not os.path.isdir(name):
        return [name]
    inside = logs_in(name)
    wrong += ["%s: an older run, which is not read" % path for path in inside.older]
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


def _one_is_both(log_files: list[LogFile]) -> list[LogFile]:
    """A single file whose name says stdout may hold both streams (`-j oe`, no `-e`)."""
    if len(log_files) == 1 and log_files[0].role == "stdout" and log_files[0].rank is None:
        return [replace(log_files[0], role="both")]
    return log_files


__all__ = ["by_files", "described", "log_files"]


# Logs that the script writes to and that lie beside those that the user named: said, and not read.
#
# Without a scheduler nobody knows when the job ran, so they may be of another run.

SECONDS = 5.0  # for looking


def left_unread(asked: Submission, site: Site, read: Sequence[LogFile]) -> tuple[str, ...]:
    """Return a line that names them, nothing where there are none, or nobody knows in time. Raises nothing."""
    if not read:
        return ()
    folder = os.path.dirname(os.path.abspath(read[0].path))
    from ...ask.schedulers.commands import Worker  # only a script has a folder to look through
    from ...ask.schedulers.protocol import SchedulerError

    try:
        others_left = Worker("looking for more logs").call(lambda: _beside(asked, site, read, folder), SECONDS)
    except (SchedulerError, RecursionError, ValueError, LookupError, OSError):
        return ()
    if not others_left:
        return ()
    place = os.path.relpath(
        others_left[0] if len(others_left) == 1 else os.path.commonpath(map(os.path.dirname, others_left))
    )
    if len(others_left) == 1 or place == os.path.relpath(folder):
        others = " and %d more" % (len(others_left) - 1) if len(others_left) > 1 else ""
        return ("the script writes to %s%s too, not read: --log FILE" % (os.path.relpath(others_left[0]), others),)
    return ("the script writes to %d files in %s too, not read: --log %s" % (len(others_left), place, place),)


def _beside(asked: Submission, site: Site, read: Sequence[LogFile], folder: str) -> list[str]:
    """Return the files below *folder*, sorted. What was read of the script there is not ours to complain of."""
    facts = Facts(asked.scheduler, "", (), folder, {})
    played = play(asked._replace(cwd=os.fsencode(folder)), site, {})
    made = Gathered(Window())
    made.given(read)
    before = len(made.logs)
    made.sought([sought for sought in (*redirected(played, facts), *launched(played, facts)) if not sought.shared])
    return sorted(
        log_file.path for log_file in made.logs[before:] if log_file.path.startswith(folder.rstrip("/") + "/")
    )


# The logs in a folder that the user names: what is called like one, of the newest run where several lie there.

MOST = 200  # files
MOST_NAMES = 20_000  # that are looked at
DEEPEST = 6  # folders below the named one: torchrun's lie four deep
_LOG = re.compile(
    r"(?:.*\.(?:log|out|err|stdout|stderr|OU|ER)|.*\.[oe]\d+(?:\.\d+)?|(?:stdout|stderr)(?:[._].*)?|error(?:_file)?\.json"
    r"|.*(?:log|rank|out|err)[^/]*\.txt|rank[._-]?\d+)",
    re.DOTALL | re.ASCII,
)
_ATTEMPT = re.compile(r"attempt_\d+", re.ASCII)


class Inside(NamedTuple):
    """*paths*: what was written last comes last. *left*: how many more there are, or at least one where nobody knows.

    *older*: runs that are left aside.
    """

    paths: tuple[str, ...]
    left: int = 0
    older: tuple[str, ...] = ()


def logs_in(folder: str) -> Inside:
    """Return the logs in *folder* and below. Links to folders are not followed; one that cannot be read holds none."""
    logs: list[tuple[float, str]] = []
    runs: dict[str, float] = {}
    budget = [MOST_NAMES]
    for path, changed in _walked(folder, DEEPEST, budget):
        logs.append((changed, path))
        run = _run(path)
        if run:
            runs[run] = max(changed, runs.get(run, 0.0))
    newest = max(runs, key=lambda run: (runs[run], run), default="")
    kept = sorted(log for log in logs if _run(log[1]) in ("", newest))
    older = tuple(sorted(set(runs) - {newest}))
    return Inside(tuple(path for _, path in kept[-MOST:]), max(0, len(kept) - MOST) + (budget[0] <= 0), older)


def _run(path: str) -> str:
    """Return the folder of a run of torchrun's, `LOGS/RUN` of `LOGS/RUN/attempt_0/1/stderr.log`; "" for none."""
    names = path.split("/")
    at = next((index for index, name in enumerate(names) if _ATTEMPT.fullmatch(name)), 0)
    return "/".join(names[:at])


def _walked(folder: str, deep: int, budget: list[int]) -> Iterator[tuple[str, float]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget[0] -= 1
                if budget[0] <= 0:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if deep and not entry.name.startswith("."):
                        yield from _walked(entry.path, deep - 1, budget)
                elif _LOG.fullmatch(entry.name):
                    facts = regular(entry.path)
                    if facts is not None:
                        yield entry.path, facts.st_mtime
    except OSError:
        return
