"""Values that count for nothing, because another one beats them."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...cures.option_edits import restate
from ...request.scheduler_words import is_pbs, option
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Oddity, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule

# Options of sbatch that lay out the job; what is said twice of others is seldom meant to differ.
_LAYOUT = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus-per-node", "gpus", "gres", "mem", "time",
           "partition", "account", "qos")  # fmt: skip


@rule("MPL107", "a value that another one beats")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where two -l lines of a script set the same resource, qsub takes the first; sbatch takes the last.

    Wrong: #PBS -l walltime=01:00:00, and #PBS -l walltime=12:00:00 below it
    Wrong: #SBATCH --nodes=4, and #SBATCH --nodes=1 below it
    Right: one of them, or qsub -l walltime=12:00:00 job.sh
    Why:   the job gets one hour, and qsub prints no warning. On the command line the last one counts, and of every
           other option also in a script. -C in a script has no effect at all. The script runs, so Maple changes
           nothing unasked: it offers the value that is written last.
    """
    if not is_pbs(job):
        yield from _said_twice(job)
        return
    for oddity in job.script.oddities:
        if oddity.kind == "ignored" and _misleads(job, oddity):
            fixes = _written_last(job, oddity)
            yield Finding("MPL107", oddity.says, oddity.span, fixes=fixes, help="remove the line that is not meant")


def _said_twice(job: Job) -> Iterator[Finding]:
    """Yield options of directives whose earlier value differs from the last one, which holds."""
    for name in _LAYOUT:
        given = [
            setting
            for setting in job.settings.all(name)
            if setting.origin.kind == "directive" and setting.origin.span is not None
        ]
        given.sort(key=lambda setting: setting.origin.span.start if setting.origin.span is not None else 0)
        if len(given) < 2 or job.settings.get(name) is not given[-1] and job.settings.get(name) != given[-1]:
            continue
        first, last = given[0], given[-1]
        if first.value != last.value:
            says = "--%s stands in line %d already, and sbatch takes the last one" % (name, first.origin.line)
            made = restate(job, last, first.value, "MPL107")
            shown = "--%s=%s, which is written first" % (name, first.value.decode("utf-8", "replace"))
            yield Finding("MPL107", says, last.origin.span, fixes=(made.fix(Safety.ASK, shown),) if made else (),
                          help="remove the line that is not meant")  # fmt: skip


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
