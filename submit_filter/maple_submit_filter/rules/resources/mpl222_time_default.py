"""A time that nobody asked for."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import say
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from ...types.text import as_clock
from .. import rule
from ..limits import asked, judged, limit

_SHORT = 3600  # seconds: a default beyond may be what is wanted
_SAID = ("time", "walltime")
_FOR_TRIALS = ("debug", "dev", "test", "interactive")  # in the name of a partition: half an hour is what one wants


@rule("MPL222", "the time is left at a short default")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A job that asks for no time gets the default of its partition or queue, and is ended then.

    Wrong: sbatch train.sh without --time, in a partition of Delta: 30 minutes
    Right: #SBATCH --time=24:00:00
    Why:   the scheduler ends the training in the middle of an epoch (State=TIMEOUT, or walltime exceeded). Maple
           shows the most that may be asked for: how long the job takes is yours to say; maple forecast may know.
    """
    if not plan.steps or not judged(job, site) or any(asked(job, name) for name in _SAID):
        return
    default = limit(job, site, "default_walltime")
    if default is not None and default.most <= _SHORT and not any(word in default.row.name for word in _FOR_TRIALS):
        minutes = default.most // 60
        yield Finding(
            "MPL222",
            "no time is requested, and %s gives %d minutes then" % (default.row.name, minutes),
            asks_for="walltime" if job.submission.scheduler == "pbs" else "time",
            fixes=_the_most(job, site),
            help="say how long the job takes, a little more than that",
            site_fact=default.key,
        )


def _the_most(job: Job, site: Site) -> Tuple[Fix, ...]:
    """Ask for all the time that the partition or queue gives: the job is not ended before it must be."""
    most = limit(job, site, "max_walltime")
    if most is None:
        return ()
    words = ("-l walltime=%s" if job.submission.scheduler == "pbs" else "--time=%s") % as_clock(most.most).decode()
    return (say(job, words.encode(), "MPL222").fix(Safety.ASK, "%s, the most that %s gives" % (words, most.row.name)),)
