"""Options of sbatch and qsub that stand in the prose of a request: `--nodes=4`, `-A abc`, `-l select=2`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from maple_submit_filter.request.slurm import values

from ..base.quantities import clock, of_clock
from .language.lexemes import GPUS, NAMED, OPEN, RANKS, Reading
from .language.vocabulary import table, texts
from .language.words import spelt
from .phrases import known, squeezed

_WORDS = texts("scheduler_options")
_LONG = table(_WORDS["long"])
_SHORT = table(_WORDS["short"])
_KEYS = table(_WORDS["keys"])
_OF_PBS = {**_SHORT, "n": "", **table(_WORDS["of_pbs"])}
_OPTION = re.compile(
    r"(?<![\w-])(?:--(?P<long>[a-z][a-z_-]+)(?:[ =]{1,8}(?P<long_value>[^\s;\"'`-][^\s;\"'`]*))?"
    r"|-(?P<short>[a-zA-Z])(?P<glue> {0,8}=? {0,8})(?P<short_value>[^\s;\"'`-][^\s;\"'`]*))"
    r"|(?<![\w./:=$?&-])(?P<key>[a-z][a-z_-]*=|[a-z]+(?:[_-][a-z]+)+[ :=]{1,4})(?P<key_value>[^\s;\"'`-][^\s;\"'`]*)",
    re.I,
)
_SHAPES = {
    "nodes": r"\d{1,8}(?:-\d{1,8})?",
    RANKS: r"\d{1,8}",
    GPUS: r"(?:[\w.-]+:)?\d{1,8}",
    "gpus_per_node": r"(?:[\w.-]+:)?\d{1,4}",
    "ranks_per_node": r"\d{1,5}",
    "gpus_per_task": r"(?:[\w.-]+:)?1",  # what every rank gets anyway
    "gres": r"gpus?(?::[\w.-]+)?(?::\d+)?(?:,.*)?",
    "partition": r"[\w.,-]+",
    "qos": r"[\w.-]+",
    "queue": r"[\w.@-]+",
    "account": r"[\w][\w.-]*(?:@[\w-]+)?",
    "time": r"[\d:-]*\d|(?:\d+[dhm]){1,3}",
    "walltime": r"[\d:-]*\d|(?:\d+[dhm]){1,3}",
    "constraint": r"[\w&|*()\[\].-]+",
    "array": r"[\d,:%-]+",
    "container": r"[^\s;|&$]+",
    "filesystems": r"[a-z]\w*(?:[:,]\w+)*",
    "resources": r"[\w=:,.-]+",
    "memory": r"\d+[KMGTkmgt]?[bB]?",
    "cpus_per_task": r"\d{1,4}",
    "job_name": r"[\w.+-]+",
    "output": r"[\w./%+{}$~-]*[%./][\w./%+{}$~-]*",
    "mail": r"[\w.+-]+@[\w.-]+\w",
    "mail_on": r"[A-Za-z_,]+",
    "dependency": r"(?:depend=)?after\w*:[\d.:\w\[\]-]+",
}


_UNITS = {"d": 86400, "h": 3600, "m": 60}


class Option(NamedTuple):
    """An option with its value and place."""

    name: str
    value: str
    start: int
    end: int


def options(text: str, is_cluster: Callable[[str], bool] = lambda word: False) -> Iterator[Option]:
    """Yield the options of the text that the grammar knows and whose value has the right shape.

    *is_cluster*: tells a cluster's name, which is an item of its own behind a comma.
    """
    pbs = bool(re.search(r"(?i)#PBS|\bqsub\b|\bPBS\b|(?<![\w-])-l *\w+=", text))
    at = 0
    while match := _OPTION.search(text, at):
        at = match.end()
        long, letter, key = match.group("long"), match.group("short"), match.group("key")
        short = _OF_PBS if pbs else _SHORT
        name = _LONG.get(long.lower().replace("_", "-"), "") if long else short.get(letter, "")
        name = _of_key(key, match.group("key_value")) if key else name
        value = match.group("long_value") or match.group("short_value") or match.group("key_value")
        if not name or value is None or letter == "a" and not re.match(r"\d", value):
            continue
        value = _own(name, value, is_cluster)
        value = value.rstrip(".,:!?)") if name != "filesystems" else value.rstrip(".,!?)")
        if letter and match.group("glue") == "" and not re.match(r"\d", value) and name not in ("resources",):
            continue
        if each := _PER_NODE.fullmatch(value) if name in _OF_A_NODE else None:
            name, at = _OF_A_NODE[name], match.end()
            yield Option(name, each[1], match.start(), at)
        elif re.fullmatch(_SHAPES[name], value):
            kind = "long_value" if long else "key_value" if key else "short_value"
            at = match.start(kind) + len(value)
            yield Option(name, value, match.start(), at)


_PER_NODE = re.compile(r"(?i)(\d{1,4})/node")
_OF_A_NODE = {GPUS: "gpus_per_node", RANKS: "ranks_per_node"}


def _of_key(key: str, value: str) -> str:
    """Return the slot of an option without its dashes, "J=pt13b", "acct=nlp"; "" where the value leaves it open."""
    key = key.rstrip(" :=")
    name = _KEYS.get(key, "") or (_LONG.get(key.lower().replace("_", "-"), "") if len(key) > 1 else "")
    unclear = re.fullmatch(r"\d+(?::\d\d)?[.,;]?", value)
    return "" if unclear and name in ("time", "walltime", GPUS, "array") else name


def _own(name: str, value: str, is_cluster: Callable[[str], bool]) -> str:
    """Return what of a value is the option's: up to the comma where the request is a list ("-A abc,ddp,2n")."""
    if name == "resources":
        return value
    first, *others = value.split(",")
    taken = itertools.takewhile(lambda word: not (_is_item(name, word) or is_cluster(word)), others)
    more = taken if name in _MANY else ()
    return ",".join((first, *more))


