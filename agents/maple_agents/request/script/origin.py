"""For which cluster a script was written, by what only that cluster has."""

from __future__ import annotations

import re
from typing import Annotated

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Job
from pydantic import Field

from ...base.tables import Part, Table, paths, read

KIND = "origins"
ENOUGH = 3  # points; a partition that only one site has is as good as proof
_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*(?:module|ml)\b.*$", re.MULTILINE)
_PLACES = ("partition", "queue", "qos")


class Signal(Table):
    """One thing that points to *site*: a regular expression for what stands at *where*."""

    site: str
    where: str
    pattern: str
    points: Annotated[int, Field(ge=1, le=3)]


class Signals(Part):
    """A file of signals."""

    signal: list[Signal]


def signals() -> list[Signal]:
    """Return every signal. Raises `ValueError` with a line for each mistake where a file is wrong."""
    return [one for path in paths(KIND).values() for one in read(Signals, path).signal]


def origin(job: Job, sites: list[Site]) -> str:
    """Return the id of the one site of *sites* that the script was written for, "" where that is not clear."""
    points = {site.id: 0 for site in sites if site.scheduler == job.submission.scheduler}
    here = [site for site in sites if site.id in points]
    for site_id, count in (*_placed(job, here), *_launched(job, here), *_signalled(job, here)):
        points[site_id] += count
    best = sorted(points.items(), key=lambda one: -one[1])
    if not best or best[0][1] < ENOUGH or (len(best) > 1 and best[1][1] == best[0][1]):
        return ""
    return best[0][0]


def _placed(job: Job, sites: list[Site]) -> list[tuple[str, int]]:
    """Names of partitions, queues and QOS that a site has, and those that it surely has not."""
    out: list[tuple[str, int]] = []
    for kind in _PLACES:
        value = (job.settings.value(kind) or b"").decode("utf-8", "replace")
        for name in filter(None, (one.strip() for one in value.split(","))):
            have = [
                site.id for site in sites if any((one.name, one.selector) == (name, kind) for one in site.partitions)
            ]
            share = ENOUGH if len(have) == 1 else 2 if len(have) == 2 else 1
            out += [(site_id, share) for site_id in have]
            lack = [site.id for site in sites if site.partitions_complete and kind != "qos" and site.id not in have]
            out += [(site_id, -2 * ENOUGH) for site_id in lack]
    return out


def _launched(job: Job, sites: list[Site]) -> list[tuple[str, int]]:
    """Launchers that a site has and others do not, or that it surely lacks."""
    body = _COMMENT.sub(b"", job.source)
    out: list[tuple[str, int]] = []
    for name in ("ibrun",):
        if re.search(rb"(?<![\w/.-])%s[ \t]" % name.encode(), body):
            out += [(site.id, 2) for site in sites if site.launcher(name) in ("preferred", "present")]
            out += [(site.id, -ENOUGH) for site in sites if site.launcher(name) == "absent"]
    return out


def _signalled(job: Job, sites: list[Site]) -> list[tuple[str, int]]:
    known = {site.id for site in sites}
    body = _COMMENT.sub(b"", job.source).decode("utf-8", "replace")
    modules = "\n".join(_MODULE.findall(body))
    out: list[tuple[str, int]] = []
    for one in signals():
        said = {"text": body, "module": modules}.get(one.where)
        if said is None:
            said = (job.settings.value(one.where) or b"").decode("utf-8", "replace")
        if one.site in known and said and re.search(one.pattern, said):
            out.append((one.site, one.points))
    return out
