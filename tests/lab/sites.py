"""A lab in the shape of a real site, from its site config."""

from __future__ import annotations

import os
import re
import sys
from typing import Sequence

from tests.lab.shape import DAY, GPU4, NodeGroup, PartitionShape, Refusal, Route, Shape

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for folder in ("submit_filter", "agents"):
    if os.path.join(ROOT, folder) not in sys.path:
        sys.path.append(os.path.join(ROOT, folder))

from maple_agents.ask.sites import ids, load  # noqa: E402
from maple_submit_filter.site.facts import Demand, NodeKind, Partition, Site  # noqa: E402


def slurm_sites() -> list[str]:
    """Return the ids of every described site that runs Slurm."""
    return [name for name in ids() if load(name).scheduler == "slurm" and load(name).kinds]


def unlike_sites() -> list[str]:
    """Return sites with Slurm whose shapes have between them all that the shape of any site has.

    A lab of one of the others would start for seconds and show nothing that these do not.
    """
    of_sites = {name: traits(shape_of_site(name)) for name in slurm_sites()}
    chosen: list[str] = []
    lacking = {trait for found in of_sites.values() for trait in found}
    while lacking:
        chosen.append(max(of_sites, key=lambda name: len(of_sites[name] & lacking)))
        lacking -= of_sites[chosen[-1]]
    return sorted(chosen)


def traits(shape: Shape) -> set[str]:
    """Return what a lab of the shape is made of, in words: two that are alike in all of them behave alike."""
    found = {f"mpi {shape.mpi}", f"{min(len(shape.groups), 3)} groups", f"{min(len(shape.partitions), 3)} partitions"}
    for group in shape.groups:
        found.add(f"{group.vendor} gres {group.gres} typed {bool(group.gpu_type)}" if group.gpus else "no GPU")
        found.add(f"{group.gpus} GPUs, {group.threads_per_core} threads, features {bool(group.features)}")
    for partition in shape.partitions:
        limits = (partition.max_time, partition.max_nodes, partition.min_nodes > 1)
        found.update(f"limit {number} {bool(limit)}" for number, limit in enumerate(limits))
        found.add(f"exclusive {partition.exclusive}, default {partition.default}")
    found.update(f"refused {one.when} {bool(one.applies)}" for one in shape.refusals)
    found.update(f"routed {bool(one.qos)} {bool(one.constraint)}" for one in shape.routes)
    return found | ({f"QOS {bool(shape.default_qos)}"} if shape.routes else set())


def scheduler_of(site_id: str) -> str:
    """Return "slurm" or "pbs". Raises `ValueError` when there is no such site."""
    return load(site_id).scheduler


def lab_sites() -> list[str]:
    """Return the ids of every site that a lab can have the shape of."""
    return [*slurm_sites(), *(name for name in ids() if load(name).scheduler == "pbs")]


def shape_of_site(site_id: str, nodes: int = 4, others: int = 2) -> Shape:
    """Return the shape of the site of that id. Raises `ValueError` when there is none, or it does not run Slurm."""
    site = load(site_id)
    if site.scheduler != "slurm":
        raise ValueError(f"{site_id} runs {site.scheduler}: this lab is a Slurm, of one of: {', '.join(slurm_sites())}")
    return shape_of(site, nodes, others)


def shape_of(site: Site, nodes: int = 4, others: int = 2) -> Shape:
    """Return a small cluster that answers as *site* does.

    The kind of node that GPU jobs go to first has *nodes* nodes, other GPU kinds have *others*, CPU kinds have one.
    What the site file leaves unknown is permissive: no limit, no refusal, untyped GPUs.
    """
    if not site.kinds:
        return GPU4._replace(cluster_name="generic")
    refusals = tuple(_refusals(site))
    gres = not any("gres" in one.options and one.when == "present" for one in refusals)
    by_partition = [one for one in site.partitions if one.selector == "partition" and one.node_kinds]
    by_qos = [] if by_partition else [one for one in site.partitions if one.selector == "qos" and one.node_kinds]
    routes = [Route(_routed(one), one.name, one.constraint) for one in by_qos]
    partitions = [_partition(one, site) for one in by_partition + by_qos]
    rest = [kind for kind in site.kinds if by_qos and not any(kind.name in one.node_kinds for one in by_qos)]
    for kind in rest:  # a kind that no QOS of the file speaks of takes any QOS
        partitions.append(PartitionShape(f"any-{_plain(kind.name)}", (_plain(kind.name),)))
        routes.append(Route(partitions[-1].name, "", kind.features[0] if kind.features else ""))
    used = {name for one in partitions for name in one.groups}
    groups = tuple(
        _group(kind, _count(kind, site, nodes, others), gres) for kind in site.kinds if _plain(kind.name) in used
    )
    ibrun = site.launcher("ibrun") in ("preferred", "present", "discouraged")
    absent = [one.name for one in site.launchers if one.state == "absent"] + ([] if ibrun else ["ibrun"])
    return Shape(
        _plain(site.id).replace("-", ""),
        groups,
        tuple(partitions),
        refusals,
        tuple(routes),
        site.default_qos,
        tuple(dict.fromkeys(absent)),
        "hydra" if ibrun else "openmpi",
    )


def _refusals(site: Site) -> Sequence[Refusal]:
    found = []
    for when, table in (("missing", site.demands), ("present", site.refusals)):
        for one in table:
            if one.effect == "refused" and not one.values and not one.except_values:
                found.append(Refusal(one.options, when, _words(one), one.applies))
    return found


def _words(one: Demand) -> str:
    return re.sub(r"^(sbatch: )?error: ", "", one.text or one.says)


def _group(kind: NodeKind, count: int, gres: bool) -> NodeGroup:
    return NodeGroup(
        _plain(kind.name),
        count,
        kind.gpus or 0,
        kind.gpu_type,
        kind.gpu_vendor or "nvidia",
        kind.cores or 64,
        kind.threads_per_core or 1,
        kind.memory_gib or 256,
        kind.features,
        gres,
    )


def _count(kind: NodeKind, site: Site, nodes: int, others: int) -> int:
    first = next((one.name for one in site.kinds if one.gpus), "")
    named = next((one.node_kinds for one in site.partitions if one.name == site.default_partition), ())
    main = next((name for name in named if (site.kind(name) or kind).gpus), first)
    return nodes if kind.name == main else others if kind.gpus else 1


def _partition(one: Partition, site: Site) -> PartitionShape:
    name = _routed(one) if one.selector == "qos" else one.name
    whole = one.shared is False or site.gpu_request.style == "whole-node"
    return PartitionShape(
        name,
        tuple(_plain(kind) for kind in one.node_kinds),
        one.max_walltime,
        one.max_nodes,
        one.name == site.default_partition,
        whole,
        one.min_nodes or 1,
        min(one.default_walltime or DAY, 600),
    )


def _routed(one: Partition) -> str:
    return f"{one.name}-{one.constraint}" if one.constraint else one.name


def _plain(name: str) -> str:
    """Return a word that may be a host name."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")


def described(site: str, cluster_name: str, folder: str) -> str:
    """Put the file of *site* into *folder* as that of the lab, by the lab's own ClusterName; return the folder."""
    with open(os.path.join(ROOT, "site_configs", f"{site}.toml"), encoding="utf-8") as file:
        text = re.sub(r"(?m)^cluster_name = .*\n", "", file.read())
    os.makedirs(f"{folder}/site_configs", exist_ok=True)
    with open(f"{folder}/site_configs/{site}.toml", "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^\[detection\]\n", f'[detection]\ncluster_name = "{cluster_name}"\n', text, count=1))
    return folder
