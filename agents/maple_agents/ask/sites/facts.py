"""From a site file to the `Site` that the submit path knows: what proves something, and what a fix needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maple_submit_filter.site.facts import Demand, GpuRequest, LauncherFact, NodeKind, Partition, Site, SizeBin, Unfit

from ...base.quantities import of_clock
from .files import devices, maker, places, revision
from .model import DemandTable, Node, PartitionTable, RefusalTable, SiteFile, UnfitTable

_CPUS_NOT_INHERITED = (22, 5)  # since then srun does not take --cpus-per-task from sbatch


def site_of(file: SiteFile) -> Site:
    """Return what the submit path needs of a site file. What nobody is sure of comes out as unknown."""
    version = tuple(int(number) for number in file.scheduler.version.split(".") if number)
    slurm = file.scheduler.type == "slurm"
    return Site(
        id=file.id,
        revision=revision(file),
        scheduler=file.scheduler.type,
        version=version,
        kinds=tuple(_kind(file, name, node) for name, node in file.node.items()),
        partitions=tuple(_partition(file, selector, name, table) for selector, name, table in places(file)),
        partitions_complete=file.scheduler.partitions_complete,
        default_partition=file.scheduler.default_partition,
        default_qos=file.scheduler.default_qos,
        gpu_request=_gpu_request(file),
        demands=tuple(_demand("demand", name, table) for name, table in file.demand.items()),
        refusals=tuple(_demand("refusal", name, table) for name, table in file.refusal.items()),
        unfit=tuple(_unfit(name, table) for name, table in file.unfit.items() if table.sure),
        launchers=_launchers(file),
        node_name_suffix=file.network.node_name_suffix if file.network else "",
        interface=file.network.interface if file.network and file.network.sure else "",
        srun_inherits_cpus=version < _CPUS_NOT_INHERITED if slurm and version else None,
        mode=file.mode or "",
        kinds_complete=file.scheduler.node_kinds_complete,
        arch=file.cpu_arch or "",
        interfaces=_interfaces(file),
        scheduler_module=file.modules.scheduler if file.modules and file.modules.proves else "",
        account_endings=tuple(ending for shape in file.account_shapes for ending in _endings(shape)),
        plugin_options=tuple(file.scheduler.plugin_options) if file.scheduler.sure else (),
        unsure=tuple(_unsure(file)),
    )


def _unsure(file: SiteFile) -> Iterator[str]:
    """Yield the keys of the tables that may prove nothing: those held with less than high confidence."""
    for name in ("scheduler", "gpu_request", "network"):
        if (table := getattr(file, name)) is not None and not table.proves:
            yield name
    for section in ("node", "partition", "qos", "queue", "demand", "refusal", "launcher"):
        yield from ("%s.%s" % (section, name) for name, entry in getattr(file, section).items() if not entry.proves)


def _kind(file: SiteFile, name: str, node: Node) -> NodeKind:
    vendor = node.gpu_vendor or (file.gpu_vendors[0] if node.gpus and len(file.gpu_vendors) == 1 else "")
    return NodeKind(
        name=name,
        gpus=devices(node),
        gpu_vendor=vendor,
        gpu_type=node.gpu_type,
        gpu_model=node.gpu_model,
        cores=(node.cores_allocatable or node.cores) if node.sure else None,
        threads_per_core=node.threads_per_core if node.sure else None,
        memory_gib=(node.memory_allocatable_gib or node.memory_gib) if node.sure else None,
        features=tuple(node.features),
        cpus=_cpus(node) if node.sure else None,
        memory_installed_gib=node.memory_gib if node.sure else None,
        not_mounted=tuple(node.not_mounted) if node.sure else (),
    )


def _cpus(node: Node) -> int | None:
    """Return the CPUs that a job gets by default of a whole node, None where that is not all hardware threads."""
    cores = node.cores_allocatable or node.cores
    return cores * node.threads_default if cores and node.threads_default else None


def _partition(file: SiteFile, selector: str, name: str, table: PartitionTable) -> Partition:
    return Partition(
        name=name,
        selector=selector,
        node_kinds=tuple(table.node_kinds),
        gpus_per_node=_gpus_per_node(file, table),
        min_nodes=table.min_nodes,
        max_nodes=_least(table.max_nodes, table.max_nodes_per_user),
        max_walltime=of_clock(table.max_walltime),
        shared=table.shared,
        constraint=table.constraint,
        sure=table.sure,
        gpu_request=table.gpu_request,
        max_gpus=_least(table.max_gpus_per_job, table.max_gpus_per_user, table.max_gpus_per_allocation),
        default_walltime=of_clock(table.default_walltime),
        routed=table.kind == "execution-only",
        gpus_multiple=table.gpus_multiple,
        cpus_with_gpus=table.cpus_with_gpus,
        account_ending=table.account_ending,
        max_jobs=table.max_submitted_jobs,
        sizes=tuple(
            SizeBin(size_bin.min_nodes, size_bin.max_nodes, of_clock(size_bin.max_walltime) or 0)
            for size_bin in table.size_bins
        ),
    )


def _least(*limits: int | None) -> int | None:
    """Return the least of what one job, all of a user's or all of a project's may have: one job is one of these."""
    return min((limit for limit in limits if limit is not None), default=None)


def _gpus_per_node(file: SiteFile, table: PartitionTable) -> int | None:
    """Return what the file says, else the most that any kind of node behind it has; None where one is not known."""
    if table.gpus_per_node is not None:
        return table.gpus_per_node
    known = [devices(file.node[kind]) for kind in table.node_kinds]
    return max((gpus for gpus in known if gpus is not None), default=None) if None not in known else None


def _interfaces(file: SiteFile) -> tuple[str, ...]:
    table = file.network
    return tuple(table.interfaces or filter(None, [table.interface])) if table and table.sure else ()


def names_of(site: Site) -> Iterator[str]:
    """Yield the names of a site as another one's snapshot has them: `SITE WHAT GPUS NAME`, the longest last."""
    kinds = {kind.name: kind.gpus for kind in site.kinds}
    for partition in site.partitions:
        gpus = (
            partition.gpus_per_node
            if partition.gpus_per_node is not None
            else kinds.get("".join(partition.node_kinds[:1]))
        )
        yield "%s %s %s %s" % (site.id, partition.selector, "?" if gpus is None else gpus, partition.name)
    yield from ("%s account ? %s" % (site.id, ending) for ending in site.account_endings)
    features = dict.fromkeys(feature for kind in site.kinds for feature in kind.features)
    yield from ("%s constraint ? %s" % (site.id, feature) for feature in features)


