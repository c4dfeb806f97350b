"""Which launch templates start a paradigm on a site, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maple_submit_filter.site import Site

if TYPE_CHECKING:
    from ..repository.paradigms import Paradigm
    from ..templates import LaunchFile

_STATES = ("preferred", "present", "unknown", "discouraged")


def fitting(paradigm: Paradigm, site: Site) -> list[LaunchFile]:
    """Return the launch templates by which *paradigm* can be started there; never by a launcher that is absent."""
    from ..templates import load

    found = [
        one
        for one in load()
        if one.when.scheduler == site.scheduler
        and one.when.launcher in paradigm.launchers
        and site.launcher(one.when.over) in _STATES
        and site.launcher(one.when.launcher) != "absent"
        and one.when.maker in ("", site.maker(one.when.over))
    ]
    return sorted(found, key=lambda one: (_rank(one, paradigm, site), one.name))


def _rank(one: LaunchFile, paradigm: Paradigm, site: Site) -> tuple[bool, int, int]:
    worst = max(_STATES.index(site.launcher(name)) for name in (one.when.over, one.when.launcher))
    unwanted = worst == _STATES.index("discouraged")
    return unwanted, paradigm.launchers.index(one.when.launcher), _STATES.index(site.launcher(one.when.over))
