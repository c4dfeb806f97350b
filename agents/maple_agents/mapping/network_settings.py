"""Settings of NCCL and its kin that contradict what the site's nodes have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.launch_plan import LaunchPlan

from .topology import Hardware

_VALUE = re.compile(rb"=\s*(?:\"([^\"$`]*)\"|'([^']*)'|([^\s;&|\"'$`]*))")
_DEVICES = re.compile(r"\^?=?[\w:.]+(?:,=?[\w:.]+)*\Z")


class Contradiction(NamedTuple):
    """*line*: of the setting. *cure*: what to do instead."""

    line: int
    says: str
    cure: str


def contradictions(
    source: bytes, assigned: Mapping[bytes, tuple[Span, ...]], hardware: Hardware, nodes: int, tensor: int
) -> Iterator[Contradiction]:
    """Yield what the script sets and the site's nodes, or the job's groups, speak against.

    *tensor*: ranks of a tensor-parallel group on one node. A setting that the script makes twice counts for nothing.
    """
    for name, spans in sorted(assigned.items()):
        check = _CHECKS.get(name.decode("ascii", "replace"))
        if check is None or len(spans) != 1:
            continue
        written = _written(source, spans[0])
        judged = check(written, hardware, nodes, tensor) if written else None
        if judged is not None:
            says = f"{name.decode()}={written}: {judged[0]}"
            yield Contradiction(line_of(source, spans[0].start), says, judged[1])


def value(plan: LaunchPlan, source: bytes, name: bytes) -> str:
    """Return what the script sets a variable to, once and as such; "" where it does not."""
    spans = plan.assigned.get(name, ())
    return _written(source, spans[0]) if len(spans) == 1 else ""


def _written(source: bytes, span: Span) -> str:
    match = _VALUE.search(source, span.start, span.end)
    found = next((part for part in match.groups() if part is not None), b"") if match else b""
    return found.decode("utf-8", "replace")


def _is_infiniband(hardware: Hardware) -> bool:
    return "infiniband" in hardware.network.lower()


def _has_fast(hardware: Hardware) -> bool:
    words = ("infiniband", "slingshot", "omni-path", "efa")
    return any(word in hardware.network.lower() for word in words)


def _verbs(value: str, hardware: Hardware, nodes: int, tensor: int) -> tuple[str, str] | None:
    if value != "1" or nodes < 2 or not _is_infiniband(hardware):
        return None
    return f"the nodes are joined by {hardware.network}, and NCCL then goes over TCP", "leave it out"


def _net(value: str, hardware: Hardware, nodes: int, tensor: int) -> tuple[str, str] | None:
    if nodes < 2 or not _has_fast(hardware):
        return None
    if value.lower() == "socket":
        return f"the nodes are joined by {hardware.network}, and NCCL then goes over TCP", "leave it out"
    if value.lower() == "ib" and not _is_infiniband(hardware) and "slingshot" in hardware.network.lower():
        return f"there are no verbs on {hardware.network}", "leave it out, or name the site's plugin"
    return None


def _adapters(value: str, hardware: Hardware, nodes: int, tensor: int) -> tuple[str, str] | None:
    if (
        nodes < 2
        or not hardware.nics
        or not _DEVICES.match(value)
        or value.startswith("^")
        or not _is_infiniband(hardware)
    ):
        return None
    names = [name.lstrip("=").split(":")[0] for name in value.split(",")]
    exact = value.startswith("=") or all(re.search(r"_\d+$", name) for name in names)
    if exact and len(set(names)) < hardware.nics:
        there = f"{hardware.nics} network ports" if hardware.nics > 1 else "one network port"
        return f"a node has {there}, and {len(set(names))} would be used", "leave it out: NCCL finds the near ones"
    return None


def _direct(value: str, hardware: Hardware, nodes: int, tensor: int) -> tuple[str, str] | None:
    if value != "1" or tensor < 2:
        return None
    return "a tensor-parallel group is on one node, and its GPUs may then not talk directly", "leave it out"


def _loopback(value: str, hardware: Hardware, nodes: int, tensor: int) -> tuple[str, str] | None:
    if value.lstrip("=") != "lo" or nodes < 2:
        return None
    return f"{nodes} nodes cannot meet over the loopback", "name the interface of the network"


def _remote_memory(value: str, hardware: Hardware, nodes: int, tensor: int) -> tuple[str, str] | None:
    if value not in ("0", "LOC") or nodes < 2 or not _has_fast(hardware):
        return None
    return "GPUs and network ports may then never talk directly", "leave it out: NCCL knows the distances"


_CHECKS = {
    "NCCL_IB_DISABLE": _verbs,
    "NCCL_NET": _net,
    "NCCL_IB_HCA": _adapters,
    "NCCL_P2P_DISABLE": _direct,
    "NCCL_SOCKET_IFNAME": _loopback,
    "NCCL_NET_GDR_LEVEL": _remote_memory,
}
