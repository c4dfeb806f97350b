"""Site files: what people write about a cluster, checked, and as the facts that the submit path knows."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import tomllib
from maple_submit_filter import __version__
from maple_submit_filter.host import own_folders, places
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import from_snapshot, write

from ...base import new_file

FOLDER = "site_configs"
_DETECTION = re.compile(rb"^\[\[?detection.*?(?=^\[(?!\[?detection)|\Z)", re.MULTILINE | re.DOTALL)


_ID = re.compile(r"[A-Za-z0-9-]+")
_DRAFTS: dict[str, str] = {}  # id: the file that was named in its place


def named(site: str) -> str:
    """Return the id of a site that is said by its id, or by the path of its file (`.toml`).

    A file stands for its id from then on, in this process: a draft is tried before it is put in force. Raises
    `Complaint` where there is no such file.
    """
    if not site.endswith(".toml"):
        return site
    if not os.path.isfile(site):
        from ...base.complaint import Complaint

        raise Complaint("%s: there is no such file" % site, "name a site file, or an id of maple site list")
    site_id = os.path.basename(site)[:-5]
    _DRAFTS[site_id] = os.path.abspath(site)
    return site_id


def shown(site_id: str) -> str:
    """Return the word by which another command finds the site: the path of its file where that was named."""
    return _DRAFTS.get(site_id, site_id)


def folders(applied: bool = True) -> tuple[str, ...]:
    """Return the folders of site files, the strongest first; not *applied*: as releases brought them.

    An installation keeps the file that was applied to it, and that of a draft that it was made from: these come after
    what lies below `/etc/maple`.
    """
    from .this_site import prefix_of_front

    prefix, shipped = prefix_of_front(), places.folders(FOLDER)
    own = (
        [*(_applied(prefix) if applied else ()), os.path.join(prefix, "current", "share", "maple", FOLDER)]
        if prefix
        else []
    )
    first = [folder for folder in shipped if folder == os.path.join(places.etc(), FOLDER)]
    between = [folder for folder in own if folder not in shipped and os.path.isdir(folder)]
    return (*first, *between, *(folder for folder in shipped if folder not in first))


def _applied(prefix: str) -> list[str]:
    """Return the folders of site files that were applied to the installation at *prefix*."""
    facts = os.path.join(prefix, "facts")
    try:
        return [os.path.join(facts, site_id, FOLDER) for site_id in sorted(os.listdir(facts))]
    except OSError:
        return []


def ids() -> list[str]:
    """Return the ids of all sites that have a file, sorted; the annotated example is none."""
    names = {name[:-5] for folder in folders() for name in os.listdir(folder) if name.endswith(".toml")}
    drafts = {site_id for site_id, file in _DRAFTS.items() if os.path.isfile(file)}
    return sorted((names | drafts) - {"example"})


def path(site_id: str, applied: bool = True) -> str:
    """Return the path of a site's file, as `folders` finds it. Raises `ValueError` with one line when there is none."""
    if os.path.isfile(_DRAFTS.get(site_id, "")):
        return _DRAFTS[site_id]
    paths = (os.path.join(folder, site_id + ".toml") for folder in folders(applied)) if _ID.fullmatch(site_id) else ()
    file = next(filter(os.path.isfile, paths), None)
    if file is None:
        from ...base.near_names import meant  # only where somebody mistyped

        hint = meant(site_id, ids())
        hint = hint + " " if hint else ""
        raise ValueError("%s: there is no such site; %sknown are %s" % (site_id, hint, ", ".join(ids()) or "none"))
    return file


def load(site_id: str, applied: bool = True) -> Site:
    """Return the site of that id, of the file that `path` finds.

    Raises `ValueError` (`Mistakes`, a line each) when its file is missing or wrong.

    What was checked once is kept in the user's cache with the hash of the file, because checking costs a quarter of a
    second; a cache that cannot be read or written is done without.
    """
    filename = path(site_id, applied)
    with open(filename, "rb") as file:
        source = file.read()
    key, kept = checked_by_this(source), kept_in(site_id)
    try:
        with open(kept, "rb") as file:
            cached = json.load(file)
        if cached["of"] == key:
            return as_verified(from_snapshot(cached["site"]))
    except (OSError, ValueError, LookupError, TypeError):
        pass  # not there yet, or not ours: check the file
    site = read(source, filename)
    new_file.keep({"of": key, "site": write(site)}, kept)
    return as_verified(site)


def as_verified(site: Site) -> Site:
    """A verification says of a launch template that it works here; it comes and goes without the site file."""
    from ..verified_runs import with_records

    return with_records(site)


def read(source: bytes, filename: str) -> Site:
    """Return the site that the bytes of a site file describe, with the launch templates that it can use.

    Raises `Mistakes`, or another `ValueError` with a line for each mistake of a template.
    """
    from .facts import site_of
    from .files import parse
    from .launch_templates import for_site  # pydantic: a quarter of a second

    site = site_of(parse(source, filename))
    return site._replace(launch_templates=for_site(site), elsewhere=_elsewhere(site))


