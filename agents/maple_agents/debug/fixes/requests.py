"""What the job asks the scheduler for: time, memory, and options that it said wrongly."""

from __future__ import annotations

import re
from difflib import get_close_matches

from maple_submit_filter.edits import ArgvEdit, Edit, Fix, Safety, Span
from maple_submit_filter.settings import Setting

from .given import Given, fix
from .inserting import before_commands, newline

TIME = {"slurm": "time", "pbs": "walltime"}
DAY, HOUR, MINUTE = 86400, 3600, 60
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+)([kmgt]?)(i?b)?\Z", re.I)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?\Z")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:+@/=-]*\Z")


@fix("raise-walltime")
def raise_walltime(given: Given) -> Fix | None:
    """Ask for *factor* times the time limit, never less than before, never more than the site's file allows."""
    limit = given.case.ended.limit or _seconds(given, given.job.settings.get(TIME[given.case.scheduler]))
    if not limit:
        return None
    wanted = limit * max(1.0, given.number("factor", 2.0))
    most = _most_walltime(given)
    wanted = min(wanted, most) if most else wanted
    if wanted <= limit:
        return None
    return said(given, TIME[given.case.scheduler], clock(int(wanted)), "the time limit is %s" % clock(int(wanted)))


def _most_walltime(given: Given) -> float | None:
    """Return the longest time of the partition or queue that was asked for, None where the site's file has none."""
    names = {
        given.job.settings.value(name) for name in ("partition", "queue", "qos")
    } - {None}  # fmt: skip
    rows = [
        one for one in given.site.partitions if one.name.encode() in names or one.name == given.site.default_partition
    ]
    times = [one.max_walltime for one in rows if one.max_walltime]
    return float(min(times)) if times else None


def _seconds(given: Given, setting: Setting | None) -> float | None:
    return None if setting is None else seconds(setting.value.decode("ascii", "replace"), given.case.scheduler)


def seconds(text: str, scheduler: str) -> float | None:
    """Return a time limit in seconds as sbatch (30 is minutes) or qsub (30 is seconds) reads it."""
    found = _CLOCK.match(text)
    if found is None:
        return None
    days, first, second, third = (int(part) if part is not None else None for part in found.groups())
    if days is not None:
        return days * DAY + first * HOUR + (second or 0) * MINUTE + (third or 0)  # type: ignore[operator]
    numbers = [one for one in (first, second, third) if one is not None]
    if scheduler == "slurm" and len(numbers) < 3:
        numbers = [*numbers, 0] if len(numbers) == 2 else [numbers[0], 0]
    return float(sum(number * MINUTE**power for power, number in enumerate(reversed(numbers))))


def clock(whole: int) -> str:
    """Return seconds as HH:MM:SS, which both schedulers read."""
    minutes, rest = divmod(whole, MINUTE)
    return "%02d:%02d:%02d" % (*divmod(minutes, MINUTE), rest)


@fix("raise-memory")
def raise_memory(given: Given) -> Fix | None:
    """Ask for more memory in the form that the script has: by what was used, else *factor* times; never less."""
    for name in ("mem", "mem-per-cpu", "mem-per-gpu"):
        setting = given.job.settings.get(name)
        if setting is not None:
            return _more(given, name, setting)
    used, asked = given.case.ended.used_memory, given.case.ended.memory
    if given.case.scheduler != "slurm" or not (used or asked):
        return None
    wanted = _wanted(given, asked or used or 0)
    return said(given, "mem", "%dG" % wanted, "%d GiB of memory on each node" % wanted) if wanted else None


