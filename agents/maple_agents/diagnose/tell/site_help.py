"""What the site's file says that helps against a class of cause: its modules, partitions, interface, proxy, places.

Advice in general names `MODULE` and `PARTITION`; here stand the names of this site. What the file does not say is left
out, and a site that nobody described says nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...base.quantities import of_clock
from ..fix.registry import whole
from ..values import Cause, Diagnosis

if TYPE_CHECKING:
    from ...ask.sites.model import PartitionTable, SiteFile

Says = Callable[["SiteFile"], Iterator[str]]
FEW = 2  # ways to load a framework
MOST = 8  # names in a list
OWN_PACKAGES = "own packages: "
_OF_TORCH = ("torch", "torchvision", "torchaudio", "torchrun", "python", "python3")


def here(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return what the site's file says about the first cause, a sentence each; () for nothing."""
    tables = [table for table in _OF_CAUSE.get(diagnosis.causes[0].cause, ()) if _fits(table, diagnosis.causes[0])]
    site = whole(diagnosis.case.site) if tables else None
    return tuple(dict.fromkeys(line for table in tables for line in table(site))) if site is not None else ()


def _fits(says: Says, cause: Cause) -> bool:
    """Return whether it helps: how PyTorch is loaded does not where another package or command is missing."""
    named = {value.partition(".")[0] for value in cause.values.values()}
    missing = cause.cause in ("missing_python_module", "launcher_not_found", "module_not_found")
    return says is not _pytorch or not missing or not named.isdisjoint(_OF_TORCH)


def _pytorch(site: SiteFile) -> Iterator[str]:
    for load in site.modules.pytorch[:FEW] if site.modules else ():
        yield "PyTorch comes with: %s" % "; ".join([*load.load, *([load.then] if load.then else [])])


def _environment(site: SiteFile) -> Iterator[str]:
    if site.modules and site.modules.environment:
        yield OWN_PACKAGES + site.modules.environment


def _modules(site: SiteFile) -> Iterator[str]:
    if site.modules and site.modules.system:
        reset = "%s brings the defaults back; " % site.modules.reset if site.modules.reset else ""
        yield reset + ("module spider NAME finds a module" if site.modules.system == "Lmod" else "module avail NAME")


def _tables(site: SiteFile) -> list[tuple[str, PartitionTable]]:
    """Return the partitions or queues that one may ask for; a queue that only takes over from another is none."""
    rows = site.queue if site.scheduler.type == "pbs" else site.partition
    return [
        (name, partition_table) for name, partition_table in rows.items() if partition_table.kind != "execution-only"
    ]


def _partitions(site: SiteFile) -> Iterator[str]:
    if _tables(site):
        what = "queues" if site.scheduler.type == "pbs" else "partitions"
        yield "%s: %s" % (what, _list([name for name, _ in _tables(site)]))
    if site.qos:
        yield "QOS: %s" % _list(list(site.qos))


def _longest(site: SiteFile) -> Iterator[str]:
    rows = [
        (partition_table.max_walltime, name) for name, partition_table in _tables(site) if partition_table.max_walltime
    ]
    rows.sort(key=lambda row: -(of_clock(row[0]) or 0))
    if rows:
        yield "longest times: %s" % _list(["%s %s" % (name, time) for time, name in rows])


def _gpu_memory(site: SiteFile) -> Iterator[str]:
    """GPUs by their memory, and where they are had, the largest first."""
    rows = sorted(
        ((node.gpu_memory_gib, name) for name, node in site.node.items() if node.gpu_memory_gib), reverse=True
    )
    kinds = ["%g GiB on %s" % (size, _behind(site, name)) for size, name in rows]
    if len(kinds) > 1:
        yield "GPU memory: %s" % _list(kinds)


def _behind(site: SiteFile, kind: str) -> str:
    """Return the partition that gives nodes of that kind and no others, else the kind's own name."""
    return next((name for name, partition_table in _tables(site) if partition_table.node_kinds == [kind]), kind)


