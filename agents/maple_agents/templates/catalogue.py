"""Which compositions there are: by which launch templates a paradigm can be started on a site, the best first.

And the whole repository as one value for JSON: what an administrator keeps, compares or shows elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

from maple_submit_filter.launchers.registry import OVER
from maple_submit_filter.site.facts import Site
from pydantic import BaseModel

from ..ask import sites
from ..ask.sites import launch_templates as templates
from ..ask.sites.launch_templates import LaunchFile
from ..ask.sites.model import Ranks, SiteFile
from ..base.tables import paths, read
from . import environments, model_facts, paradigms
from .environments import Environment, described
from .paradigms import Paradigm
from .proofs import composition_revision

STATES = ("preferred", "present", "unknown", "discouraged")  # never by one that is absent
_MPI = re.compile(r"(?:OMPI|PALS|PMIX|PMI|MPI)_[A-Z_]+")
_FAMILY = {"OMPI": "openmpi", "PALS": "pals", "PMI": "hydra", "MPI": "hydra"}  # whose ranks have such variables


def fitting(
    paradigm: Paradigm,
    site: Site,
    file: SiteFile | None,
    ranks: int | None = None,
    among: Sequence[LaunchFile] | None = None,
) -> list[LaunchFile]:
    """Return the launch templates by which *paradigm* can be started on the site, the best first.

    First come those whose launchers nothing speaks against, in the order of the paradigm's launchers, each over the
    outer launcher that the site likes best. *ranks*: the size of the world, where it is known. *among*: the templates,
    where somebody has read them already.
    """
    known = templates.load() if among is None else among
    launch_files = [
        launch_file for launch_file in known if _fits(launch_file, paradigm, site, file) and suits(launch_file, ranks)
    ]
    return sorted(launch_files, key=lambda launch_file: (*_order(launch_file, paradigm, site, file), launch_file.name))


def suits(launch_file: LaunchFile, ranks: int | None) -> bool:
    """Tell whether the template starts a world of that size; None: not known."""
    return launch_file.when.ranks == "" or ranks is None or ranks > 1


def launch_words(launch_file: LaunchFile, environment: Environment | None, ranks_per_node: int) -> list[str]:
    """Return the template's `launch` with the words that the site wants of the outer launcher; slots unfilled."""
    outer, inner = launch_file.launch
    return [" ".join([outer, *_site_words(launch_file, environment, ranks_per_node)]), inner]


class Start(TypedDict):
    """A launch template that starts a paradigm on a site, with the revision of what they make together."""

    launch: str
    revision: str


class Export(TypedDict):
    """Every part by kind and name, with the keys of its file, and by site and paradigm what starts it there."""

    paradigms: dict[str, dict[str, Any]]
    launches: dict[str, dict[str, Any]]
    environments: dict[str, dict[str, Any]]
    models: dict[str, dict[str, Any]]
    sites: dict[str, dict[str, list[Start]]]


def exported() -> Export:
    """Return every part by kind and name, and what they make: for each site the launches of each paradigm.

    The order is always the same, and nothing in it depends on where the files lie. Raises `ValueError`, `OSError`.
    """
    launches = {launch_file.name: launch_file for launch_file in templates.load()}
    return {
        "paradigms": {name: _plain(paradigms.load(name)) for name in paradigms.names()},
        "launches": {name: _plain(launch_file) for name, launch_file in sorted(launches.items())},
        "environments": {name: _plain(environments.load(name)) for name in environments.names()},
        "models": {name: _plain(read(model_facts.Family, path)) for name, path in paths(model_facts.KIND).items()},
        "sites": {site_id: compositions(site_id, list(launches.values())) for site_id in sites.ids()},
    }


