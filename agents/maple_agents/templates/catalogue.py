"""Which compositions there are: by which launch templates a paradigm can be started on a site, the best first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from maple_submit_filter.launchers.registry import OVER
from maple_submit_filter.site.facts import Site

from ..ask.sites import launch_templates as templates
from ..ask.sites.launch_templates import LaunchFile
from ..ask.sites.model import Ranks, SiteFile
from .environments import Environment
from .paradigms import Paradigm

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
    found = [one for one in known if _fits(one, paradigm, site, file) and suits(one, ranks)]
    return sorted(found, key=lambda one: (*_order(one, paradigm, site, file), one.name))


def suits(one: LaunchFile, ranks: int | None) -> bool:
    """Tell whether the template starts a world of that size; None: not known."""
    return one.when.ranks == "" or ranks is None or ranks > 1


def launch_words(one: LaunchFile, environment: Environment | None, ranks_per_node: int) -> list[str]:
    """Return the template's `launch` with the words that the site wants of the outer launcher; slots unfilled."""
    outer, inner = one.launch
    return [" ".join([outer, *_site_words(one, environment, ranks_per_node)]), inner]


def _site_words(one: LaunchFile, environment: Environment | None, ranks_per_node: int) -> list[str]:
    meant = [
        option
        for option in (environment.options if environment else ())
        if option.over == one.when.over and option.launcher in ("", one.when.launcher)
    ]
    exact = [option.words for option in meant if option.ranks_per_node == ranks_per_node]
    return exact or [option.words for option in meant if not option.ranks_per_node]


def _fits(one: LaunchFile, paradigm: Paradigm, site: Site, file: SiteFile | None) -> bool:
    return (
        one.when.scheduler == site.scheduler
        and one.when.launcher in paradigm.launchers
        and site.launcher(one.when.over) in STATES
        and site.launcher(one.when.launcher) != "absent"
        and _made_by(one, site.maker(one.when.over))
        and _read(one) <= (_told(file.ranks if file else None) or _read(one))
    )


def _made_by(one: LaunchFile, maker: str) -> bool:
    """Tell whether a launcher of that maker takes the words. Where nobody knows whose it is, Hydra's are the ones that
    most take; what its tasks read to know who they are, another's would not have.
    """
    return one.when.maker in ("", maker) or (maker == "" and one.when.maker == "hydra" and not _read(one))


def _read(one: LaunchFile) -> frozenset[str]:
    """Return whose variables the tasks read to know who they are."""
    return _families(_MPI.findall(one.launch[1]))


def _told(ranks: Ranks | None) -> frozenset[str]:
    """Return whose variables the site says that its ranks have; none where it does not say."""
    return _families([*ranks.global_rank, *ranks.local_rank, *ranks.node_rank]) if ranks else frozenset()


def _families(names: list[str]) -> frozenset[str]:
    return frozenset(_FAMILY[family] for family in (name.split("_")[0] for name in names) if family in _FAMILY)


def _order(one: LaunchFile, paradigm: Paradigm, site: Site, file: SiteFile | None) -> tuple[int, ...]:
    return (
        _standing(one.when.launcher, site, file),
        paradigm.launchers.index(one.when.launcher),
        STATES.index(site.launcher(one.when.over)),
        OVER.index(one.when.over),  # where nobody knows better, first what comes with the scheduler
    )


def _standing(launcher: str, site: Site, file: SiteFile | None) -> int:
    """Return 0 for what the site's documents show, 1 for what they do not speak of, 2 for what they advise against.

    Rank by rank is shown where the documents start one rank for each GPU or tile. accelerate starts torchrun's agent,
    so what is said of torchrun holds for it too.
    """
    if launcher == "python":
        return 0 if _rank_by_rank(file) else 1
    told = site.launcher(launcher)
    if launcher == "accelerate" and told == "unknown":
        told = site.launcher("torchrun")
    return {"preferred": 0, "present": 0, "unknown": 1}.get(told, 2)


def _rank_by_rank(file: SiteFile | None) -> bool:
    pattern = file.ranks.pattern if file and file.ranks and file.ranks.sure else None
    return pattern in ("one-rank-per-gpu", "one-rank-per-tile")
