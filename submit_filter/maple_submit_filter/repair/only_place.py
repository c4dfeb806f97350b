"""Whether a partition, queue or constraint that a change names is the only one that a request can mean.

No place is chosen for a user who has several. One is the only one where the site has no other for so many GPUs and such
an account, or where the queue that was named can be reached no other way.
"""

from __future__ import annotations

from typing import Optional

from ..cures.places import open_to, route, usual
from ..request.scheduler_words import is_pbs
from ..site.facts import Site
from ..types.job import Job
from ..types.settings import Setting
from .search import State

PLACES = ("constraint", "partition", "queue")


def is_only(name: str, old: Optional[Setting], new: Setting, start: State, site: Site) -> bool:
    """Return whether *new* is the one value of the option *name* that the job as it was submitted can mean."""
    if name == "queue":
        return old is not None and _leads_to(old, new, start, site)
    if is_pbs(start.job) or not _gpus(start):
        return False
    if name == "constraint":
        return _only_feature(new.value.decode("utf-8", "replace"), start, site)
    return old is None and _charged_there(new.value.decode("utf-8", "replace"), start.job, site)


def _gpus(start: State) -> int:
    """Return how many GPUs the job asks for, on a node or in all."""
    given = start.plan.allocation
    return given.gpus_per_node or given.gpus or given.gpus_asked or 0


def _leads_to(old: Setting, new: Setting, start: State, site: Site) -> bool:
    """Return whether the routing queue brings the job into the queue that was named, and into no other."""
    from ..request.pbs import select  # not on the way of a Slurm job

    leads, walltime = route(site), start.job.settings.value("walltime") or b""
    rows = open_to(site, start.plan.allocation.nodes, select.seconds(walltime))
    return leads is not None and leads.name.encode() == new.value and [row.name.encode() for row in rows] == [old.value]


def _only_feature(feature: str, start: State, site: Site) -> bool:
    """Return whether nodes with enough GPUs, and no others, have a feature."""
    wanted = start.plan.allocation.gpus_per_node or 1
    able = {kind.name for kind in site.kinds if kind.gpus is None or kind.gpus >= wanted}
    return bool(able) and {kind.name for kind in site.kinds if feature in kind.features} == able


def _charged_there(partition: str, job: Job, site: Site) -> bool:
    """Return whether the account pays for a partition, and for no other but those for a purpose."""
    account = (job.settings.value("account") or b"").decode("utf-8", "replace")
    rows = [row for row in usual(site, "partition") if row.account_ending and account.endswith(row.account_ending)]
    return bool(account) and [row.name for row in rows] == [partition]
