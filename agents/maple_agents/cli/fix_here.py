"""What the site's file says that helps against a class of cause: its modules, partitions, interface, proxy, places.

Advice in general names `MODULE` and `PARTITION`; here stand the names of this site. What the file does not say is left
out, and a site that nobody described says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..debug.fixes.site_files import whole
from ..debug.values import Diagnosis
from ..sites.model import PartitionTable, SiteFile

Says = Callable[[SiteFile], Iterator[str]]
FEW = 2  # ways to load a framework
MOST = 8  # names in a list


def here(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return what the site's file says about the first cause, a sentence each; () for nothing."""
    told = _OF_CAUSE.get(diagnosis.causes[0].cause, ())
    site = whole(diagnosis.case.site) if told else None
    return tuple(dict.fromkeys(line for one in told for line in one(site))) if site is not None else ()


def _pytorch(site: SiteFile) -> Iterator[str]:
    for one in site.modules.pytorch[:FEW] if site.modules else ():
        yield "PyTorch comes with: %s" % "; ".join([*one.load, *([one.then] if one.then else [])])


def _environment(site: SiteFile) -> Iterator[str]:
    if site.modules and site.modules.environment:
        yield "own packages: " + site.modules.environment


def _modules(site: SiteFile) -> Iterator[str]:
    if site.modules and site.modules.system:
        reset = "%s brings the defaults back; " % site.modules.reset if site.modules.reset else ""
        yield reset + ("module spider NAME finds a module" if site.modules.system == "Lmod" else "module avail NAME")


def _tables(site: SiteFile) -> list[tuple[str, PartitionTable]]:
    return list((site.queue if site.scheduler.type == "pbs" else site.partition).items())


def _partitions(site: SiteFile) -> Iterator[str]:
    """Those that one may ask for; a queue that only takes over from another is none."""
    names = [name for name, one in _tables(site) if one.kind != "execution-only"]
    if names:
        what = "queues" if site.scheduler.type == "pbs" else "partitions"
        yield "%s: %s" % (what, _list(names))
    if site.qos:
        yield "QOS: %s" % _list(list(site.qos))


def _longest(site: SiteFile) -> Iterator[str]:
    told = ["%s %s" % (name, one.max_walltime) for name, one in _tables(site) if one.max_walltime]
    if told:
        yield "longest times: %s" % _list(told)


def _gpu_memory(site: SiteFile) -> Iterator[str]:
    """GPUs by their memory, and where they are had, the largest first."""
    rows = sorted(
        ((node.gpu_memory_gib, name) for name, node in site.node.items() if node.gpu_memory_gib), reverse=True
    )
    told = ["%g GiB on %s" % (size, _behind(site, name)) for size, name in rows]
    if len(told) > 1:
        yield "GPU memory: %s" % _list(told)


def _behind(site: SiteFile, kind: str) -> str:
    names = [name for name, one in _tables(site) if one.node_kinds == [kind]]
    return "/".join(names[:2]) or kind


def _host_memory(site: SiteFile) -> Iterator[str]:
    told = ["%g GiB on %s" % (node.memory_gib, _behind(site, name)) for name, node in site.node.items()
            if node.memory_gib]  # fmt: skip
    if told:
        yield "memory of a node: %s" % _list(told)


def _interface(site: SiteFile) -> Iterator[str]:
    if site.network and site.network.interface:
        yield "the fast network is %s: export GLOO_SOCKET_IFNAME=%s" % ((site.network.interface,) * 2)
    for one in site.network.variables if site.network else ():
        if one.status in ("recommended", "avoid") and (one.value or one.status == "avoid"):
            yield "leave %s unset" % one.name if one.status == "avoid" else "export %s=%s" % (one.name, one.value)


def _proxy(site: SiteFile) -> Iterator[str]:
    if site.proxy and (site.proxy.https or site.proxy.http or site.proxy.all):
        address = site.proxy.https or site.proxy.http or site.proxy.all
        yield "compute nodes reach the internet by a proxy: export https_proxy=%s http_proxy=%s" % (address, address)
    elif site.proxy and site.proxy.module:
        yield "compute nodes reach the internet after: module load %s" % site.proxy.module
    elif site.proxy and site.proxy.says:
        yield site.proxy.says


def _places(site: SiteFile) -> Iterator[str]:
    told = ["%s (%s)" % (one.name, one.value) if one.value else one.name for one in site.path if "/" in one.name]
    if told:
        yield "places: %s" % _list(told)


def _launchers(site: SiteFile) -> Iterator[str]:
    told = [name for name, one in site.launcher.items() if one.state in ("preferred", "present")]
    if told:
        yield "launchers: %s" % _list(told)


def _containers(site: SiteFile) -> Iterator[str]:
    if site.containers:
        yield "containers: %s" % "; ".join(filter(None, [site.containers.runtime, site.containers.load,
                                                         site.containers.usage]))  # fmt: skip


def _list(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (", … and %d more" % (len(names) - MOST) if len(names) > MOST else "")


_OF_CAUSE: dict[str, tuple[Says, ...]] = {
    "missing_python_module": (_pytorch, _environment),
    "wrong_interpreter_or_env": (_pytorch, _environment),
    "package_version_conflict": (_environment,),
    "cuda_driver_mismatch": (_pytorch,),
    "cuda_arch_unsupported": (_pytorch,),
    "missing_shared_library": (_pytorch, _modules),
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
    "nccl_init_or_transport": (_interface,),
    "hostname_resolution": (_interface,),
    "ccl_fabric_provider": (_interface,),
    "hub_offline_or_gated": (_proxy,),
    "disk_quota_or_full": (_places,),
    "container_error": (_containers,),
}
