"""Tables that Slurm's commands print in a form of our choice, read without guessing.

The fields are separated by a mark drawn for each call, so no job name, comment or path can look like a separator. Each
record begins with the mark as well: what stands between two records (headings, line ends) belongs to none.

From rows of sinfo and lines of scontrol to `Node`, `Queue` and `Server`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence

from ....base.quantities import of_clock
from ..commands import Output
from ..protocol import Node, Queue, SchedulerError, Server, one_line

_UNUSABLE = {"down", "drained", "draining", "drain", "fail", "failing", "inval", "unknown", "future", "error"}
_STATE_SIGNS = "*~#!%$@^-+"  # not responding, powering, in maintenance ...


def mark() -> str:
    """Return a new separator: printable, without a percent sign, and known to nobody before."""
    return "<%s>" % secrets.token_hex(8)


def form(fields: Sequence[str], separator: str) -> str:
    """Return the format (`squeue -o`, `sinfo -o`) that prints *fields*, each a letter like `%i`."""
    return separator + "".join(field + separator for field in fields) + "."


def rows(text: str, names: Sequence[str], separator: str) -> list[dict[str, str]]:
    """Return the records of *text* by the names of their fields."""
    pieces = text.split(separator)
    size = len(names) + 1
    return [dict(zip(names, pieces[at : at + size - 1])) for at in range(1, len(pieces) - size + 1, size)]


def parsable(text: str, names: Sequence[str], separator: str) -> list[dict[str, str]]:
    """Return the records of `sacct -p --delimiter`: the separator follows each field, a line end each record."""
    pieces = text.split(separator)
    size = len(names)
    records = [pieces[at : at + size] for at in range(0, len(pieces) - size, size)]
    return [dict(zip(names, [record[0].removeprefix("\n"), *record[1:]])) for record in records]


# What Slurm's commands say when they refuse: in one line, and whether the job is merely not there.

_GONE = ("Invalid job id specified", "already completing or completed", "Job has already finished")
_DOWN = (
    "Unable to contact", "Socket timed out", "try again", "Connection refused", "No route to host",
    "Network is unreachable", "configuration source", "DNS SRV lookup failed", "Unknown host",  # without a slurm.conf
)  # fmt: skip


def is_gone(text: str) -> bool:
    """Return True where *text* says that there is no such job, or that it is over."""
    return any(words in text for words in _GONE)


def slurm_refusal(asked: str, answer: Output) -> SchedulerError:
    """Return the exception for a command that failed, with its own words but without its name before each line."""
    text = one_line(re.sub(r"^\w+: (error: )?", "", answer.err, flags=re.MULTILINE) or answer.out)
    down = any(word in text for word in _DOWN)
    remedy = "is slurmctld up? try again later" if down else "correct the request"
    return SchedulerError(asked, text, remedy, answer.code, transient=down)


def nodes_of(rows: Iterable[Mapping[str, str]]) -> list[Node]:
    """Return the nodes of sinfo's rows, of which there is one for each node and partition."""
    by_name: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        by_name.setdefault(row["name"], []).append(row)
    return [_node(name, of_it) for name, of_it in by_name.items()]


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
    counts = re.findall(r"(?:^|,)gpu(?::[^,:(]+)?:(\d{1,6})(?=[(,]|$)", gres, re.ASCII)
    return sum(int(count) for count in counts)


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
