"""Values that count for nothing, because another one beats them."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...cures.option_edits import restate
from ...request.scheduler_words import option
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Oddity, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL107", "a value that another one beats", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where two -l lines of a script set the same resource, qsub takes the first.

    Wrong: #PBS -l walltime=01:00:00, and #PBS -l walltime=12:00:00 below it
    Right: one of them, or qsub -l walltime=12:00:00 job.sh
    Why:   the job gets one hour, and qsub prints no warning. On the command line the last one counts, and of every
           other option also in a script. -C in a script has no effect at all. The script runs, so Maple changes
           nothing unasked: it offers the value that is written last.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "ignored" and _misleads(job, oddity):
            fixes = _written_last(job, oddity)
            yield Finding("MPL107", oddity.says, oddity.span, fixes=fixes, help="remove the line that is not meant")


def _written_last(job: Job, oddity: Oddity) -> Tuple[Fix, ...]:
    """Give the line that counts the value of the one below it, which nobody reads."""
    beaten = _at(job, oddity)
    holds = job.settings.get(beaten.name) if beaten is not None else None
    if beaten is None or holds is None or holds.origin.kind != "directive" or not beaten.value:
        return ()
    made = restate(job, holds, beaten.value, "MPL107")
    says = option(job, holds.name, beaten.value.decode("utf-8", "replace"))
    return (made.fix(Safety.ASK, "%s, which is written last" % says),) if made is not None else ()


def _misleads(job: Job, oddity: Oddity) -> bool:
    """Return whether the script would get something else for that line, and the command line does not decide."""
    setting = _at(job, oddity)
    if setting is None:
        return True
    holds = job.settings.get(setting.name)
    return holds is None or (holds.origin.kind == "directive" and holds.value != setting.value)


def _at(job: Job, oddity: Oddity) -> Optional[Setting]:
    settings = (setting for line in job.script.directives for setting in line.settings)
    return next(
        (setting for setting in settings if oddity.span in (setting.origin.value_span, setting.origin.span)), None
    )
