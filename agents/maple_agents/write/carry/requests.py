"""What a script asks of its new cluster: what means the same everywhere, and what was said beside it."""

from __future__ import annotations

from collections.abc import Iterator

from maple_submit_filter.launchers.agents import AGENTS
from maple_submit_filter.site.facts import NodeKind, Site

from ...base.slots import Name, Origin, Slot, Slots
from ...request.script.parts import Foreign, Launch
from ...request.script.slots import main
from ...templates.cluster import Cluster

_EVERYWHERE: tuple[Name, ...] = ("nodes", "walltime", "array")
_AT_HOME: tuple[Name, ...] = ("account", "partition", "queue", "qos", "filesystems", "gpu")
_OUTER = {"srun": "srun", "ibrun": "ibrun", "mpirun": "mpiexec", "mpiexec": "mpiexec"}


def slots(foreign: Foreign, cluster: Cluster, said: Slots, home: bool) -> Slots:
    """Return the slots for the new cluster. *home*: it is the script's own one, so that names of places stay.

    The program stands in for the one on the launch line, which is kept where it is.
    """
    found = [foreign.slots[name] for name in _EVERYWHERE if name in foreign.slots]
    if home:
        found += [
            foreign.slots[name] for name in _AT_HOME if name in foreign.slots and _is_here(name, foreign, cluster)
        ]
    found += [*_gpus(foreign, cluster, home), *_way(foreign, cluster), *_program(foreign)]
    site = Slot("site", cluster.site.id, Origin("option"))
    wanted = {name: slot for name, slot in said.items() if name not in ("environment", "container")}
    if "gpus_total" in wanted:
        found = [one for one in found if one.name != "gpus_per_node" and (one.name != "nodes" or "nodes" in wanted)]
    return Slots([*found, *wanted.values(), site])


def _is_here(name: Name, foreign: Foreign, cluster: Cluster) -> bool:
    """Tell whether a name of a place can be the cluster's own."""
    value = foreign.slots.text(name)
    site = cluster.site
    if name == "gpu":
        return site.kind(value) is not None
    if name in ("partition", "queue", "qos") and site.partitions_complete:
        return any((one.selector, one.name) == (name, value) for one in site.partitions)
    return bool(value)


def _gpus(foreign: Foreign, cluster: Cluster, home: bool) -> Iterator[Slot]:
    """GPUs and ranks of a node, only where the script wants other numbers than all that a node has."""
    training = main(foreign.launches)
    used = foreign.plan.allocation.gpus_per_node
    ranks = foreign.slots.number("ranks_per_node")
    whole = _whole(foreign.plan.allocation.node_kinds)
    most = max((kind.gpus or 0 for kind in cluster.site.kinds), default=0)
    if training is not None and training.small and not used:
        used, whole = (1 if most else used), None
    wanted = used
    if used and (whole is None or used < whole) and (home or not most or used <= most):
        yield Slot("gpus_per_node", used, _origin(foreign, "gpus_per_node"))
    elif whole:
        wanted = whole
    meant = training is not None and _is_told(training) and not foreign.wrong
    if ranks and wanted and ranks < wanted and meant and (not most or ranks < most):
        yield Slot("ranks_per_node", ranks, _origin(foreign, "ranks_per_node"))
        if used and used <= (most or used):
            yield Slot("gpus_per_node", used, _origin(foreign, "gpus_per_node"))


def _is_told(training: Launch) -> bool:
    """Tell whether the line itself says how many ranks a node has: torchrun starts one where nobody does."""
    links = [link for link in training.steps[0].links if link.name in AGENTS]
    if not links:
        return training.outer is not None
    return links[-1].option("nproc-per-node", "num-processes", "num-gpus", "config-file") is not None


def _whole(kinds: tuple[NodeKind, ...]) -> int | None:
    """Return how many GPUs a node has where the script was at home, None where that is not known."""
    counts = {kind.gpus for kind in kinds}
    return counts.pop() if len(counts) == 1 else None


def _origin(foreign: Foreign, name: Name) -> Origin:
    return foreign.slots[name].origin if name in foreign.slots else Origin("script")


def _way(foreign: Foreign, cluster: Cluster) -> Iterator[Slot]:
    """The paradigm and the launcher of the ranks, where the cluster can start them so."""
    paradigm = foreign.slots.text("paradigm")
    if paradigm in cluster.paradigms:
        yield foreign.slots["paradigm"]
    launcher = foreign.slots.text("launcher")
    launches = [one for each in cluster.launches.values() for one in each]
    if launcher in AGENTS:
        if any(one.when.launcher == launcher for one in launches):
            yield foreign.slots["launcher"]
        return
    ranks = [one for one in cluster.launches.get(paradigm or "ddp", ()) if one.when.launcher == "python"]
    if launcher and ranks:
        yield Slot("launcher", _OUTER[ranks[0].when.over], _origin(foreign, "launcher"))


def _program(foreign: Foreign) -> Iterator[Slot]:
    """The name of the program's file: it names the job where the script does not."""
    said = foreign.slots.text("program").split()
    name = next((word.strip("\"'") for word in said if word.strip("\"'").endswith(".py") and "$" not in word), "")
    if name:
        yield Slot("program", name, _origin(foreign, "program"))


def is_home(foreign: Foreign, site: Site) -> bool:
    """Tell whether the script was written for *site*: so its signs say, or nothing in it speaks against it."""
    if foreign.site or foreign.scheduler != site.scheduler:
        return foreign.site == site.id
    names = [(name, foreign.slots.text(name)) for name in ("partition", "queue") if name in foreign.slots]
    known = {(one.selector, one.name) for one in site.partitions}
    return all(one in known for one in names) and bool(names or not site.partitions)
