"""The site that a job ran on, and how much memory a GPU of its nodes has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site

from ...ask.sites.whole_files import whole
from ...ask.submission import GENERIC, here_of, loaded
from ...base.complaint import Complaint

if TYPE_CHECKING:
    from .sources.job_facts import JobFacts

_GIB = 1 << 30


class Known(NamedTuple):
    """A site, and from where it is known that it is this one, as a phrase."""

    site: Site
    by: str


def known_site(site_id: str | None, source: bytes = b"") -> Known:
    """Return the site that is asked for, else the one we are on."""
    where = here_of(site_id, source)
    return Known(loaded(where), where.why)


def site_for(facts: JobFacts, site_id: str | None) -> Known:
    """Return the site: the one that is asked for, that of Maple's record, the one we are on, else one of nothing known.

    Raises `Complaint` where there is no site of the id that was asked for, or its scheduler is another than the job's.
    """
    generic = Known(GENERIC_PBS if facts.scheduler == "pbs" else GENERIC_SLURM, "nothing tells where the job ran")
    if site_id:
        known = known_site(site_id)
        if facts.scheduler and known.site.scheduler != facts.scheduler:
            if known.site.id in GENERIC:
                return generic
            raise Complaint("--site %s: jobs there are %s's" % (site_id, known.site.scheduler.capitalize()),
                            "this one is %s's" % facts.scheduler.capitalize())  # fmt: skip
        return known
    in_record = "" if facts.site.endswith(".toml") else facts.site  # by its id, never by a file of somebody's
    for recorded in dict.fromkeys((in_record or None, None)):
        try:
            known = known_site(recorded, facts.script or b"")
        except Complaint:
            continue
        if not facts.scheduler or known.site.scheduler == facts.scheduler:
            return known._replace(by="recorded with the job") if recorded else known
    return generic


def gpu_memory(facts: JobFacts, site: Site) -> int | None:
    """Return the bytes of one GPU where every kind of node that the job may have had agrees; None not known."""
    if site.id in GENERIC or not (facts.partition or facts.qos or facts.constraint):
        return None
    kinds = site.node_kinds(facts.partition, facts.qos, facts.constraint)
    sizes = {_of_kind(site.id, kind.name) for kind in kinds if kind.gpus != 0}
    return sizes.pop() if len(sizes) == 1 else None


def _of_kind(site_id: str, name: str) -> int | None:
    """Return the bytes that a framework has for its own: a card's, shared out over the devices it counts as."""
    site_file = whole(site_id)
    node = site_file.node.get(name) if site_file is not None else None
    if node is None or node.gpu_memory_gib is None:
        return None
    cards, devices = node.gpus or 1, node.devices or node.gpus or 1
    return node.gpu_memory_gib * _GIB * cards // devices