# what partitions and queues are called everywhere: that another cluster has one tells nothing
ANYBODYS = """
all batch bigmem compute cpu cpus debug def default dev devel express fat general gpu gpu-debug gpudebug gpus
highmem interactive large largemem long low main medium normal parallel preempt premium prod regular scavenge
serial shared short small standard standby test testing workq
"""


@cache
def _names() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return (site, scheduler, names) of every site file that can be read; a wrong one is told where it is checked."""
    from .facts import names_of, site_of
    from .files import parse

    rows = []
    for site_id in ids():
        try:
            with open(path(site_id), "rb") as file:
                site = site_of(parse(file.read(), site_id + ".toml"))
        except (OSError, ValueError):
            continue
        rows.append((site.id, site.scheduler, tuple(names_of(site))))
    return tuple(rows)


def _elsewhere(site: Site) -> tuple[str, ...]:
    """Return the names of the other clusters with this scheduler; a cluster that nobody described has none.

    A name that any cluster may have is another's only where the site's own list is complete.
    """
    if not site.kinds:
        return ()
    from .facts import names_of

    own = {tuple(name.split(" ", 3)[1::2]) for name in names_of(site)}
    if not site.partitions_complete:
        own.update((what, name) for what in ("partition", "queue") for name in ANYBODYS.split())
    others = [names for other, scheduler, names in _names() if other != site.id and scheduler == site.scheduler]
    return tuple(name for names in others for name in names if tuple(name.split(" ", 3)[1::2]) not in own)


def detect(environ: Mapping[str, str], hostname: str, cluster_name: str | None = None) -> str | None:
    """Return the id of the site we are on, None where nothing tells, or the evidence disagrees.

    *hostname*: with its domain, as far as known. *cluster_name*: Slurm's ClusterName, where somebody already knows it.
    """

    return detect_among({site_id: _detection(site_id) for site_id in ids()}, environ, hostname, cluster_name)


def _detection(site_id: str) -> Mapping[str, Any]:
    """Return the `[detection]` table of a site's file, unchecked; a file that cannot be read detects nothing."""
    try:
        with open(path(site_id), "rb") as file:
            tables = b"".join(_DETECTION.findall(file.read()))  # the whole file would cost ten times as much
        table = tomllib.loads(tables.decode("utf-8")).get("detection", {})
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def kept_in(name: str) -> str:
    """Return the file in which what was checked is kept under *name*, "" for nowhere."""
    cache = own_folders.cache()
    return os.path.join(cache, "sites", "%s.json" % name) if cache else ""


def checked_by_this(source: bytes) -> str:
    """Return a hash of the file, of the code that checks it, and of the launch templates that go with it."""
    launches = places.folders(os.path.join("templates", "launch"))
    read = (os.path.dirname(__file__), *launches, *folders())  # the names of other sites stand in their files
    code = sorted((entry.path, entry.stat().st_mtime_ns) for folder in read for entry in os.scandir(folder))
    return hashlib.sha256(("%s %s" % (__version__, code)).encode() + b"\0" + source).hexdigest()


def detect_among(
    tables: Mapping[str, Mapping[str, Any]], environ: Mapping[str, str], hostname: str, cluster_name: str | None = None
) -> str | None:
    """Return the id of the site that all the evidence speaks for, None where there is none or it disagrees.

    *tables*: the `[detection]` table of each site. *hostname* is the full name; a short one proves little.
    """
    kinds: list[set[str]] = [
        {site for site, table in tables.items() if _variable_says(table, environ)},
        {site for site, table in tables.items() if cluster_name and _is_named(table, cluster_name)},
        {site for site, table in tables.items() if _host_says(table, hostname)},
    ]
    evidence = [sites for sites in kinds if sites]
    agreed = set.intersection(*evidence) if evidence else set()
    return agreed.pop() if len(agreed) == 1 else None


def _is_named(table: Mapping[str, Any], cluster_name: str) -> bool:
    return str(table.get("cluster_name", "")).lower() == cluster_name.lower()  # Slurm keeps it in small letters


def _variable_says(table: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    return any(_fits(variable, environ.get(variable["name"])) for variable in table.get("variables", ()))


def _fits(variable: Mapping[str, Any], value: str | None) -> bool:
    if value is None:
        return False
    if "value" in variable:
        return bool(value == variable["value"])
    return fnmatch.fnmatchcase(value, variable["matches"])


def _host_says(table: Mapping[str, Any], hostname: str) -> bool:
    domain = table.get("domain")
    below = bool(domain) and (hostname == domain or hostname.endswith(".%s" % domain))
    return below or _any_fits(table.get("host_patterns", ()), hostname)


def _any_fits(patterns: Iterable[str], hostname: str) -> bool:
    return any(re.fullmatch(pattern, hostname) for pattern in patterns)
