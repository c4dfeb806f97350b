"""Which launch template it is, among those that start the paradigm here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.slots import Refused, Slots
from ...templates.cluster import Cluster

if TYPE_CHECKING:
    from ...ask.sites.launch_templates import LaunchFile
    from ...templates.paradigms import Paradigm

_OUTER = {"srun": ("srun",), "ibrun": ("ibrun",), "mpiexec": ("mpiexec", "mpirun")}


def choose(said: Slots, paradigm: str, cluster: Cluster, ranks: int) -> LaunchFile:
    """Return the best template that starts *paradigm* on *ranks* ranks by the launcher that was said, or by any.

    Raises `Refused` where there is none.
    """
    launcher = said.text("launcher")
    found = tuple(one for one in cluster.launches.get(paradigm, ()) if ranks > 1 or one.when.ranks != ">1")
    fitting = [one for one in found if not launcher or _is(one, launcher)]
    if not fitting:
        raise Refused(_none(launcher, paradigm, found, cluster))
    if launcher in _OUTER:  # it starts the ranks itself, where the paradigm lets it
        return next((one for one in fitting if one.when.launcher == "python"), fitting[0])
    return fitting[0]


def _is(one: LaunchFile, launcher: str) -> bool:
    return one.when.launcher == launcher or one.when.over in _OUTER.get(launcher, ())


def _none(launcher: str, paradigm: str, found: tuple[LaunchFile, ...], cluster: Cluster) -> str:
    facts = {one.name: one for one in cluster.site.launchers}
    if launcher in facts and facts[launcher].state == "absent":
        says = facts[launcher].says or "it is not there"
        return "%s is no launcher of %s: %s" % (launcher, cluster.site.id, says)
    names = ", ".join(
        dict.fromkeys(one.when.launcher if one.when.launcher != "python" else one.when.over for one in found)
    )
    by = " by %s" % launcher if launcher else ""
    return "no launch template starts %s%s on %s; there are %s" % (paradigm, by, cluster.site.id, names or "none")


def advice(launch: LaunchFile, paradigm: Paradigm, cluster: Cluster) -> tuple[str, ...]:
    """Return what to know of the launch: what the site says against it, and what the program needs besides."""
    facts = {one.name: one for one in cluster.site.launchers}
    against = [facts[name] for name in (launch.when.launcher, launch.when.over) if name in facts]
    said = tuple("%s: %s" % (one.name, one.says) for one in against if one.state == "discouraged")
    return (*said, *paradigm.around)
