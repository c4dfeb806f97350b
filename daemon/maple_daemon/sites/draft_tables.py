"""From what a running system says to the tables of a site file, and the list of what it does not say.

The words of a drafted site file: tables whose every value says in a comment where it was read.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Union

from . import draft_blanks
from .draft_kinds import Kind, kinds_of
from .draft_values import Machine, Place, System, shown

Value = Union[str, int, bool, datetime.date, Sequence[str]]
_WIDE = 100  # columns; a comment that would begin behind them stands above its value

MOST_PLACES = 400  # partitions, QOS or queues
_NODES = "nodes"
_PLACES = "places"
_QOS = "qos"
_SERVER = "server"
_HOST = "host"
_WHERE = {
    ("slurm", _SERVER): "scontrol show config",
    ("slurm", _PLACES): "scontrol -a -o show partition",
    ("slurm", _QOS): "sacctmgr -n -P show qos",
    ("pbs", _SERVER): "qstat -B -f; qmgr -c 'p s'",
    ("pbs", _PLACES): "qstat -Q -f",
}
_NAMED = {"slurm": "ClusterName", "pbs": "PBS_SERVER"}
_TOLD_BY = {"slurm": "ClusterName of scontrol show config", "pbs": "PBS_SERVER of pbs.conf"}
_OF_HOST = "PATH, module -t avail, /etc/os-release, /sys/class/net, /sys/class/infiniband"
_READ = {  # a limit: what Slurm and PBS call it
    "min_nodes": {"partition": "MinNodes", "qos": "MinTRES", "queue": "resources_min.nodect"},
    "max_nodes": {"partition": "MaxNodes", "qos": "MaxTRES", "queue": "resources_max.nodect"},
    "max_gpus_per_job": {"qos": "MaxTRES", "queue": "resources_max.ngpus"},
    "max_running_jobs": {"qos": "MaxJobsPU", "queue": "max_run of PBS_GENERIC"},
    "max_submitted_jobs": {"qos": "MaxSubmitPU", "queue": "max_queued of PBS_GENERIC"},
    "max_walltime": {"partition": "MaxTime", "qos": "MaxWall", "queue": "resources_max.walltime"},
    "default_walltime": {"partition": "DefaultTime", "queue": "resources_default.walltime"},
    "access": {"partition": "Allow and Deny", "queue": "acl_*_enable"},
}
_LEFT = (
    "[gpu_request]: how GPUs are asked for",
    "[demand], [refusal]: what a request must say, and must not say, and in which words it is refused",
    "[launcher] with state absent or discouraged, and the options that the others take",
    "[network]: the interface of the nodes (GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME), variables of the transport",
    "[detection]: host names and variables that tell this site",
    "[modules], [containers], [proxy], [[path]], [[policy]]",
)


def text_of(system: System, here: Machine, site_id: str, today: datetime.date, silent: Sequence[str] = ()) -> str:
    """Return the site file of these values. *silent*: what did not answer."""
    kinds = kinds_of(system.nodes)
    unknown = [*_unknown(system, kinds), *system.notes, *here.notes, *("no answer: %s" % command for command in silent)]
    blocks = [
        _head(system, kinds, site_id, today, unknown),
        _scheduler(system, here),
        *_detection(system, here),
        *(_node(kind, system.scheduler) for kind in kinds),
        *(_place(place, kinds) for place in system.places[:MOST_PLACES]),
        *_of_host(here),
    ]
    blocks += _sources(blocks, system, here, today)
    head = [
        "Drafted by `maple site init` on %s from what answered there on %s." % (here.host or "this host", today),
        'Read it, correct it, say what stands at the end, then take mode = "observe" out:',
        "    maple site lint %s.toml" % site_id,
        "    maple admin install --prefix /opt/maple --bin /opt/maple/bin --site %s.toml --mode observe" % site_id,
        "or, where Maple is installed for it: maple site apply %s.toml --prefix /opt/maple" % site_id,
    ]
    end = ["To be said by the administrator:", *("  - %s" % line for line in (*unknown, *_LEFT))]
    drafted = [".".join(block.path) for block in blocks]
    return file_of(head, blocks, end) + "\n" + draft_blanks.text_of(system.scheduler, drafted, today)


def _head(system: System, kinds: Sequence[Kind], site_id: str, today: datetime.date, unknown: Sequence[str]) -> Block:
    name = system.cluster or site_id
    entries = [Entry("id", site_id), Entry("name", name, _NAMED[system.scheduler] if system.cluster else "")]
    arches = {node.arch for node in system.nodes}
    if len(arches) == 1 and arches <= {"x86_64", "aarch64"}:
        entries.append(Entry("cpu_arch", arches.pop(), "of every node"))
    vendors = [kind.vendor for kind in kinds if kind.gpus]
    if vendors and all(vendors):
        entries.append(Entry("gpu_vendors", sorted(set(vendors)), "by the names of the GPUs"))
    entries += [Entry("checked", today), Entry("mode", "observe", "a draft only looks on")]
    notes = [] if all(vendors) else ['Whose are the GPUs? gpu_vendors = ["nvidia"], ["amd"] or ["intel"]']
    return Block((), [*entries, Entry("unknown", list(unknown))], notes)


def _scheduler(system: System, here: Machine) -> Block:
    default = next((place.name for place in system.places if place.default), "")
    entries = [Entry("type", system.scheduler)]
    notes = []
    if system.version:
        entries.append(Entry("version", system.version, _WHERE[system.scheduler, _SERVER]))
    if default and system.default_sure:
        read = "Default=YES" if system.scheduler == "slurm" else "default_queue"
        entries.append(Entry("default_partition", default, read))
    elif default:
        notes.append(
            "%s is the default, but a plug-in may choose another for a job that names none. If none does:" % default
        )
        notes.append('default_partition = "%s"' % default)
    if system.places_complete:
        entries.append(Entry("partitions_complete", True, "all were listed, and no plug-in may take other names"))
    if system.nodes_complete:
        entries.append(Entry("node_kinds_complete", True, "all nodes were listed"))
    if here.os:
        entries.append(Entry("os", here.os, "/etc/os-release of %s" % here.host))
    sources = [_SERVER, *([_NODES] if system.nodes else []), *([_PLACES] if system.places else [])]
    return Block(("scheduler",), [*entries, Entry("source", [*sources, *([_HOST] if here.os else [])])], notes)


def _detection(system: System, here: Machine) -> Iterator[Block]:
    sources = []
    entries = []
    if system.cluster:
        entries.append(Entry("cluster_name", system.cluster, _TOLD_BY[system.scheduler]))
        sources.append(_SERVER)
    if here.modules_name:
        sources.append(_HOST)
    if sources:
        notes = [r"Names that no other site's hosts have prove it too: host_patterns = ['login\d+\.cluster(\..*)?']"]
        yield Block(("detection",), [*entries, Entry("source", sources)], notes)
    if here.modules_name:
        name = [Entry("name", "LMOD_SYSTEM_NAME", "in the environment here"), Entry("value", here.modules_name)]
        yield Block(("detection", "variables"), [*name, Entry("source", [_HOST])], each=True)


def _node(kind: Kind, scheduler: str) -> Block:
    first, slurm = kind.first, scheduler == "slurm"
    place = "GRES" if slurm else "resources_available.ngpus"
    entries = []
    if kind.gpus is not None:
        entries.append(
            Entry("gpus", kind.gpus, place if kind.gpus else "no GPU in its %s, as in that of others" % place)
        )
    if kind.vendor:
        entries.append(Entry("gpu_vendor", kind.vendor, "by the name of the GPU"))
    if kind.gpu_type:
        entries.append(Entry("gpu_type", kind.gpu_type, "of its %s" % place if slurm else "a resource of the node"))
    if slurm and first.cores:
        entries.append(Entry("cores", first.cores, "sockets by cores of a socket"))
        if first.allocatable:
            entries.append(Entry("cores_allocatable", first.allocatable, "the others are reserved: CPUEfctv"))
    if first.threads:
        entries.append(Entry("threads_per_core", first.threads, "ThreadsPerCore"))
    if kind.memory:
        entries.append(
            Entry("memory_gib", kind.memory, "RealMemory, rounded up" if slurm else "resources_available.mem")
        )
    if slurm and kind.features:
        entries.append(Entry("features", list(kind.features), "AvailableFeatures"))
    entries.append(Entry("count", len(kind.nodes), _span(kind)))
    if not slurm:
        cpus = ["ncpus = %d" % first.allocatable] if first.allocatable else []
        entries += [Entry("says", "; ".join([*cpus, *kind.features]))] if cpus or kind.features else []
    notes = []
    if not kind.sure:
        entries.append(Entry("confidence", "low", "proves nothing until somebody says whose GPUs these are"))
        notes.append("Which GPUs are these? Where a card counts as several devices (tiles), say devices, too.")
    return Block(("node", kind.name), [*entries, Entry("source", [_NODES])], notes)


def _span(kind: Kind) -> str:
    names = [node.name for node in kind.nodes]
    return names[0] if len(names) == 1 else "%s to %s" % (names[0], names[-1])


def _place(place: Place, kinds: Sequence[Kind]) -> Block:
    served = [kind.name for kind in kinds if any(place.name in node.places for node in kind.nodes)]
    behind = [] if place.selector == "qos" else served
    entries = [Entry("node_kinds", behind, "of its nodes")] if behind else []
    limits: Mapping[str, Value | None] = {
        "min_nodes": place.min_nodes,
        "max_nodes": place.max_nodes,
        "max_gpus_per_job": place.max_gpus,
        "max_running_jobs": place.max_running,
        "max_submitted_jobs": place.max_submitted,
        "max_walltime": None if place.max_walltime is None else seconds(place.max_walltime),
        "default_walltime": None if place.default_walltime is None else seconds(place.default_walltime),
        "access": place.access or None,
    }
    if place.kind:
        entries.append(Entry("kind", place.kind, "from_route_only" if place.kind == "execution-only" else "queue_type"))
    if place.shared is not None:
        entries.append(Entry("shared", place.shared, "OverSubscribe, SelectType"))
    entries += [
        Entry(key, value, _READ[key].get(place.selector, "")) for key, value in limits.items() if value is not None
    ]
    source = _QOS if place.selector == "qos" else _PLACES
    return Block((place.selector, place.name), [*entries, Entry("source", [source])], place.notes)


def _of_host(here: Machine) -> Iterator[Block]:
    for launcher in here.launchers:
        entries = [Entry("state", "present", launcher.path)]
        if launcher.implementation:
            entries.append(Entry("implementation", launcher.implementation, "what it says of itself"))
        of_mpi = launcher.name in ("mpiexec", "mpirun") and not launcher.implementation
        notes = ['Whose is it? implementation = "Open MPI", "MPICH", "PALS" or "Intel MPI"'] if of_mpi else []
        yield Block(("launcher", launcher.name), [*entries, Entry("source", [_HOST])], notes)
    if here.modules or here.pytorch:
        system = [Entry("system", here.modules, "in the environment here")] if here.modules else []
        yield Block(("modules",), [*system, Entry("source", [_HOST])])
    for line in here.pytorch:
        yield Block(
            ("modules", "pytorch"), [Entry("load", [line], "module -t avail"), Entry("source", [_HOST])], each=True
        )
    if here.interfaces or here.fabric:
        entries = [Entry("fabric", here.fabric, "/sys/class/infiniband")] if here.fabric else []
        entries += (
            [Entry("interfaces", list(here.interfaces), "/sys/class/net of %s" % here.host)] if here.interfaces else []
        )
        notes = ["Of this host alone: those of the nodes may have other names."]
        yield Block(("network",), [*entries, Entry("confidence", "low"), Entry("source", [_HOST])], notes)


def _sources(blocks: Sequence[Block], system: System, here: Machine, today: datetime.date) -> list[Block]:
    """Return a table for each source that an entry names."""
    lists = [entry.value for block in blocks for entry in block.entries if entry.key == "source"]
    cited = {name for source in lists if isinstance(source, list) for name in source}
    tables = []
    for name in (source for source in (_SERVER, _NODES, _PLACES, _QOS, _HOST) if source in cited):
        where = (
            (system.nodes_by or "its list of nodes")
            if name == _NODES
            else _WHERE.get((system.scheduler, name), _OF_HOST)
        )
        title = "what %s said on %s" % (
            "its files and commands" if name == _HOST else "the scheduler",
            here.host or "?",
        )
        entries = [Entry("title", title), Entry("where", where), Entry("date", today.isoformat())]
        tables.append(Block(("sources", name), [*entries, Entry("kind", "center")]))
    return tables


def _unknown(system: System, kinds: Sequence[Kind]) -> Iterator[str]:
    """Yield what is left to be said."""
    for kind in kinds:
        if kind.gpus is None:
            yield "node.%s.gpus: the scheduler does not tell" % kind.name
        elif not kind.sure:
            yield "node.%s: whose GPUs these are, and devices where a card counts as several" % kind.name
    if any(kind.gpus and kind.sure and not kind.vendor for kind in kinds):
        yield "gpu_vendors: whose the GPUs are, nvidia, amd or intel"
    served = {name for node in system.nodes for name in node.places}
    empty = [place.name for place in system.places if place.selector != "qos" and place.name not in served]
    if empty:
        yield "node_kinds of %s" % shown(", ".join(empty))
    if len(system.places) > MOST_PLACES:
        yield "%d further partitions, QOS or queues" % (len(system.places) - MOST_PLACES)


class Entry(NamedTuple):
    """A key, what it is, and where that was read, "" where the table says it for all."""

    key: str
    value: Value
    read: str = ""


class Block(NamedTuple):
    """A table. *path*: its head, the empty one for the file itself. *notes*: comments above it. *each*: one of many."""

    path: Sequence[str]
    entries: Sequence[Entry]
    notes: Sequence[str] = ()
    each: bool = False


def file_of(head: Sequence[str], blocks: Iterable[Block], end: Sequence[str]) -> str:
    """Return the text of a file: comments, tables, comments."""
    parts = ["\n".join(_comment(line) for line in head), *(_block(block) for block in blocks)]
    parts.append("\n".join(_comment(line) for line in end))
    return "\n\n".join(part for part in parts if part) + "\n"


def seconds(value: int) -> str:
    """Return a time as a site file says it: `h:mm:ss`, with days before it from a thousand hours on."""
    hours, rest = divmod(value, 3600)
    clock = "%02d:%02d" % divmod(rest, 60)
    return "%02d:%s" % (hours, clock) if hours < 1000 else "%d-%02d:%s" % (*divmod(hours, 24), clock)


def _block(block: Block) -> str:
    lines = [_comment(note) for note in block.notes]
    if block.path:
        name = ".".join(_key(part) for part in block.path)
        lines.append("[[%s]]" % name if block.each else "[%s]" % name)
    for entry in block.entries:
        lines += _line(entry) if entry.key == "value" or _says(entry.value) else []  # a variable may be empty
    return "\n".join(lines)


def _says(value: Value) -> bool:
    """Return whether there is anything to write: what is not known is left out, and lint takes no empty text."""
    return bool(shown(value).strip()) if isinstance(value, str) else True


def _line(entry: Entry) -> list[str]:
    text = "%s = %s" % (entry.key, _value(entry.value))
    if not entry.read:
        return [text]
    if len(text) > _WIDE - 40:
        return [_comment(entry.read), text]
    return ["%s%s" % (text.ljust(40), "# " + shown(entry.read))]


def _comment(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip(" "))]
    return "# %s%s" % (indent, shown(text)) if text else "#"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else _text(name)


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return "%d" % value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value)
    words = [_text(item) for item in value if _says(item)]
    line = "[%s]" % ", ".join(words)
    return line if len(line) <= _WIDE else "[\n%s]" % "".join("    %s,\n" % word for word in words)


def _text(text: str) -> str:
    """Return a string with quotes; what a terminal would obey is written out before."""
    return '"%s"' % shown(text).replace("\\", "\\\\").replace('"', '\\"')
