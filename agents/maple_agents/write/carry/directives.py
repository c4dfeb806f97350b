"""The request of a script for its new cluster: the plan's directives, and what else the user said, translated.

What a script asks of its new cluster: what means the same everywhere, and what was said beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS, NAMED
from maple_submit_filter.site.facts import NodeKind, Site
from maple_submit_filter.types.job import Setting

from ...base.slots import Name, Origin, Slot, Slots
from ...request.script.parts import Foreign, Launch
from ...request.script.slots import main
from ...templates.cluster import Cluster
from ..compose.directives import Directive, directives
from ..values import Plan

_EVERYWHERE: tuple[Name, ...] = ("nodes", "walltime", "array")
_AT_HOME: tuple[Name, ...] = ("account", "partition", "queue", "qos", "filesystems", "gpu")


class Request(NamedTuple):
    """*lines* without newlines, and what was left out."""

    lines: tuple[bytes, ...]
    advice: tuple[str, ...]


_SLURM_DECIDED = """
nodes ntasks ntasks-per-node ntasks-per-socket ntasks-per-core ntasks-per-gpu cpus-per-task cpus-per-gpu gpus
gpus-per-node gpus-per-task gpus-per-socket gres gpu-bind mem mem-per-cpu mem-per-gpu time array account partition
qos constraint ignore-pbs exclusive hint threads-per-core image container-image spread-job use-min-nodes mincpus
distribution
"""
_PBS_DECIDED = """
select nodes place walltime account queue filesystems array ncpus ngpus mem mpiprocs keep all-variables directive-prefix
"""
_SLURM_SAME = """
job-name output error mail-type mail-user requeue no-requeue open-mode begin comment chdir export signal hold time-min
nice deadline dependency input kill-on-invalid-dep export-file wckey
"""
_PBS_SAME = """
job-name output error join mail-type mail-user rerunable hold variable-list execution-time priority shell umask depend
"""
_OF_PLACES = "reservation nodelist exclude licenses clusters cluster-constraint gres-flags switches nodefile"
# What the plan decides anew; nothing is lost where such a line goes.
_DECIDED = {"slurm": frozenset(_SLURM_DECIDED.split()), "pbs": frozenset(_PBS_DECIDED.split())}
# What means the same on every cluster of that scheduler.
_SAME = {"slurm": frozenset(_SLURM_SAME.split()), "pbs": frozenset(_PBS_SAME.split())}
_PLACES = frozenset(_OF_PLACES.split())
_MAIL = {
    b"BEGIN": b"b",
    b"END": b"e",
    b"FAIL": b"a",
    b"ALL": b"abe",
    b"NONE": b"n",
    b"REQUEUE": b"",
    b"TIME_LIMIT": b"a",
}
_LETTERS = {b"b": b"BEGIN", b"e": b"END", b"a": b"FAIL"}
_NAMES_FILES = "PBS puts no job id into a name; it calls the file by the job's name and id itself"
_PATTERN = re.compile(rb"%[a-zA-Z]")


def request(foreign: Foreign, plan: Plan, home: bool) -> Request:
    """Return the directives of the script on the plan's cluster. *home*: the script was written for it."""
    new = plan.cluster.site.scheduler
    decided = [
        directive
        for directive in directives(plan)
        if directive.option != "job-name" or "job-name" not in foreign.job.settings
    ]
    lines = [_written(directive, new) for directive in decided]
    advice: list[str] = []
    for setting in _own_settings(foreign):
        if setting.name in _DECIDED[foreign.scheduler]:
            if home and setting.name in _kept_at_home(foreign.scheduler) and not _among(setting.name, decided):
                lines.append(_own(setting, new))
            continue
        made = _translated(setting, foreign.scheduler, new, home)
        if made is None:
            advice.append("line %d: %s left out: %s" % (setting.origin.line, spelled(setting), _why(setting, new)))
            continue
        lines += [line for line in made if line not in lines]
        if not made and setting.name in ("output", "error"):
            advice.append("line %d: %s left out: %s" % (setting.origin.line, spelled(setting), _NAMES_FILES))
    lines += _joined(foreign, new)
    return Request(tuple(lines), tuple(advice))