def compositions(site_id: str, among: Sequence[LaunchFile] | None = None) -> dict[str, list[Start]]:
    """Return, by paradigm, the launch templates that start it on the site, the best first, each with its revision."""
    here = described(site_id)
    known = {name: paradigms.load(name) for name in paradigms.names()}
    return {
        name: [
            {"launch": launch.name, "revision": composition_revision(here.site, paradigm, launch, here.environment)}
            for launch in fitting(paradigm, here.site, here.file, among=among)
        ]
        for name, paradigm in known.items()
    }


def _plain(part: BaseModel | None) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude_defaults=True) if part is not None else {}


def _site_words(launch_file: LaunchFile, environment: Environment | None, ranks_per_node: int) -> list[str]:
    meant = [
        option
        for option in (environment.options if environment else ())
        if option.over == launch_file.when.over and option.launcher in ("", launch_file.when.launcher)
    ]
    exact = [option.words for option in meant if option.ranks_per_node == ranks_per_node]
    return exact or [option.words for option in meant if not option.ranks_per_node]


def _fits(launch_file: LaunchFile, paradigm: Paradigm, site: Site, file: SiteFile | None) -> bool:
    return (
        launch_file.when.scheduler == site.scheduler
        and launch_file.when.launcher in paradigm.launchers
        and (paradigm.processes == "one" or launch_file.when.over in OVER)
        and (launch_file.when.over not in OVER or site.launcher(launch_file.when.over) in STATES)
        and site.launcher(launch_file.when.launcher) != "absent"
        and _made_by(launch_file, site.maker(launch_file.when.over))
        and _read(launch_file) <= (_ranks_by(file.ranks if file else None) or _read(launch_file))
    )


def _made_by(launch_file: LaunchFile, maker: str) -> bool:
    """Tell whether a launcher of that maker takes the words. Where nobody knows whose it is, Hydra's are the ones that
    most take; what its tasks read to know who they are, another's would not have.
    """
    return launch_file.when.maker in ("", maker) or (
        maker == "" and launch_file.when.maker == "hydra" and not _read(launch_file)
    )


def _read(launch_file: LaunchFile) -> frozenset[str]:
    """Return whose variables the tasks read to know who they are."""
    return _families(_MPI.findall(launch_file.launch[1]))


def _ranks_by(ranks: Ranks | None) -> frozenset[str]:
    """Return whose variables the site says that its ranks have; none where it does not say."""
    return _families([*ranks.global_rank, *ranks.local_rank, *ranks.node_rank]) if ranks else frozenset()


def _families(names: list[str]) -> frozenset[str]:
    return frozenset(_FAMILY[family] for family in (name.split("_")[0] for name in names) if family in _FAMILY)


def _order(launch_file: LaunchFile, paradigm: Paradigm, site: Site, file: SiteFile | None) -> tuple[int, ...]:
    return (
        _standing(launch_file.when.launcher, site, file) if launch_file.when.over in OVER else 0,
        paradigm.launchers.index(launch_file.when.launcher),
        STATES.index(site.launcher(launch_file.when.over)) if launch_file.when.over in OVER else 0,
        OVER.index(launch_file.when.over)
        if launch_file.when.over in OVER
        else 0,  # where nobody knows better, first what comes with the scheduler
    )


def _standing(launcher: str, site: Site, file: SiteFile | None) -> int:
    """Return 0 for what the site's documents show, 1 for what they do not speak of, 2 for what they advise against.

    Rank by rank is shown where the documents start one rank for each GPU or tile. accelerate starts torchrun's agent,
    so what is said of torchrun holds for it too.
    """
    if launcher == "python":
        return 0 if _rank_by_rank(file) else 1
    state = site.launcher(launcher)
    if launcher == "accelerate" and state == "unknown":
        state = site.launcher("torchrun")
    return {"preferred": 0, "present": 0, "unknown": 1}.get(state, 2)


def _rank_by_rank(file: SiteFile | None) -> bool:
    pattern = file.ranks.pattern if file and file.ranks and file.ranks.sure else None
    return pattern in ("one-rank-per-gpu", "one-rank-per-tile")
