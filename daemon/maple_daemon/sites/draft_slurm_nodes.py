"""What Slurm says of its nodes, as values: JSON where the installed release has it, a table where not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from maple_agents.ask.schedulers.slurm import tables as slurm_tables

from .draft_questions import Asking
from .draft_values import Seen, count, is_name, names

_COLUMNS = {
    "%N": "name",
    "%P": "partitions",
    "%X": "sockets",
    "%Y": "cores",
    "%Z": "threads",
    "%m": "real_memory",
    "%G": "gres",
    "%f": "features",
}


_NUMBERS = {"sockets": "sockets", "cores": "cores", "threads": "threads", "real_memory": "memory"}


def nodes_said(asking: Asking) -> tuple[list[Seen], bool, str]:
    """Return the nodes, whether they are all that were listed, and by which command.

    As JSON where it is known, else as a table.
    """
    for words in (("scontrol", "show", "nodes", "--json"), ("sinfo", "-a", "-N", "--json")):
        rows = _rows(asking.said(*words, tell=False))
        if rows:
            return (*_merged(rows), " ".join(words))
    separator = slurm_tables.mark()
    table = asking.said("sinfo", "-h", "-a", "-N", "-o", slurm_tables.form(list(_COLUMNS), separator))
    return (
        *_merged(slurm_tables.rows(table, list(_COLUMNS.values()), separator)),
        "sinfo -a -N -o '%s'" % " ".join(_COLUMNS),
    )


def _rows(text: str) -> Sequence[Mapping[str, Any]]:
    """Return the nodes of an answer in JSON, [] where it is not of the form that is known."""
    try:
        told = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return []
    groups = told.get("sinfo") if isinstance(told, dict) else None
    if isinstance(groups, list):
        return [row for group in groups if isinstance(group, dict) for row in _of_group(group)]
    rows = told.get("nodes") if isinstance(told, dict) else None
    right = isinstance(rows, list) and all(isinstance(row, dict) and "gres" in row for row in rows)
    return rows if right else []  # type: ignore[return-value]


def _of_group(group: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the nodes of a group of `sinfo --json` (23.11 and later): those that are alike in one partition.

    What is not the same on all of them is not told of any.
    """
    listed, partition = _below(group, "nodes", "nodes"), _below(group, "partition", "name")
    numbers = {key: _same(group.get(name)) for key, name in _NUMBERS.items()}
    for name in listed if isinstance(listed, list) else []:
        yield {
            **numbers,
            "name": name,
            "partitions": [partition] if isinstance(partition, str) else [],
            "gres": _below(group, "gres", "total"),
            "features": _below(group, "features", "total"),
        }


def _below(group: Mapping[str, Any], *keys: str) -> Any:
    found: Any = group
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _same(range_of_it: object) -> int | None:
    """Return the number of `{"minimum": 2, "maximum": 2}`, None where the two differ."""
    ends = [_below({"of": range_of_it}, "of", end) for end in ("minimum", "maximum")]
    return ends[0] if ends[0] == ends[1] and isinstance(ends[0], int) else None


def _merged(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Seen], bool]:
    """Return a node for each name, for the table has a row for each partition of a node."""
    found: dict[str, Seen] = {}
    complete = True
    for row in rows:
        node = node_of(row)
        if node is None:
            complete = False
        elif node.name in found:
            known = found[node.name]
            found[node.name] = known._replace(places=tuple(dict.fromkeys((*known.places, *node.places))))
        else:
            found[node.name] = node
    return list(found.values()), complete


def node_of(row: Mapping[str, Any]) -> Seen | None:
    """Return the node of a row, in JSON or of the table; None where its name is none."""
    name = row.get("name")
    if not is_name(name):
        return None
    gpus, types = gres_gpus(row.get("gres"))
    boards, sockets, cores = (count(row.get(key, 1)) or None for key in ("boards", "sockets", "cores"))
    threads = count(row.get("threads")) or None
    real = boards * sockets * cores if boards and sockets and cores else None
    effective = count(row.get("effective_cpus"))
    allocatable = effective // threads if effective and threads and real and effective < real * threads else None
    places = row.get("partitions")
    return Seen(
        str(name),
        names([one.rstrip("*") for one in places] if isinstance(places, list) else str(places or "").rstrip("*")),
        gpus,
        types,
        real,
        allocatable,
        threads,
        count(row.get("real_memory"), 1 << 40),
        tuple(one for one in names(row.get("features")) if one not in ("null", "N/A")),
        str(row.get("architecture") or "") if is_name(row.get("architecture")) else "",
    )


def gres_gpus(gres: object) -> tuple[int | None, tuple[str, ...]]:
    """Return number and kinds of the GPUs of `gpu:a100:4(S:0-1),shard:8`: 4 and a100; None for a form not known.

    Nothing said of any resource is none, and so is a list without GPUs.
    """
    if not isinstance(gres, str):
        return None, ()
    total, types = 0, []
    bare = re.sub(r"\([^()]*\)", "", gres.replace("gres/", ""))
    for one in (word for word in bare.split(",") if word.split(":")[0].split("=")[0] == "gpu"):
        form = re.fullmatch(
            r"gpu(?::(?P<type>[A-Za-z_][\w.+-]{0,60}|\d[\w.+-]*[A-Za-z_.+-][\w.+-]*))?:(?P<n>\d{1,4})", one
        )
        if form is None:
            return None, ()
        total += int(form["n"])
        types += [form["type"]] if form["type"] else []
    return total, tuple(dict.fromkeys(types))