def _own_settings(foreign: Foreign) -> list[Setting]:
    """Return the settings in force of the script's own directives, in the order of their lines."""
    settings = [setting for setting in foreign.job.settings if setting.origin.kind == "directive"]
    return sorted(settings, key=lambda setting: (setting.origin.line, setting.origin.span or (0, 0)))


def decided_anew(foreign: Foreign) -> list[Setting]:
    """Return the settings of the script's own directives that the plan decides for the new cluster."""
    return [setting for setting in _own_settings(foreign) if setting.name in _DECIDED[foreign.scheduler]]


def _kept_at_home(scheduler: str) -> frozenset[str]:
    """Return what a script may say to its own cluster beyond what the plan decides."""
    return frozenset(("mem", "exclusive", "image", "container-image", "keep") if scheduler == "slurm" else ("keep",))


def _among(name: str, decided: list[Directive]) -> bool:
    return any(directive.option == name for directive in decided)


def _written(directive: Directive, scheduler: str) -> bytes:
    from ..compose.directives import _pbs, _slurm

    return (_pbs if scheduler == "pbs" else _slurm)(directive).encode()


def _own(setting: Setting, scheduler: str) -> bytes:
    """Return a setting as a directive of the scheduler that it was written for."""
    value = (
        setting.value if not setting.value or not re.search(rb"[\s#\"']", setting.value) else b'"%s"' % setting.value
    )
    if scheduler == "slurm":
        return b"#SBATCH --%s=%s" % (setting.name.encode(), value) if value else b"#SBATCH --%s" % setting.name.encode()
    letter = setting.origin.spelling
    if letter in (b"-l", b"-W"):
        return b"#PBS %s %s=%s" % (letter, setting.name.encode(), value)
    return b"#PBS %s %s" % (letter, value) if value else b"#PBS %s" % letter


def _translated(setting: Setting, old: str, new: str, home: bool) -> tuple[bytes, ...] | None:
    """Return the lines that say the same, () where nothing needs to be said, None where it cannot be said."""
    if old == new:
        kept = home or (setting.name in _SAME[old] and setting.name not in ("dependency", "depend"))
        return (_own(setting, new),) if kept else None
    if setting.name not in _SAME[old]:
        return None
    return (_to_pbs if new == "pbs" else _to_slurm)(setting)


def _to_pbs(setting: Setting) -> tuple[bytes, ...] | None:
    name, value = setting.name, setting.value
    if name == "job-name":
        return (b"#PBS -N " + re.sub(rb"[^\w.+-]+", b"-", value)[:230],)
    if name in ("output", "error"):
        return _file(b"-o" if name == "output" else b"-e", value)
    if name == "mail-user":
        return (b"#PBS -M " + value,)
    if name == "mail-type":
        letters = b"".join(_MAIL.get(part.strip().upper(), b"") for part in value.split(b","))
        return (b"#PBS -m " + bytes(dict.fromkeys(letters)),) if letters else ()
    flags = {"requeue": b"#PBS -r y", "no-requeue": b"#PBS -r n", "hold": b"#PBS -h"}
    if name in flags:
        return (flags[name],)
    if name == "export":
        return _export(value)
    return () if name in ("open-mode", "kill-on-invalid-dep") else None


def _file(letter: bytes, value: bytes) -> tuple[bytes, ...] | None:
    """PBS puts no job id into a name, but names files after the job by itself: a folder is all that need be said."""
    if value in (b"/dev/null",):
        return (b"#PBS %s /dev/null" % letter,)
    if not _PATTERN.search(value):
        return (b"#PBS %s %s" % (letter, value),)
    folder, slash, _ = value.rpartition(b"/")
    if _PATTERN.search(folder):
        return None
    return (b"#PBS %s %s/" % (letter, folder),) if slash else ()


def _export(value: bytes) -> tuple[bytes, ...] | None:
    """Slurm hands all of the environment over unless told not to; PBS hands over what it is told."""
    names = [part for part in value.split(b",") if part not in (b"ALL", b"NONE", b"NIL", b"")]
    if any(b'"' in name or b"'" in name for name in names):
        return None
    whole = (b"#PBS -V",) if b"ALL" in value.split(b",") else ()
    return (*whole, b"#PBS -v " + b",".join(names)) if names else whole


