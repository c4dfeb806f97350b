"""What Slurm says of its partitions, QOS and configuration, as values.

What Slurm says of its nodes, as values: JSON where the installed release has it, a table where not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from maple_agents.ask.schedulers.slurm import tables as slurm_tables
from maple_agents.ask.schedulers.slurm.tables import server_of
from maple_agents.base.quantities import of_clock

from .draft_values import Asking, Place, Seen, System, count, is_name, names, shown, version

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

_QOS = ("name", "flags", "maxwall", "maxtres", "mintres", "maxjobspu", "maxsubmitjobspu")
_NOT_SET = ("", "(null)", "N/A", "NONE", "none", "ALL", "all", "UNLIMITED", "INFINITE")


def system(asking: Asking) -> System:
    """Return what Slurm says. What does not answer is left out, and stands in `asking.silent`."""
    config = server_of(asking.output_of("scontrol", "show", "config"))
    nodes, all_nodes, nodes_by = nodes_said(asking)
    select = config.attributes.get("SelectType", "")
    places, all_places = partitions(asking.output_of("scontrol", "-a", "-o", "show", "partition"), select)
    qos, bends = qos_said(asking, config.attributes)
    plugins = [word for key in ("JobSubmitPlugins", "CliFilterPlugins") for word in _set(config.attributes.get(key))]
    private = _set(config.attributes.get("PrivateData"))
    declared = count(config.attributes.get("MaxNodeCount", ""))
    known = bool(config.attributes) and not private
    return System(
        "slurm",
        version(config.version),
        config.name if is_name(config.name) else "",
        tuple(nodes),
        nodes_by,
        (*(_bent(place, bends) for place in places), *qos),
        nodes_complete=known and all_nodes and bool(nodes) and (declared is None or declared <= len(nodes)),
        places_complete=known and all_places and bool(places) and not plugins,
        default_sure=known and not plugins,
        notes=tuple(_notes(config.attributes, plugins, private)),
    )


def partitions(text: str, select: str = "") -> tuple[list[Place], bool]:
    """Return the partitions of `scontrol -a -o show partition`, and whether each line was one.

    *select*: the configuration's SelectType.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    places = [place for line in lines if (place := _partition(line, select))]
    return places, len(places) == len(lines)


def _partition(line: str, select: str) -> Place | None:
    pairs = [word.split("=", 1) for word in line.split() if "=" in word]
    fields = {key: value for key, value in reversed(pairs)}  # of a key that is there twice the first counts
    name = fields.get("PartitionName", "")
    if not is_name(name):
        return None
    least, most = count(fields.get("MinNodes", "")), count(fields.get("MaxNodes", ""))
    return Place(
        name,
        "partition",
        default=fields.get("Default") == "YES",
        shared=_shared(_sharing(fields), select),
        access=_access(fields),
        min_nodes=least if least and least > 1 else None,
        max_nodes=most or None,
        max_walltime=of_clock(fields.get("MaxTime", "")),
        default_walltime=of_clock(fields.get("DefaultTime", "")),
        notes=tuple(_state(fields)),
    )


def _sharing(fields: Mapping[str, str]) -> str:
    """Return what a partition says of sharing nodes in OverSubscribe's words, EXCLUSIVE too, whatever the release.

    26.05 says it in a field of its own, NODE or TOPO (a whole block of the topology), beside OverSubscribe=NO.
    """
    if fields.get("Exclusive") in ("NODE", "TOPO"):
        return "EXCLUSIVE"
    return fields.get("OverSubscribe", fields.get("Shared", ""))


def _shared(word: str, select: str) -> bool | None:
    """Tell whether several jobs get one node: with select/cons_* NO is said of cores, with select/linear of nodes."""
    if word == "EXCLUSIVE" or (word == "NO" and select == "select/linear"):
        return False
    return True if word.startswith(("YES", "FORCE")) or (word == "NO" and select.startswith("select/cons_")) else None


def _access(fields: Mapping[str, str]) -> str:
    keys = ("AllowGroups", "AllowAccounts", "AllowQos", "DenyAccounts", "DenyQos", "AllocNodes")
    words = ["%s=%s" % (key, shown(fields[key])) for key in keys if fields.get(key, "") not in _NOT_SET]
    words += ["%s=YES" % key for key in ("RootOnly", "ReqResv") if fields.get(key) == "YES"]
    return shown(" ".join(words))


def _state(fields: Mapping[str, str]) -> Iterable[str]:
    if fields.get("State", "UP") != "UP":
        yield "State=%s when this was drafted" % shown(fields["State"])
    if fields.get("QoS", "") not in _NOT_SET:
        yield "its own QOS %s may limit it further" % shown(fields["QoS"])


def qos_said(asking: Asking, config: Mapping[str, str]) -> tuple[list[Place], set[str]]:
    """Return the QOS that the accounting has, and which limits of a partition one of them may exceed.

    Limits that the controller does not enforce are none.
    """
    if config.get("AccountingStorageType", "/none").endswith("/none"):
        return [], set()
    places, bends = qos(asking.output_of("sacctmgr", "-n", "-P", "show", "qos", "format=%s" % ",".join(_QOS)))
    if {"limits", "safe", "all"} & set(config.get("AccountingStorageEnforce", "").split(",")):
        return places, bends
    return [Place(place.name, place.selector, notes=("its limits are not enforced",)) for place in places], bends


