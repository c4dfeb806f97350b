"""Time in a unit that is hardly meant."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...cures.option_edits import at, restate
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_OF_HOURS = (24, 36, 48, 72, 96, 168)  # how long people train, and for how many minutes nobody
_SECONDS = 300  # of qsub, for which a number alone counts seconds
_UNIT = rb"(?i)(\d+)?[ -]?\b(?:h|hrs?|hours?|std|stunden|heures|horas)\b|(\d+)h\b"


@rule("MPL225", "a time in a unit that is hardly meant")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A number alone counts minutes for sbatch (sbatch(1), --time) and seconds for qsub; `48:00` minutes for both.

    Wrong: #SBATCH --time=48, or --time=48:00, or #SBATCH --time=20    # hours
    Wrong: #PBS -l walltime=24, or walltime=48:00
    Right: #SBATCH --time=48:00:00
    Why:   the job is ended after 48 minutes, in the middle of its first epoch (State=TIMEOUT). Said of numbers that
           are whole days of hours and no usual count of minutes, and of any where the line speaks of hours. Maple only
           shows the change.
    """
    setting = job.settings.get("walltime" if is_pbs(job) else "time")
    match = re.match(rb"(\d{1,4})(:\d\d)?\Z", setting.value.strip()) if setting is not None and plan.steps else None
    if setting is None or match is None:
        return
    number, behind = int(match.group(1)), match.group(2) or b""
    if not _unlikely(number, behind, is_pbs(job)) and not _speaks_of_hours(job.source, at(setting), number):
        return
    seconds = is_pbs(job) and not behind
    new = b"%02d:%02d:00" % divmod(number, 60) if seconds and number not in _OF_HOURS else (
        match.group(1) + (behind or b":00") + b":00")  # fmt: skip
    made = restate(job, setting, new, "MPL225")
    fixes = (made.fix(Safety.ASK, "a time of %s" % new.decode()),) if made is not None else ()
    says = "%s is %d %s, not hours" % (setting.value.decode(), number, "seconds" if seconds else "minutes")
    yield Finding("MPL225", says, at(setting), asks_for="walltime" if is_pbs(job) else "time", fixes=fixes,
                  help="hours are written with minutes and seconds: %s" % new.decode())  # fmt: skip


def _unlikely(number: int, behind: bytes, pbs: bool) -> bool:
    """Return whether a job of several processes is hardly meant to last so long."""
    if pbs and not behind:
        return 0 < number < _SECONDS
    return behind in (b"", b":00") and (number in _OF_HOURS or behind == b":00" and number == 120)


def _speaks_of_hours(source: bytes, span: Optional[Span], number: int) -> bool:
    """Return whether the comment behind an option calls its number hours: `--time=08:00  # 8 hours`."""
    if span is None:
        return False
    end = source.find(b"\n", span.end)
    comment = source[span.end : end if end >= 0 else len(source)].partition(b"#")[2]
    return any(not first + other or int(first or other) == number for first, other in re.findall(_UNIT, comment))