def _is_item(name: str, word: str) -> bool:
    """Tell whether a word behind a comma is another item of the request, and no second value of the option."""
    low = word.lower()
    if "=" in word or low.startswith(("-", "§")):
        return True
    return name not in ("array", "filesystems") and bool(spelt(low) or re.match(r"\d", low) or squeezed(low) in known())


_MANY = ("partition", "gres", "constraint", "array", "filesystems", "gpus", "gpus_per_node")


def read(text: str, is_cluster: Callable[[str], bool]) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Return what the options of *text* say, and the characters they take."""
    readings = [reading for match in _OF_LSF.finditer(text) for reading in _lsf(match)]
    spans: list[tuple[int, int]] = [match.span() for match in _OF_LSF.finditer(text)]
    for start, end in spans:
        text = text[:start] + "§" * (end - start) + text[end:]
    for option in options(text, is_cluster):
        readings += [reading for reading in _readings(option) if reading.value != ""]
        spans.append((option.start, option.end))
    return readings, spans


_OF_LSF = re.compile(r"(?m)^[ \t>]*#BSUB[ \t]+-(?P<name>[A-Za-z_]+)[ \t]+(?P<value>\S+)[ \t]*$")
_LSF_SLOTS = {"P": "account", "W": "walltime", "nnodes": "nodes", "J": "job_name", "o": "output"}


def _lsf(match: re.Match[str]) -> Iterator[Reading]:
    """Yield what a line of LSF says, whose times are hours and minutes."""
    name, value = _LSF_SLOTS.get(match["name"], ""), match["value"]
    if name == "walltime":
        hours, _, minutes = value.rpartition(":")
        value = clock(3600 * int(hours or 0) + 60 * int(minutes)) if (hours + minutes).isdigit() else ""
    if name and value:
        number = name == "nodes" and value.isdigit()
        yield Reading(name, int(value) if number else value, match.start("name"), match.end(), NAMED)


def _readings(option: Option) -> Iterator[Reading]:
    name, value, start, end = option
    if name == "resources":
        parts = dict(part.partition("=")[::2] for part in re.split(r"[,:](?=[a-z_]+=)", value))
        if "gpus" in parts and "ppn" in parts and parts["ppn"] != parts["gpus"]:
            parts["ncpus"] = parts.pop("ppn")  # of Torque, where it counts processors
        for key, text in parts.items():
            yield from _resource(key, text, start, end)
    elif name == "gres":
        yield from _gpus(value, "gpus_per_node", start, end)
    elif name in (GPUS, "gpus_per_node"):
        yield from _gpus(value, "gpus_total" if name == GPUS else name, start, end)
    elif name in ("time", "walltime"):
        amounts = re.findall(r"(\d+)([dhm])", value)
        seconds = sum(int(many) * _UNITS[unit] for many, unit in amounts) or values.seconds(value.encode())
        if seconds:
            yield Reading("walltime", clock(seconds), start, end, NAMED)
    elif name == "nodes" and "-" in value:
        yield Reading(OPEN, "nodes %s leaves the number open; say one" % value, start, end)
    elif name == "gpus_per_task" or name == "ranks_per_node" and value == "1":
        return  # one task a node is what starts an agent there, and no number of ranks
    elif name in ("memory", "mail_on", "dependency", "cpus_per_task"):
        yield from _detail(name, value, start, end)
    elif name == "filesystems":
        yield Reading(name, ":".join(sorted(re.split("[:,]", value.lower()))), start, end, NAMED)
    elif value.isdigit() and name in ("nodes", RANKS, "ranks_per_node"):
        zero = Reading(OPEN, "%s=%s: a job needs at least one" % (name, value), start, end)
        yield Reading(name, int(value), start, end, NAMED) if int(value) else zero
    else:
        yield Reading(name, value, start, end, NAMED)


def _detail(name: str, value: str, start: int, end: int) -> Iterator[Reading]:
    """Yield memory with its unit (Slurm counts megabytes), a number, the events of mails, a dependency."""
    if name == "memory":
        number = value.upper().rstrip("B")
        yield Reading(name, number if number[-1:].isalpha() else number + "M", start, end, NAMED)
    elif name == "cpus_per_task":
        yield Reading(name, int(value), start, end, NAMED)
    elif name == "mail_on":
        letters = {"a": "FAIL", "b": "BEGIN", "e": "END"}
        events = (
            [letters[letter] for letter in "bea" if letter in value]
            if set(value) <= set("abe")
            else value.upper().split(",")
        )
        yield Reading(name, ",".join(events), start, end, NAMED)
    else:
        yield Reading(name, value.removeprefix("depend="), start, end, NAMED)


def _gpus(value: str, name: str, start: int, end: int) -> Iterator[Reading]:
    for item in values.gpus(value.encode()) or ():
        if item.amount:
            yield Reading(name, item.amount, start, end, NAMED)
        if item.type:
            yield Reading("gpu", item.type.decode(), start, end)


_RESOURCES = {"select": "nodes", "nodes": "nodes", "ncpus": "cpus_per_node", "ngpus": "gpus_per_node",
              "gpus": "gpus_per_node", "mpiprocs": "ranks_per_node", "ppn": "ranks_per_node"}  # fmt: skip


def _resource(key: str, value: str, start: int, end: int) -> Iterator[Reading]:
    name = _RESOURCES.get(key, key)
    if value.isdigit() and int(value) > (name == "ranks_per_node") and key in _RESOURCES:
        yield Reading(name, int(value), start, end, NAMED)
    elif key == "walltime" and of_clock(value):
        yield Reading(key, clock(of_clock(value) or 0), start, end, NAMED)
    elif key == "filesystems" and re.fullmatch(r"\w+(?::\w+)*", value):
        yield Reading(key, ":".join(sorted(value.split(":"))), start, end, NAMED)
    elif key == "mem" and re.fullmatch(r"(?i)\d+[kmgt]b?", value):
        yield Reading("memory", value.upper().rstrip("B"), start, end, NAMED)
