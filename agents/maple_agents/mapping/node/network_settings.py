"""Settings of NCCL and its kin that contradict what the site's nodes have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.launch_plan import LaunchPlan, Link

from ..topology import Hardware

_VALUE = re.compile(rb"=\s*(?:\"([^\"$`]*)\"|'([^']*)'|([^\s;&|\"'$`]*))")
_DEVICES = re.compile(r"\^?=?[\w:.]+(?:,=?[\w:.]+)*\Z")


_HANDING = ("x", "env", "export", "genv", "envs")
Told = Optional[tuple[str, str]]


class Use(NamedTuple):
    """Of the job: its nodes, the ranks of a tensor-parallel group on one node, the ranks on a node (0 not known)."""

    nodes: int
    tensor: int = 1
    ranks: int = 0


class Contradiction(NamedTuple):
    """*line*: of the setting. *cure*: what to do instead."""

    line: int
    says: str
    cure: str


def contradictions(
    source: bytes, assigned: Mapping[bytes, tuple[Span, ...]], hardware: Hardware, use: Use
) -> Iterator[Contradiction]:
    """Yield what the script sets and the site's nodes, or the job's groups, speak against.

    A setting that the script makes twice counts for nothing.
    """
    for name, spans in sorted(assigned.items()):
        check = _CHECKS.get(name.decode("ascii", "replace"))
        if check is None or len(spans) != 1:
            continue
        written = _written(source, spans[0])
        flaw = check(written, hardware, use) if written else None
        if flaw is not None:
            says = f"{name.decode()}={written}: {flaw[0]}"
            yield Contradiction(line_of(source, spans[0].start), says, flaw[1])


def judged(name: str, value: str, hardware: Hardware, use: Use) -> Told:
    """Return what speaks against one setting, and what to do instead; None where nothing does."""
    return _CHECKS[name](value, hardware, use)


def handed(links: Sequence[Link]) -> Iterator[tuple[str, str]]:
    """Yield the settings that launchers hand their tasks: `-x NAME=value`, `--env ...`, `--export=ALL,NAME=value`."""
    for link in links:
        for option in link.options:
            text = (
                option.value.raw.decode("utf-8", "replace") if option.value is not None and option.value.known else ""
            )
            for part in text.split(",") if option.name == "export" else [text]:
                name, equals, value = part.partition("=")
                if option.name in _HANDING and equals and value and name in _CHECKS:
                    yield name, value


def value(plan: LaunchPlan, source: bytes, name: bytes) -> str:
    """Return what the script sets a variable to, once and as such; "" where it does not."""
    spans = plan.assigned.get(name, ())
    return _written(source, spans[0]) if len(spans) == 1 else ""


def _written(source: bytes, span: Span) -> str:
    match = _VALUE.search(source, span.start, span.end)
    word = next((part for part in match.groups() if part is not None), b"") if match else b""
    return word.decode("utf-8", "replace")


# Networks by the word in their name: the adapters that a node then has, and the drivers of libfabric that drive them.
_ADAPTERS = {
    "infiniband": r"mlx\d|ib\w*\d|ipoib",
    "slingshot": r"hsn|cxi",
    "omni-path": r"hfi\d|opa|ib\d",
    "efa": r"rdmap|efa",
}
_PROVIDERS = {
    "infiniband": ("verbs", "ucx", "mlx"),
    "slingshot": ("cxi",),
    "omni-path": ("psm2", "opx", "psm3", "verbs"),
    "efa": ("efa",),
}
_ABOVE = ("ofi_rxm", "ofi_rxd", "shm", "sm2", "self", "off_coll", "lnx")  # drivers that stand on another one
_TCP = ("tcp", "sockets", "udp", "net")
_OVER_TCP = [
    "tcp", "self", "sm", "shm", "posix", "sysv", "cma", "knem", "xpmem", "cuda", "cuda_copy", "cuda_ipc", "rocm",
    "rocm_copy", "rocm_ipc", "gdr_copy",
]  # fmt: skip


def _kinds(hardware: Hardware) -> list[str]:
    """Return the networks of the nodes that are not Ethernet; what contradicts must contradict each of them."""
    return [kind for kind in _ADAPTERS if kind in hardware.network.lower()]


def _has_no_verbs(hardware: Hardware) -> bool:
    return bool(_kinds(hardware)) and set(_kinds(hardware)) <= {"slingshot", "efa"}


def _goes_over_tcp(what: str, hardware: Hardware) -> Told:
    return f"the nodes are joined by {hardware.network}, and {what} then goes over TCP", "leave it out"


def _verbs(value: str, hardware: Hardware, use: Use) -> Told:
    infiniband = value == "1" and use.nodes > 1 and "infiniband" in hardware.network.lower()
    return _goes_over_tcp("NCCL", hardware) if infiniband else None


def _net(value: str, hardware: Hardware, use: Use) -> Told:
    if use.nodes < 2 or not _kinds(hardware):
        return None
    if value.lower() == "socket":
        return _goes_over_tcp("NCCL", hardware)
    if value.lower() == "ib" and _has_no_verbs(hardware):
        return f"there are no verbs on {hardware.network}", "leave it out, or name the site's plugin"
    return None


def _plugin(value: str, hardware: Hardware, use: Use) -> Told:
    without = value.lower() == "none" and use.nodes > 1 and _has_no_verbs(hardware)
    return _goes_over_tcp("NCCL", hardware) if without else None


def _provider(value: str, hardware: Hardware, use: Use) -> Told:
    """Judge FI_PROVIDER: a list, perhaps with a driver that stands on another (`tcp;ofi_rxm`)."""
    drivers = [driver for kind in _kinds(hardware) for driver in _PROVIDERS[kind]]
    named = [name for name in re.split(r"[,;]", value.lower()) if name not in _ABOVE]
    if use.nodes < 2 or not drivers or not named or value.startswith("^") or set(named) & set(drivers):
        return None
    if all(name in _TCP for name in named):
        return _goes_over_tcp("libfabric", hardware)
    known = {name for names in _PROVIDERS.values() for name in names} | {"gni", *_TCP}
    foreign = all(name in known for name in named)
    return (f"no such driver drives {hardware.network}", f"FI_PROVIDER={drivers[0]}") if foreign else None


def _transports(value: str, hardware: Hardware, use: Use) -> Told:
    named = value.lower().split(",")
    only = "tcp" in named and all(name in _OVER_TCP for name in named)
    return _goes_over_tcp("UCX", hardware) if use.nodes > 1 and only and "infiniband" in _kinds(hardware) else None


def _names(value: str, hardware: Hardware, use: Use) -> Told:
    """Judge the adapters or interfaces that are named, by the network whose adapters are called so."""
    here = _kinds(hardware)
    if not here or use.nodes < 2 or not _DEVICES.match(value) or value.startswith("^"):
        return None
    named = [name.lstrip("=").split(":")[0] for name in value.split(",")]
    called = [{kind for kind in _ADAPTERS if _is_called(name, kind)} for name in named]
    if all(kinds and not kinds & set(here) for kinds in called):
        return f"the nodes are joined by {hardware.network}, and adapters are not called so there", "leave it out"
    return None


def _is_called(name: str, kind: str) -> bool:
    return re.match(_ADAPTERS[kind], name) is not None


def _adapters(value: str, hardware: Hardware, use: Use) -> Told:
    foreign = _names(value, hardware, use)
    listed = _DEVICES.match(value) and not value.startswith("^")
    if foreign or not listed or "infiniband" not in hardware.network.lower():
        return foreign
    names = [name.lstrip("=").split(":")[0] for name in value.split(",")]
    exact = value.startswith("=") or all(re.search(r"_\d+$", name) for name in names)
    return _few(names, hardware, use, "leave it out: NCCL finds the near ones") if exact else None


def _few(names: Sequence[str], hardware: Hardware, use: Use, cure: str) -> Told:
    """Return that fewer ports are named than the ranks of a node have."""
    if use.nodes < 2 or use.ranks == 1 or not hardware.nics or len(set(names)) >= hardware.nics:
        return None
    there = f"{hardware.nics} network ports" if hardware.nics > 1 else "one network port"
    return f"a node has {there}, and {len(set(names))} would be used", cure


def _cxi(value: str, hardware: Hardware, use: Use) -> Told:
    foreign = _names(value, hardware, use)
    names = value.split(",")
    known = not foreign and _kinds(hardware) == ["slingshot"] and all(re.fullmatch(r"cxi\d+", name) for name in names)
    return _few(names, hardware, use, "leave it out: libfabric takes them all") if known else foreign


def _direct(value: str, hardware: Hardware, use: Use) -> Told:
    if value != "1" or use.tensor < 2:
        return None
    return "a tensor-parallel group is on one node, and its GPUs may then not talk directly", "leave it out"


def _near(value: str, hardware: Hardware, use: Use) -> Told:
    return _direct("1" if value in ("0", "LOC") else "", hardware, use)


def _interfaces(value: str, hardware: Hardware, use: Use) -> Told:
    if use.nodes > 1 and value.lstrip("=") == "lo":
        return f"{use.nodes} nodes cannot meet over the loopback", "name the interface of the network"
    return _names(value, hardware, use)


def _remote_memory(value: str, hardware: Hardware, use: Use) -> Told:
    if value not in ("0", "LOC") or use.nodes < 2 or not _kinds(hardware):
        return None
    return "GPUs and network ports may then never talk directly", "leave it out: NCCL knows the distances"


def _remote(value: str, hardware: Hardware, use: Use) -> Told:
    foreign = value.lower().startswith("ib") and use.nodes > 1 and _has_no_verbs(hardware)
    return (f"there are no verbs on {hardware.network}", "NVSHMEM_REMOTE_TRANSPORT=libfabric") if foreign else None


_CHECKS = {
    "NCCL_IB_DISABLE": _verbs,
    "NCCL_NET": _net,
    "NCCL_NET_PLUGIN": _plugin,
    "NCCL_IB_HCA": _adapters,
    "UCX_NET_DEVICES": _adapters,
    "NVSHMEM_HCA_LIST": _adapters,
    "FI_CXI_DEVICE_NAME": _cxi,
    "UCX_TLS": _transports,
    "FI_PROVIDER": _provider,
    "NVSHMEM_REMOTE_TRANSPORT": _remote,
    "NCCL_P2P_DISABLE": _direct,
    "NVSHMEM_DISABLE_P2P": _direct,
    "NCCL_P2P_LEVEL": _near,
    "NCCL_SOCKET_IFNAME": _interfaces,
    "GLOO_SOCKET_IFNAME": _interfaces,
    "TP_SOCKET_IFNAME": _interfaces,
    "NCCL_NET_GDR_LEVEL": _remote_memory,
}
