"""Queues of PBS as the site's tables have them: those one may name, and those that only a routing queue leads to."""

from __future__ import annotations

from typing import List, Optional, Tuple

from ..request.scheduler_words import option
from ..site.facts import Partition, Site
from ..types.edits import Fix, Safety
from ..types.job import Job
from ..types.settings import Setting
from .option_edits import restate


def queues(site: Site) -> Tuple[Partition, ...]:
    """Return the rows of queues that the site is sure of."""
    return tuple(one for one in site.partitions if one.selector == "queue" and one.sure)


def route(site: Site) -> Optional[Partition]:
    """Return the queue that leads to those behind a route: the only one that takes all that any of them takes."""
    behind = [one for one in queues(site) if one.routed]
    found = [one for one in queues(site) if not one.routed and behind and all(_takes(one, other) for other in behind)]
    return found[0] if len(found) == 1 else None


def _takes(queue: Partition, other: Partition) -> bool:
    own = (queue.min_nodes, queue.max_nodes, queue.max_walltime)
    its = (other.min_nodes, other.max_nodes, other.max_walltime)
    if None in own or None in its:
        return False
    (least, most, longest), (lower, upper, long) = ((bound or 0 for bound in bounds) for bounds in (own, its))
    return least <= lower and most >= upper and longest >= long


def open_to(site: Site, nodes: Optional[int], seconds: Optional[int]) -> List[Partition]:
    """Return the queues behind the route that may take a job of so many nodes and so much time; None is unknown.

    One that the site is not sure of may take anything.
    """
    behind = [one for one in site.partitions if one.selector == "queue" and one.routed]
    return [one for one in behind if not one.sure or _fits(one, nodes, seconds)]


def _fits(queue: Partition, nodes: Optional[int], seconds: Optional[int]) -> bool:
    if nodes is not None and queue.max_nodes is not None and nodes > queue.max_nodes:
        return False
    if nodes is not None and queue.min_nodes is not None and nodes < queue.min_nodes:
        return False
    return not (seconds is not None and queue.max_walltime is not None and seconds > queue.max_walltime)


def through_route(setting: Setting, job: Job, site: Site, why: str) -> Optional[Fix]:
    """Return the fix that names the routing queue in place of one behind it."""
    leads = route(site)
    made = restate(job, setting, leads.name.encode(), why) if leads is not None else None
    if made is None or leads is None:
        return None
    return made.fix(Safety.ASK, "%s, which leads there" % option(job, "queue", leads.name))