def _to_slurm(setting: Setting) -> tuple[bytes, ...] | None:
    name, value = setting.name, setting.value
    if name == "job-name":
        return (b"#SBATCH --job-name=" + value,)
    if name in ("output", "error"):
        path = value.rpartition(b":")[2]
        ending = b"o" if name == "output" else b"e"
        full = path + b"%%x.%s%%j" % ending if path.endswith(b"/") else path.replace(b"^array_index^", b"%a")
        return (b"#SBATCH --%s=%s" % (name.encode(), full),)
    if name == "mail-user":
        return (b"#SBATCH --mail-user=" + value,)
    if name == "mail-type":
        kinds = [_LETTERS[bytes((letter,))] for letter in value if bytes((letter,)) in _LETTERS]
        return (b"#SBATCH --mail-type=" + (b",".join(kinds) or b"NONE"),)
    if name == "rerunable":
        return (b"#SBATCH --requeue" if value.lower() in (b"y", b"") else b"#SBATCH --no-requeue",)
    if name == "variable-list":
        return (b"#SBATCH --export=ALL," + value,) if not re.search(rb"[\s\"']", value) else None
    if name == "hold":
        return (b"#SBATCH --hold",)
    return () if name == "join" else None


def _joined(foreign: Foreign, new: str) -> list[bytes]:
    """Slurm writes both streams into one file unless told otherwise; PBS into two unless told otherwise."""
    settings = foreign.job.settings
    if foreign.scheduler == "slurm" and new == "pbs" and "error" not in settings:
        return [b"#PBS -j oe"]
    apart = (settings.value("join") or b"n") in (b"n", b"") and "error" not in settings
    if foreign.scheduler == "pbs" and new == "slurm" and apart and "output" in settings:
        return [b"#SBATCH --error=%x.e%j"]
    return []


def spelled(setting: Setting) -> str:
    """Return a setting as its line spells it, without `#SBATCH` or `#PBS`."""
    mark = setting.origin.spelling.decode("ascii", "replace")
    value = setting.value.decode("utf-8", "backslashreplace")
    name = "%s %s" % (mark, setting.name) if mark in ("-l", "-W") else mark
    glue = "=" if mark.startswith("--") or mark in ("-l", "-W") else " "
    return name + (glue + value if value else "")


def _why(setting: Setting, new: str) -> str:
    if setting.name in ("dependency", "depend"):
        return "it names jobs of another cluster"
    if setting.name in _PLACES or setting.name == "system":
        return "it belongs to the cluster that the script was written for"
    return "%s has no equal of it" % ("PBS" if new == "pbs" else "Slurm") if setting.name else ""


def requested_slots(foreign: Foreign, cluster: Cluster, slots: Slots, home: bool) -> Slots:
    """Return the slots for the new cluster. *home*: it is the script's own one, so that names of places stay.

    The program stands in for the one on the launch line, which is kept where it is.
    """
    kept = [foreign.slots[name] for name in _EVERYWHERE if name in foreign.slots]
    if home:
        kept += [foreign.slots[name] for name in _AT_HOME if name in foreign.slots and _is_here(name, foreign, cluster)]
    elif "account" in foreign.slots and has_account(cluster, foreign.slots.text("account")):
        kept.append(foreign.slots["account"])
    kept += [*_gpus(foreign, cluster, home), *_way(foreign, cluster), *_program(foreign)]
    site = Slot("site", cluster.site.id, Origin("option"))
    wanted = {name: slot for name, slot in slots.items() if name not in ("environment", "container")}
    if "gpus_total" in wanted:
        kept = [slot for slot in kept if slot.name != "gpus_per_node" and (slot.name != "nodes" or "nodes" in wanted)]
    return Slots([*kept, *wanted.values(), site])


def has_account(cluster: Cluster, account: str) -> bool:
    """Return whether an account has the form that those of the cluster have, as far as its file knows one."""
    shapes = cluster.file.account_shapes if cluster.file is not None else ()
    return any(re.fullmatch(shape, account) for shape in shapes)


