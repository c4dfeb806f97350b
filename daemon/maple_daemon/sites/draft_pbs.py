"""What PBS says of its nodes, queues and server, as values. Nothing is changed: qmgr is asked to print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maple_agents.ask.schedulers.pbs.answers import Entry, entries_of
from maple_agents.ask.sites.this_site import cluster_names
from maple_agents.base.quantities import asked, mebibytes

from .draft_values import Asking, Place, Seen, System, count, is_name, names, shown, version

_AVAILABLE = "resources_available."
_GPU_TYPES = ("gputype", "gpu_type", "gpu_model", "accelerator_model")  # a GPU's kind, as sites call the resource
# Resources that every PBS has, or that name the node itself; those that a site made select nodes as features do.
_USUAL = {
    "arch",
    "host",
    "vnode",
    "mem",
    "vmem",
    "ncpus",
    "ngpus",
    "naccelerators",
    "accelerator_memory",
    "mpiprocs",
    "Qlist",
}
_SET = re.compile(r"set (server|queue (\S{1,120})) ?(\S+) (\+?=) (.*)")


def system(asking: Asking) -> System:
    """Return what PBS says. What does not answer is left out, and stands in `asking.silent`."""
    printed = printed_by_qmgr(asking.output_of("qmgr", "-c", "p s"))
    server = _first(_entries(asking, "Server", ("qstat", "-B", "-f"))) or {}
    queues = {entry.name: entry.values for entry in _entries(asking, "Queue", ("qstat", "-Q", "-f"))}
    queues = queues or {name: values for name, values in printed.items() if name}
    vnodes, all_nodes = hosts(_entries(asking, "nodes", ("pbsnodes", "-a")))
    nodes = serving(vnodes, queues)
    default = server.get("default_queue") or printed.get("", {}).get("default_queue", "")
    places = [place(name, values, default) for name, values in queues.items() if is_name(name)]
    elsewhere = any("@" in values.get("route_destinations", "") for values in queues.values())
    return System(
        "pbs",
        version(server.get("pbs_version", "")),
        next((name for name, where in cluster_names(asking.environ) if where == "PBS_SERVER"), ""),
        tuple(nodes),
        "pbsnodes -a -F json, or pbsnodes -a",
        tuple(places),
        nodes_complete=all_nodes and bool(nodes) and not elsewhere,
        places_complete=False,  # a queuejob hook may take any name; only a manager sees the hooks
        default_sure=bool(default),
        notes=tuple(_notes(queues, elsewhere)),
    )


def _entries(asking: Asking, group: str, words: Sequence[str]) -> list[Entry]:
    """Ask in JSON, and in text where that is not known or cannot be read."""
    for argv in ((*words, "-F", "json"), tuple(words)):
        entries = entries_of(asking.output_of(*argv, tell=argv == tuple(words)), group)
        if entries:
            return entries
    return []


def _first(entries: Sequence[Entry]) -> Mapping[str, str] | None:
    return entries[0].values if entries else None


def printed_by_qmgr(text: str) -> dict[str, dict[str, str]]:
    """Return the settings that `print server` gives: of each queue by its name, of the server by the empty one."""
    settings: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        setting = _SET.fullmatch(line.strip())
        if setting is None:
            continue
        values, key = settings.setdefault(setting[2] or "", {}), setting[3]
        values[key] = "%s,%s" % (values[key], setting[5]) if setting[4] == "+=" and key in values else setting[5]
    return settings


class Host(NamedTuple):
    """A host. *queues*: it is kept for these. *listed*: its Qlist, by which queues may pick their nodes."""

    seen: Seen
    queues: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()


def hosts(entries: Iterable[Entry]) -> tuple[list[Host], bool]:
    """Return the hosts, each with what all its vnodes have together, and whether every vnode could be read."""
    by_name: dict[str, Host] = {}
    complete = True
    for entry in entries:
        host = _vnode(entry.values, entry.name)
        if host is None:
            complete = False
            continue
        known = by_name.get(host.seen.name)
        by_name[host.seen.name] = _together(known, host) if known else host
    return list(by_name.values()), complete


def serving(hosts: Sequence[Host], queues: Mapping[str, Mapping[str, str]]) -> list[Seen]:
    """Return the nodes with the queues whose jobs they may get.

    A host that is kept for a queue serves that one alone, and such a queue has no others. A routing queue has those of
    its destinations, where all of them are known.
    """
    served = {name: _hosts_of(name, values, hosts) for name, values in queues.items()}
    for name, values in queues.items():
        if _is_routing(values):
            ways = names(values.get("route_destinations", ""))
            known = bool(ways) and all(way in queues and not _is_routing(queues[way]) for way in ways)
            served[name] = {host for way in ways for host in served[way]} if known else set()
    return [
        host.seen._replace(places=tuple(name for name in queues if host.seen.name in served[name])) for host in hosts
    ]


def _hosts_of(name: str, values: Mapping[str, str], hosts: Sequence[Host]) -> set[str]:
    """Return the hosts of an execution queue: those kept for it, else those for all, of its own Qlist if it has one."""
    kept = {host.seen.name for host in hosts if name in host.queues}
    if kept or _is_routing(values):
        return kept
    wanted = set(names(values.get("default_chunk.Qlist", "")))
    free = [host for host in hosts if not host.queues]
    return {host.seen.name for host in free if not wanted or wanted & host.listed}


def _is_routing(values: Mapping[str, str]) -> bool:
    return values.get("queue_type", "").lower().startswith("r")


def _vnode(values: Mapping[str, str], name: str) -> Host | None:
    host = values.get(_AVAILABLE + "host") or name.partition("[")[0]
    if not is_name(host):
        return None
    own = {key[len(_AVAILABLE) :]: value for key, value in values.items() if key.startswith(_AVAILABLE)}
    seen = Seen(
        host,
        gpus=count(own.get("ngpus", ""), 1000) if "ngpus" in own else None,
        gpu_types=names([own[key] for key in _GPU_TYPES if key in own]),
        allocatable=count(own.get("ncpus", "")) or None,
        memory=mebibytes(own.get("mem")),
        features=tuple(_features(own)),
    )
    return Host(seen, frozenset(names(values.get("queue", ""))), frozenset(names(own.get("Qlist", ""))))


def _features(own: Mapping[str, str]) -> Iterable[str]:
    for key, value in sorted(own.items()):
        if key not in _USUAL and is_name(key) and re.fullmatch(r"[A-Za-z_][\w.-]{0,40}", value, re.ASCII):
            yield "%s=%s" % (key, value)


def _together(known: Host, other: Host) -> Host:
    """Return a host of two vnodes: they share it, so what they have is added up."""
    first, more = known.seen, other.seen
    seen = first._replace(
        gpus=_sum(first.gpus, more.gpus),
        gpu_types=tuple(dict.fromkeys((*first.gpu_types, *more.gpu_types))),
        allocatable=_sum(first.allocatable, more.allocatable),
        memory=_sum(first.memory, more.memory),
        features=tuple(dict.fromkeys((*first.features, *more.features))),
    )
    return Host(seen, known.queues | other.queues, known.listed | other.listed)


def _sum(number: int | None, other: int | None) -> int | None:
    return other if number is None else number if other is None else number + other


def place(name: str, values: Mapping[str, str], default: str) -> Place:
    """Return a queue. One that only routing reaches is never named; what holds of all users holds of each."""
    hidden = _true(values.get("from_route_only"))
    return Place(
        name,
        "queue",
        default=name == default,
        kind="routing" if _is_routing(values) else "execution-only" if hidden else "",
        access=_access(values),
        min_nodes=count(values.get("resources_min.nodect", "")) or None,
        max_nodes=count(values.get("resources_max.nodect", "")),
        max_walltime=asked(values.get("resources_max.walltime", ""), "pbs"),
        default_walltime=asked(values.get("resources_default.walltime", ""), "pbs"),
        max_gpus=count(values.get("resources_max.ngpus", "")),
        max_running=_each_user(values.get("max_run", "")),
        max_submitted=_each_user(values.get("max_queued", "")),
        notes=tuple(_state(values)),
    )


def _each_user(text: str) -> int | None:
    """Return the limit that each user has: `[u:PBS_GENERIC=5], [o:PBS_ALL=100]`."""
    match = re.search(r"\[u:PBS_GENERIC=(\d{1,6})\]", text, re.ASCII)
    return int(match[1]) if match else None


def _access(values: Mapping[str, str]) -> str:
    lists = []
    for kind in ("user", "group", "host"):
        if _true(values.get("acl_%s_enable" % kind)):
            lists.append("acl_%ss=%s" % (kind, values.get("acl_%ss" % kind, "?")))
    return shown(" ".join(lists))


def _state(values: Mapping[str, str]) -> Iterable[str]:
    for key in ("enabled", "started"):
        if key in values and not _true(values[key]):
            yield "%s = %s when this was drafted" % (key, shown(values[key]))
    if values.get("route_destinations"):
        yield "routes to %s" % shown(values["route_destinations"])


def _true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "t", "1", "y")


def _notes(queues: Mapping[str, Mapping[str, str]], elsewhere: bool) -> Iterable[str]:
    yield "what queuejob hooks demand, refuse or change (`qmgr -c 'print hook'`, for managers): [demand], [refusal]"
    yield "cores of a node and threads of a core: PBS tells ncpus alone"
    if elsewhere:
        yield "the nodes of the other servers that queues route to"
    if any(_true(values.get("from_route_only")) for values in queues.values()):
        yield "which jobs each routing queue passes on, and to where"