def qos(text: str) -> tuple[list[Place], set[str]]:
    """Return the QOS of `sacctmgr -n -P`, one a line, and `nodes` or `time` where a flag lets one exceed that limit."""
    places, bends = [], set()
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != len(_QOS) or not is_name(fields[0]):
            continue
        row = dict(zip(_QOS, fields, strict=True))
        bends |= {"nodes"} if re.search("PartitionM(ax|in)Nodes", row["flags"]) else set()
        bends |= {"time"} if "PartitionTimeLimit" in row["flags"] else set()
        most, least = tres(row["maxtres"]), tres(row["mintres"])
        places.append(
            Place(
                row["name"],
                "qos",
                notes=() if "DenyOnLimit" in row["flags"] else ("a job beyond its limits waits, and is not refused",),
                min_nodes=least.get("node"),
                max_nodes=most.get("node"),
                max_walltime=of_clock(row["maxwall"]),
                max_gpus=most.get("gres/gpu"),
                max_running=count(row["maxjobspu"]),
                max_submitted=count(row["maxsubmitjobspu"]),
            )
        )
    return places, bends


def tres(text: str) -> dict[str, int]:
    """Return the whole numbers of `cpu=128,gres/gpu=8,mem=1T,node=4`."""
    pairs = (word.partition("=") for word in text.split(","))
    return {name: number for name, _, value in pairs if (number := count(value)) is not None}


def _bent(place: Place, bends: set[str]) -> Place:
    """A limit that a QOS may exceed proves nothing of a job, so it is only told."""
    notes = list(place.notes)
    if "nodes" in bends:
        limits = (("min_nodes", place.min_nodes), ("max_nodes", place.max_nodes))
        notes += ["some QOS may exceed %s = %d" % (key, value) for key, value in limits if value is not None]
        place = place._replace(min_nodes=None, max_nodes=None)
    if "time" in bends and place.max_walltime is not None:
        notes.append("some QOS may exceed max_walltime = %d s" % place.max_walltime)
        place = place._replace(max_walltime=None)
    return place._replace(notes=tuple(notes))


def _set(value: str | None) -> list[str]:
    return [] if value is None or value in _NOT_SET else [shown(part) for part in value.split(",")]


def _notes(config: Mapping[str, str], plugins: list[str], private: list[str]) -> Iterable[str]:
    if plugins:
        listed = ", ".join(plugins)
        yield (
            "what the submission plug-ins (%s) demand, refuse or choose: [demand], [refusal], default_partition"
            % listed
        )
    if private:
        yield "what PrivateData = %s hides from the user who drafted this" % ",".join(private)
    if config.get("EnforcePartLimits") == "NO":
        yield "EnforcePartLimits = NO: a job beyond the limits of a partition is accepted, and waits"
    if "associations" in config.get("AccountingStorageEnforce", ""):
        yield "whether a job must name its account: [demand.account]"
    if config.get("AccountingStorageType", "").endswith("/none"):
        yield "[qos]: there is no accounting here"


def nodes_said(asking: Asking) -> tuple[list[Seen], bool, str]:
    """Return the nodes, whether they are all that were listed, and by which command.

    As JSON where it is known, else as a table.
    """
    for words in (("scontrol", "show", "nodes", "--json"), ("sinfo", "-a", "-N", "--json")):
        rows = _rows(asking.output_of(*words, tell=False))
        if rows:
            return (*_merged(rows), " ".join(words))
    separator = slurm_tables.mark()
    table = asking.output_of("sinfo", "-h", "-a", "-N", "-o", slurm_tables.form(list(_COLUMNS), separator))
    return (
        *_merged(slurm_tables.rows(table, list(_COLUMNS.values()), separator)),
        "sinfo -a -N -o '%s'" % " ".join(_COLUMNS),
    )


def _rows(text: str) -> Sequence[Mapping[str, Any]]:
    """Return the nodes of an answer in JSON, [] where it is not of the form that is known."""
    try:
        answer = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return []
    groups = answer.get("sinfo") if isinstance(answer, dict) else None
    if isinstance(groups, list):
        return [row for group in groups if isinstance(group, dict) for row in _of_group(group)]
    rows = answer.get("nodes") if isinstance(answer, dict) else None
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
    value: Any = group
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _same(range_of_it: object) -> int | None:
    """Return the number of `{"minimum": 2, "maximum": 2}`, None where the two differ."""
    ends = [_below({"of": range_of_it}, "of", end) for end in ("minimum", "maximum")]
    return ends[0] if ends[0] == ends[1] and isinstance(ends[0], int) else None


def _merged(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Seen], bool]:
    """Return a node for each name, for the table has a row for each partition of a node."""
    by_name: dict[str, Seen] = {}
    complete = True
    for row in rows:
        node = node_of(row)
        if node is None:
            complete = False
        elif node.name in by_name:
            known = by_name[node.name]
            by_name[node.name] = known._replace(places=tuple(dict.fromkeys((*known.places, *node.places))))
        else:
            by_name[node.name] = node
    return list(by_name.values()), complete


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
        names([place.rstrip("*") for place in places] if isinstance(places, list) else str(places or "").rstrip("*")),
        gpus,
        types,
        real,
        allocatable,
        threads,
        count(row.get("real_memory"), 1 << 40),
        tuple(feature for feature in names(row.get("features")) if feature not in ("null", "N/A")),
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
    for resource in (word for word in bare.split(",") if word.split(":")[0].split("=")[0] == "gpu"):
        form = re.fullmatch(
            r"gpu(?::(?P<type>[A-Za-z_][\w.+-]{0,60}|\d[\w.+-]*[A-Za-z_.+-][\w.+-]*))?:(?P<n>\d{1,4})", resource
        )
        if form is None:
            return None, ()
        total += int(form["n"])
        types += [form["type"]] if form["type"] else []
    return total, tuple(dict.fromkeys(types))
