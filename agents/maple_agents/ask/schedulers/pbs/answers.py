"""What qstat and pbsnodes print, as attributes by key: JSON where they know it, their old text where they do not.

qstat's JSON is not exact (23.06): a value that looks like a number or a truth comes without quotes and changed (`007`
is 7, `1e5` is 100000), and a backslash comes back multiplied. Such keys are named as inexact, so that nobody trusts
them; numbers that PBS itself keeps as numbers are exact. Digits are kept as they are printed.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

# Whole numbers in PBS itself, so nothing was lost.
_WHOLE = {"Exit_status", "Priority", "run_count", "run_version", "queue_rank", "session_id", "array_index"}
_WHOLE_RESOURCES = {"ncpus", "ngpus", "nodect", "mpiprocs", "cpupercent"}


class Entry(NamedTuple):
    """One job, queue, node or server as a command printed it. *inexact*: keys whose value may have been changed."""

    name: str
    values: dict[str, str]
    inexact: frozenset[str]


class _Bare(str):
    """A value that stood in the JSON without quotes."""


class _Pairs(list[tuple[str, Any]]):
    """An object with every pair, the doubled ones too."""


def from_json(text: str, group: str) -> list[Entry] | None:
    """Return the entries of `Jobs`, `Queue`, `Server` or `nodes`; None where *text* cannot be read as JSON.

    Control characters inside of strings, as older versions print them, are taken; of doubled keys the last counts.
    """
    try:
        answer = json.loads(
            text,
            strict=False,
            parse_int=_Bare,
            parse_float=_Bare,
            parse_constant=_Bare,
            object_pairs_hook=_Pairs,
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, _Pairs):
        return None
    entries = [pair for key, pairs in answer if key == group and isinstance(pairs, _Pairs) for pair in pairs]
    return [_entry(name, pairs) for name, pairs in entries if isinstance(pairs, _Pairs)]


def _entry(name: str, pairs: _Pairs) -> Entry:
    values: dict[str, str] = {}
    inexact: set[str] = set()
    for key, value in pairs:
        for full, leaf in _flat(key, value):
            text, exact = _plain(full, leaf)
            if full in values or not exact:
                inexact.add(full)
            values[full] = text
    return Entry(name, values, frozenset(inexact))


def _flat(key: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, _Pairs):
        return [("%s.%s" % (key, name), leaf) for name, leaf in value]
    return [(key, value)]


def _plain(key: str, value: Any) -> tuple[str, bool]:
    """Return the text of a value, and whether it is surely the one that PBS holds."""
    if isinstance(value, _Bare):
        return str(value), _is_whole(key) and re.fullmatch(r"-?\d+", value) is not None
    if isinstance(value, str):
        return value, "\\" not in value
    if isinstance(value, bool):
        return ("True" if value else "False"), False
    return ("" if value is None else json.dumps(_unpaired(value))), False


def _is_whole(key: str) -> bool:
    group, _, name = key.partition(".")
    listed = group in ("Resource_List", "resources_used", "resources_available", "resources_assigned", "resources_max")
    return name in _WHOLE_RESOURCES if listed else key in _WHOLE


def _unpaired(value: Any) -> Any:
    if isinstance(value, _Pairs):
        return {key: _unpaired(inner) for key, inner in value}
    return [_unpaired(inner) for inner in value] if isinstance(value, list) else value


_HEADS = {
    "Jobs": re.compile(r"Job Id: (\d\S*)"),
    "Queue": re.compile(r"Queue: (\S+)"),
    "Server": re.compile(r"Server: (\S+)"),
    "nodes": re.compile(r"([\w.:-]+(?:\[\d+\])?)"),  # a vnode has its number behind it
}


def from_text(text: str, group: str) -> list[Entry]:
    """Return the entries of `qstat -f`, `-Qf`, `-Bf` or `pbsnodes -a`.

    An entry begins in the first column; attributes are indented, `name = value`; a tab begins the rest of a long value.
    Where the lines were cut the value may have lost blanks, so such keys are inexact.
    """
    entries: list[Entry] = []
    inexact: set[str] = set()
    key = ""
    for line in text.splitlines():
        head = _HEADS[group].fullmatch(line.rstrip())
        if head:
            inexact = set()
            entries.append(Entry(head[1], {}, frozenset()))
            key = ""
        elif line.startswith("\t") and key and entries:
            entries[-1].values[key] += line[1:]
            inexact.add(key)
            entries[-1] = entries[-1]._replace(inexact=frozenset(inexact))
        elif " = " in line and line[:1] == " " and entries:
            key, _, value = line.strip(" ").partition(" = ")
            entries[-1].values[key] = value
    return entries


def entries_of(out: str, group: str) -> list[Entry] | None:
    """Return the entries of JSON or text, None where it looks like JSON and cannot be read; nothing is no entry."""
    return from_json(out, group) if out.lstrip().startswith("{") else from_text(out, group)
