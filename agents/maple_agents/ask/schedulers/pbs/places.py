"""From the attributes of PBS nodes, queues and servers to `Node`, `Queue` and `Server`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....base.quantities import asked, mebibytes
from ..protocol import Node, Queue, Server

# A node in one of these states takes no new job, whatever else it is.
_UNUSABLE = {"down", "offline", "stale", "unknown", "state-unknown", "provisioning", "wait-provisioning"}


def node_of(name: str, attributes: Mapping[str, str]) -> Node:
    """Return the node that *attributes* describe."""
    states = tuple(word.strip().lower() for word in attributes.get("state", "").split(",") if word.strip())
    queue = attributes.get("queue", "")
    return Node(
        name=name,
        states=states,
        usable=bool(states) and not _UNUSABLE & set(states),
        cpus=number(attributes.get("resources_available.ncpus")),
        gpus=number(attributes.get("resources_available.ngpus")),
        memory_mib=mebibytes(attributes.get("resources_available.mem")),
        queues=(queue,) if queue else (),
        comment=attributes.get("comment", ""),
        attributes=dict(attributes),
    )


def queue_of(name: str, attributes: Mapping[str, str], default: str = "") -> Queue:
    """Return the queue that *attributes* describe. *default*: the server's `default_queue`."""
    return Queue(
        name=name,
        accepts=_true(attributes.get("enabled")),
        starts=_true(attributes.get("started")),
        default=name == default,
        max_walltime=asked(attributes.get("resources_max.walltime", ""), "pbs"),
        max_nodes=number(attributes.get("resources_max.nodect")),
        attributes=dict(attributes),
    )


def server_of(name: str, attributes: Mapping[str, str]) -> Server:
    """Return the server that *attributes* describe."""
    return Server(attributes.get("server_host", name), attributes.get("pbs_version", ""), dict(attributes))


def number(text: str | None) -> int | None:
    """Return a whole number, None where *text* is none."""
    return int(text) if text is not None and re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


def _true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "t", "1", "y")