def _endings(shape: str) -> Iterator[str]:
    """Yield how accounts of a shape end, where that is a word of the site's own: `[a-z]{4}-delta-(gpu|cpu)` has two."""
    match = re.search(r"((?:-[a-z]+)+)(?:-\(([a-z|]+)\))?$", shape)
    if match is not None and len(match[1]) > 4:
        yield from (match[1] + "-" + part for part in match[2].split("|")) if match[2] else (match[1],)


def _unfit(name: str, table: UnfitTable) -> Unfit:
    return Unfit("unfit." + name, table.what, table.says, table.loads, table.unless, table.remove, table.instead,
                 table.before, table.after)  # fmt: skip


def _gpu_request(file: SiteFile) -> GpuRequest:
    table = file.gpu_request
    if table is None or not table.sure:
        return GpuRequest()
    return GpuRequest(table.style, table.required, table.form, table.on_step)


def _demand(section: str, name: str, table: DemandTable) -> Demand:
    return Demand(
        options=tuple(table.options),
        effect=table.effect if table.sure else "unknown",
        says=table.says,
        slot=table.slot,
        applies=table.applies,
        text=table.text,
        key="%s.%s" % (section, name),
        usual=table.usual,
        values=tuple(table.values) if isinstance(table, RefusalTable) else (),
        except_values=tuple(table.except_values) if isinstance(table, RefusalTable) else (),
    )


def _launchers(file: SiteFile) -> tuple[LauncherFact, ...]:
    return tuple(
        LauncherFact(
            name,
            table.state if table.sure else "unknown",
            table.says,
            "launcher.%s" % name,
            (maker(table.implementation) or "") if table.sure else "",
        )
        for name, table in file.launcher.items()
    )