def _more(given: Given, name: str, setting: Setting) -> Fix | None:
    had = size(setting.value.decode("ascii", "replace"), "m" if given.case.scheduler == "slurm" else "")
    if not had:
        return None  # --mem=0 is all that a node has
    wanted = _wanted(given, had) if name == "mem" else -(-int(had * given.number("factor", 1.5)) // UNITS["g"])
    if not wanted or wanted * UNITS["g"] <= had:
        return None
    unit = "gb" if given.case.scheduler == "pbs" else "G"
    return said(given, name, "%d%s" % (wanted, unit), "%d GiB of memory (%s)" % (wanted, name))


def _wanted(given: Given, had: int) -> int | None:
    """Return GiB for a node: half as much again as was used, at least *factor* times what there was; None if no node
    has it.
    """
    used = given.case.ended.used_memory or 0
    wanted = -(-int(max(used * 1.5, had * given.number("factor", 1.5))) // UNITS["g"])
    least = [one.memory_gib for one in given.plan.allocation.node_kinds if one.memory_gib]
    most = max(least, default=None)
    if most is not None and wanted > most:
        wanted = most
    return wanted if wanted * UNITS["g"] > had else None


def size(text: str, unit: str) -> int | None:
    """Return bytes of a size as the scheduler reads it; *unit* where it names none ("" for bytes)."""
    found = _SIZE.match(text)
    return int(found[1]) * UNITS.get((found[2] or unit).lower(), 1) if found else None


@fix("set-directive")
def set_directive(given: Given) -> Fix | None:
    """Say option *name* with *value*."""
    return said(given, given.word("name"), given.word("value"), "--%s=%s" % (given.word("name"), given.word("value")))


@fix("drop-directive")
def drop_directive(given: Given) -> Fix | None:
    """Leave out option *name*, where directives or the command line say it."""
    name = given.word("name")
    settings = [one for one in given.job.settings.all(name) if one.origin.kind in ("directive", "argv")]
    edits, argv = [], []
    for one in settings:
        if one.origin.kind == "argv":
            argv += [
                ArgvEdit(one.origin.argv_index + more, (), "drop-directive") for more in range(one.origin.argv_count)
            ]
        elif one.origin.span is not None:
            edits.append(
                Edit(_line(given.job.source, one.origin.span), b"# " + one.origin.spelling + b" left out", name)
            )
    return Fix(tuple(edits), Safety.ASK, "without --%s" % name, tuple(argv)) if edits or argv else None


def _line(source: bytes, span: Span) -> Span:
    """Return the whole directive line where the option is all that it says, else the option's own span."""
    start, end = source.rfind(b"\n", 0, span.start) + 1, source.find(b"\n", span.end)
    end = len(source) if end < 0 else end
    alone = source[start : span.start].split() in ([b"#SBATCH"], [b"#PBS"]) and not source[span.end : end].strip()
    return Span(start, end) if alone else span


@fix("correct-value")
def correct_value(given: Given) -> Fix | None:
    """Put the site's own name in place of one that is nearly it: of a partition, queue or QOS. Accounts are not
    guessed.
    """
    for name, selectors in (("partition", ("partition",)), ("queue", ("queue",)), ("qos", ("qos",))):
        setting = given.job.settings.get(name)
        known = [one.name for one in given.site.partitions if one.selector in selectors and not one.routed]
        wrong = setting.value.decode("utf-8", "replace") if setting else ""
        near = get_close_matches(wrong, known, 2, 0.75) if wrong and wrong not in known else []
        if len(near) == 1:
            return said(given, name, near[0], "%s %s, which is nearest to %s" % (name, near[0], wrong))
    return None


@fix("exclude-nodes")
def exclude_nodes(given: Given) -> Fix | None:
    """Leave out the node that failed; Slurm only, PBS has no word for it."""
    node = given.caught.get("node", "") or (given.case.ended.nodes[0] if len(given.case.ended.nodes) == 1 else "")
    if given.case.scheduler != "slurm" or not re.match(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}\Z", node):
        return None
    if given.case.ended.nodes and node not in given.case.ended.nodes or "exclude" in given.job.settings:
        return None
    return said(given, "exclude", node, "node %s is left out" % node)


def said(given: Given, name: str, value: str, says: str) -> Fix | None:
    """Return the fix that says an option: where it was said, else on a new directive line behind the last one."""
    if not re.match(r"[a-z][a-z-]*\Z", name) or not _PLAIN.match(value):
        return None
    setting = given.job.settings.get(name)
    new = value.encode()
    if setting is not None and setting.origin.kind == "directive" and setting.origin.value_span is not None:
        return Fix((Edit(setting.origin.value_span, new, name),), Safety.ASK, says)
    if setting is not None and setting.origin.kind == "argv":
        return _in_argv(given, setting, name, new, says)
    return _new_line(given, name, new, says)


def _in_argv(given: Given, setting: Setting, name: str, new: bytes, says: str) -> Fix | None:
    if given.case.scheduler != "slurm":
        return None  # `-l select=…:mem=…` is a word of many values
    at, count = setting.origin.argv_index, setting.origin.argv_count
    edits = [ArgvEdit(at, (b"--%s=%s" % (name.encode(), new),), name)]
    return Fix((), Safety.ASK, says, tuple(edits + [ArgvEdit(at + more, (), name) for more in range(1, count)]))


def _new_line(given: Given, name: str, new: bytes, says: str) -> Fix | None:
    source = given.job.source
    spans = [one.span for one in given.job.script.directives]
    end = max((span.end for span in spans), default=source.find(b"\n") if source.startswith(b"#!") else -1)
    if end < 0 or end > before_commands(source):
        return None
    pbs = given.case.scheduler == "pbs"
    words = b"#PBS -l %s=%s" % (name.encode(), new) if pbs else b"#SBATCH --%s=%s" % (name.encode(), new)
    if pbs and name not in ("walltime",):
        return None
    return Fix((Edit(Span(end, end), newline(source) + words, name),), Safety.ASK, says)
