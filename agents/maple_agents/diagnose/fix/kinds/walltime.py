"""More time: never less than before, never more than the site's file allows."""

from __future__ import annotations

from maple_submit_filter.types.edits import Fix
from maple_submit_filter.types.job import Job

from ....base import quantities
from ....base.quantities import clock
from ..registry import Given, fix
from .directives import with_option
from .step_limits import Limit, of_step, own, raised

TIME = {"slurm": "time", "pbs": "walltime"}
DAY = 86400


@fix("raise-walltime")
def raise_walltime(given: Given) -> Fix | None:
    """Ask for *factor* times the time limit that ended the job (2), up to the longest of its partition, queue or QOS.

    The limit is the one that the scheduler tells, else what the script asked for.
    """
    name = TIME[given.case.scheduler]
    step = Limit(("time",), _read, lambda _: asked(given.first, "slurm"), lambda had, most: _new(given, had, most))
    if given.case.scheduler == "slurm" and of_step(given) and own(given, step):
        return raised(given, step)  # the job's time is not what ended it
    limit = given.case.ended.limit or asked(given.first, given.case.scheduler)
    now = max(limit or 0.0, asked(given.job, given.case.scheduler) or 0.0)
    if not limit or not 0 < limit < 400 * DAY:
        return None
    wanted = min(limit * max(1.0, given.number("factor", 2.0)), longest(given) or float("inf"))
    if int(wanted) <= now:
        return None
    new = clock(wanted)
    return with_option(given, name, new, _says(given, new, clock(limit)))


def _says(given: Given, new: str, had: str) -> str:
    """Return what the fix does; a limit that no option set is the default of where the job ran."""
    if asked(given.job, given.case.scheduler) is not None:
        return "the time limit is %s in place of %s" % (new, had)
    where = "queue" if given.case.scheduler == "pbs" else "partition"
    return "a time limit of %s: the script sets none, and the %s gave %s" % (new, where, had)


def _read(raw: bytes) -> float | None:
    return quantities.asked(raw.decode("ascii", "replace"), "slurm")


def _new(given: Given, had: float, most: float) -> str:
    return clock(min(had * max(1.0, given.number("factor", 2.0)), most))


def longest(given: Given) -> float | None:
    """Return the longest time of the partition, queue and QOS of the job, None where the site has none."""
    site, settings = given.site, given.job.settings
    named = {
        "partition": settings.value("partition") or site.default_partition.encode(),
        "queue": settings.value("queue") or site.default_partition.encode(),
        "qos": settings.value("qos") or site.default_qos.encode(),
    }
    rows = [
        partition
        for partition in site.partitions
        if named.get(partition.selector) == partition.name.encode() and not partition.constraint
    ]
    return float(min((partition.max_walltime for partition in rows if partition.max_walltime), default=0)) or None


def asked(job: Job, scheduler: str) -> float | None:
    """Return the time limit that a job's words ask for, None where they say none or none that ends."""
    setting = job.settings.get(TIME[scheduler])
    return None if setting is None else quantities.asked(setting.value.decode("ascii", "replace"), scheduler)
