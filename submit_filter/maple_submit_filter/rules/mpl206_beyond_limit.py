"""More than the partition or QOS gives."""

from __future__ import annotations

from typing import Iterator, Optional

from ..edits import Fix, Safety
from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..limits import Limit, judged, limit
from ..saying import at, restate
from ..schedulers import values
from ..settings import Setting
from ..site import Site
from . import rule


@rule("MPL206", "more nodes or time than the partition gives")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A job beyond the limits of its partition or QOS is refused, or waits for ever.

    Wrong: #SBATCH --partition=gpuA100x4-interactive --time=04:00:00, where one hour is the most
    Right: #SBATCH --time=01:00:00, or another partition
    Why:   Slurm says: Requested time limit is invalid; where the site does not enforce limits at submission the job
           stays pending with PartitionTimeLimit or PartitionNodeLimit. Asks first.
    """
    if not judged(job):
        return
    for found in (_nodes(job, site), _too_few(job, site), _time(job, site)):
        if found is not None:
            yield found


def _wanted(job: Job) -> Optional[int]:
    """Return the fewest nodes that would do."""
    said = values.nodes(job.settings.value("nodes") or b"")
    tasks = values.whole(job.settings.value("ntasks") or b"")
    return None if said is None else min(said[0], tasks) if tasks else said[0]


def _nodes(job: Job, site: Site) -> Optional[Finding]:
    most, wanted = limit(job, site, "max_nodes"), _wanted(job)
    if most is None or wanted is None or wanted <= most.most:
        return None
    says = "%d nodes, but %s gives at most %d" % (wanted, most.row.name, most.most)
    return _finding(job, "nodes", says, most, b"%d" % most.most)


def _too_few(job: Job, site: Site) -> Optional[Finding]:
    said = values.nodes(job.settings.value("nodes") or b"")
    least = limit(job, site, "min_nodes")
    if said is None or least is None or said[1] >= least.most:
        return None
    says = "%d nodes, but %s takes no fewer than %d" % (said[1], least.row.name, least.most)
    return _finding(job, "nodes", says, least, b"")


def _time(job: Job, site: Site) -> Optional[Finding]:
    most = limit(job, site, "max_walltime")
    wanted = values.seconds(job.settings.value("time") or b"")
    if most is None or not wanted or wanted <= most.most:
        return None
    shown = "%02d:%02d:%02d" % (most.most // 3600, most.most // 60 % 60, most.most % 60)
    said = (job.settings.value("time") or b"").decode("utf-8", "replace")
    says = "a time limit of %s, but %s gives at most %s" % (said, most.row.name, shown)
    return _finding(job, "time", says, most, shown.encode())


def _finding(job: Job, name: str, says: str, row: Limit, value: bytes) -> Finding:
    setting = job.settings.get(name)
    fix = _with(job, setting, value)
    return Finding("MPL206", says, at(setting), True, fixes=(fix,) if fix is not None else (),
                   help="stay within it, or name another partition", site_fact=row.key)  # fmt: skip


def _with(job: Job, setting: Optional[Setting], value: bytes) -> Optional[Fix]:
    made = restate(job, setting, value, "MPL206") if setting is not None and value else None
    return made.fix(Safety.ASK, "--%s=%s" % (setting.name, value.decode())) if made and setting else None
