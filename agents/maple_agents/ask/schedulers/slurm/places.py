"""From rows of sinfo and lines of scontrol to `Node`, `Queue` and `Server`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ....base.quantities import of_clock
from ..protocol import Node, Queue, Server

_UNUSABLE = {"down", "drained", "draining", "drain", "fail", "failing", "inval", "unknown", "future", "error"}
_STATE_SIGNS = "*~#!%$@^-+"  # not responding, powering, in maintenance ...


def nodes_of(rows: Iterable[Mapping[str, str]]) -> list[Node]:
    """Return the nodes of sinfo's rows, of which there is one for each node and partition."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row)
    return [_node(name, of_it) for name, of_it in found.items()]


def _node(name: str, rows: list[Mapping[str, str]]) -> Node:
    first = rows[0]
    states = tuple(word.rstrip(_STATE_SIGNS) for word in first["state"].lower().split("+"))
    reason, features = first["reason"], first["features"]
    return Node(
        name=name,
        states=states,
        usable=not _UNUSABLE & set(states) and "*" not in first["state"],
        cpus=_number(first["cpus"]),
        gpus=gpus(first["gres"]),
        memory_mib=_number(first["memory"]),
        queues=tuple(dict.fromkeys(row["partition"].rstrip("*") for row in rows)),
        features=() if features in ("(null)", "") else tuple(features.split(",")),
        comment="" if reason == "none" else reason,
        attributes=dict(first),
    )


def gpus(gres: str) -> int | None:
    """Return the GPUs of `gpu:a100:4(S:0-1),gpu:2,shard:8`: 6; None where nothing is said of any resource."""
    if gres in ("(null)", ""):
        return 0
    found = re.findall(r"(?:^|,)gpu(?::[^,:(]+)?:(\d{1,6})(?=[(,]|$)", gres, re.ASCII)
    return sum(int(one) for one in found)


def queue_of(line: str) -> Queue | None:
    """Return the partition of a line of `scontrol -o show partition`, None where it is none; no value has a blank."""
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    if "PartitionName" not in fields:
        return None
    state = fields.get("State", "")
    return Queue(
        name=fields["PartitionName"],
        accepts=state in ("UP", "DOWN"),  # jobs wait in one that is down
        starts=state in ("UP", "DRAIN"),
        default=fields.get("Default") == "YES",
        max_walltime=of_clock(fields.get("MaxTime", "")),
        max_nodes=_number(fields.get("MaxNodes", "")),
        attributes=fields,
    )


def server_of(text: str) -> Server:
    """Return the server of `scontrol show config`: lines of `Name = value`."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    return Server(fields.get("ClusterName", ""), fields.get("SLURM_VERSION", ""), fields)


def _number(text: str) -> int | None:
    digits = text.rstrip("+")  # sinfo: at least so many
    return int(digits) if re.fullmatch(r"\d{1,12}", digits, re.ASCII) else None