def _host_memory(site: SiteFile) -> Iterator[str]:
    nodes = ["%g GiB on %s" % (node.memory_gib, _behind(site, name)) for name, node in site.node.items()
            if node.memory_gib]  # fmt: skip
    if nodes:
        yield "memory of a node: %s" % _list(nodes)


def _interface(site: SiteFile) -> Iterator[str]:
    if site.network and site.network.interface:
        yield "the fast network is %s: export GLOO_SOCKET_IFNAME=%s" % ((site.network.interface,) * 2)


def _nccl(site: SiteFile) -> Iterator[str]:
    return _transport(site, ("NCCL_", "RCCL_", "FI_"))


def _ccl(site: SiteFile) -> Iterator[str]:
    return _transport(site, ("CCL_", "FI_", "I_MPI_"))


def _transport(site: SiteFile, begin: tuple[str, ...]) -> Iterator[str]:
    """What holds for every job here; what depends on something is for the site's documents to explain."""
    rows = (
        [transport_variable for transport_variable in site.network.variables if not transport_variable.when]
        if site.network
        else []
    )
    rows = [transport_variable for transport_variable in rows if transport_variable.name.startswith(begin)]
    wanted = [
        "%s=%s" % (transport_variable.name, shlex.quote(transport_variable.value))
        for transport_variable in rows
        if transport_variable.status == "recommended" and transport_variable.value
    ]
    unset = [transport_variable.name for transport_variable in rows if transport_variable.status == "avoid"]
    if wanted:
        yield "export " + " ".join(wanted)
    if unset:
        yield "leave unset: " + ", ".join(unset)


def _proxy(site: SiteFile) -> Iterator[str]:
    address = (site.proxy.https or site.proxy.http or site.proxy.all) if site.proxy else ""
    if address:
        yield "compute nodes reach the internet by a proxy: export https_proxy=%s http_proxy=%s" % (address, address)
    elif site.proxy and site.proxy.module:
        yield "compute nodes reach the internet after: module load %s" % site.proxy.module


def _places(site: SiteFile) -> Iterator[str]:
    rows = [place for place in site.path if "/" in place.name + place.value and "NODEFILE" not in place.name]
    if rows:
        yield "places: %s" % _list(
            ["%s (%s)" % (place.name, place.value) if place.value else place.name for place in rows]
        )


def _launchers(site: SiteFile) -> Iterator[str]:
    names = [name for name, launcher_table in site.launcher.items() if launcher_table.state in ("preferred", "present")]
    if names:
        yield "launchers: %s" % _list(names)


def _containers(site: SiteFile) -> Iterator[str]:
    if site.containers:
        parts = [site.containers.runtime, site.containers.load, site.containers.usage]
        yield "containers: %s" % "; ".join(filter(None, parts))


def _list(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (", … and %d more" % (len(names) - MOST) if len(names) > MOST else "")


_OF_CAUSE: dict[str, tuple[Says, ...]] = {
    "missing_python_module": (_pytorch, _environment),
    "wrong_interpreter_or_env": (_pytorch, _environment),
    "package_version_conflict": (_environment,),
    "cuda_driver_mismatch": (_pytorch,),
    "cuda_arch_unsupported": (_pytorch,),
    "missing_shared_library": (_modules,),
    "compiler_or_cuda_home_missing": (_modules,),
    "module_not_found": (_modules, _pytorch),
    "launcher_not_found": (_launchers, _pytorch),
    "launcher_bad_option": (_launchers,),
    "mpi_pmi_mismatch": (_launchers,),
    "invalid_partition_account_qos": (_partitions,),
    "time_limit": (_longest,),
    "gpu_oom": (_gpu_memory,),
    "host_oom": (_host_memory,),
    "wrong_network_interface": (_interface,),
    "nccl_init_or_transport": (_interface, _nccl),
    "ccl_fabric_provider": (_interface, _ccl),
    "hub_offline_or_gated": (_proxy,),
    "disk_quota_or_full": (_places,),
    "container_error": (_containers,),
}