def _is_here(name: Name, foreign: Foreign, cluster: Cluster) -> bool:
    """Tell whether a name of a place can be the cluster's own."""
    value = foreign.slots.text(name)
    site = cluster.site
    if name == "gpu":
        return site.kind(value) is not None
    if name in ("partition", "queue", "qos") and site.partitions_complete:
        return any((partition.selector, partition.name) == (name, value) for partition in site.partitions)
    return bool(value)


def _gpus(foreign: Foreign, cluster: Cluster, home: bool) -> Iterator[Slot]:
    """GPUs and ranks of a node, only where the script wants other numbers than all that a node has."""
    training = main(foreign.launches)
    used = foreign.plan.allocation.gpus_per_node
    ranks = foreign.slots.number("ranks_per_node")
    whole = _whole(foreign.plan.allocation.node_kinds)
    most = max((kind.gpus or 0 for kind in cluster.site.kinds), default=0)
    if training is not None and training.small and not used:
        used, whole = (1 if most else used), None
    wanted = used
    if used and (whole is None or used < whole) and (home or not most or used <= most):
        yield Slot("gpus_per_node", used, _origin(foreign, "gpus_per_node"))
    elif whole:
        wanted = whole
    meant = training is not None and _is_told(training) and not foreign.wrong
    if ranks and wanted and ranks < wanted and meant and (not most or ranks < most):
        yield Slot("ranks_per_node", ranks, _origin(foreign, "ranks_per_node"))
        if used and used <= (most or used):
            yield Slot("gpus_per_node", used, _origin(foreign, "gpus_per_node"))


def _is_told(training: Launch) -> bool:
    """Tell whether the line itself says how many ranks a node has: torchrun starts one where nobody does."""
    links = [link for link in training.steps[0].links if link.name in AGENTS]
    if not links:
        return training.outer is not None
    return links[-1].option("nproc-per-node", "num-processes", "num-gpus", "config-file") is not None


def _whole(kinds: tuple[NodeKind, ...]) -> int | None:
    """Return how many GPUs a node has where the script was at home, None where that is not known."""
    counts = {kind.gpus for kind in kinds}
    return counts.pop() if len(counts) == 1 else None


def _origin(foreign: Foreign, name: Name) -> Origin:
    return foreign.slots[name].origin if name in foreign.slots else Origin("script")


def _way(foreign: Foreign, cluster: Cluster) -> Iterator[Slot]:
    """The paradigm and the launcher of the ranks, where the cluster can start them so."""
    paradigm = foreign.slots.text("paradigm")
    if paradigm in cluster.paradigms:
        yield foreign.slots["paradigm"]
    launcher = foreign.slots.text("launcher")
    launches = [launch_file for each in cluster.launches.values() for launch_file in each]
    if launcher in AGENTS:
        if any(launch_file.when.launcher == launcher for launch_file in launches):
            yield foreign.slots["launcher"]
        return
    ranks = [
        launch_file
        for launch_file in cluster.launches.get(paradigm or "ddp", ())
        if launch_file.when.launcher == "python"
    ]
    if launcher and ranks:
        yield Slot("launcher", NAMED[ranks[0].when.over].name, _origin(foreign, "launcher"))


def _program(foreign: Foreign) -> Iterator[Slot]:
    """The name of the program's file: it names the job where the script does not."""
    words = foreign.slots.text("program").split()
    name = next((word.strip("\"'") for word in words if word.strip("\"'").endswith(".py") and "$" not in word), "")
    if name:
        yield Slot("program", name, _origin(foreign, "program"))


def is_home(foreign: Foreign, site: Site) -> bool:
    """Tell whether the script was written for *site*: so its signs say, or nothing in it speaks against it."""
    if foreign.site or foreign.scheduler != site.scheduler:
        return foreign.site == site.id
    names = [(name, foreign.slots.text(name)) for name in ("partition", "queue") if name in foreign.slots]
    known = {(partition.selector, partition.name) for partition in site.partitions}
    return all(name in known for name in names) and bool(names or not site.partitions)
