"""From a site file's bytes to a checked `SiteFile`, or to every mistake in it.

A mistake is said so that one can mend it: key path, what is wrong, the nearest known word.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

import tomllib
from pydantic import BaseModel, ValidationError

from ...base.near_names import nearest
from .model import Node, PartitionTable, SiteFile

Path = Sequence[str | int]


class Mistakes(ValueError):
    """Every mistake of one site file, a line each, beginning with the file's name."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def dotted(path: Path) -> str:
    """Return a key path as one would say it: `partition.gpu.node_kinds[0]`."""
    words = ("[%d]" % part if isinstance(part, int) else "." + part for part in path)
    return "".join(words).lstrip(".")


def of_shape(error: ValidationError) -> list[str]:
    """Return a line for each place where a file has not the shape of a `SiteFile`."""
    return sorted(
        {"%s: %s" % (dotted(mistake["loc"]) or "file", _what(mistake)) for mistake in error.errors(include_url=False)}
    )


def _what(error: Any) -> str:
    """Say in our own words what pydantic found."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return "no such key" + nearest(str(error["loc"][-1]), _known_keys(error["loc"][:-1]))
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        choices = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return "%r is none of %s%s" % (value, ", ".join(choices), nearest(str(value), choices))
    if kind == "string_pattern_mismatch":
        return "%r is not written as expected (%s)" % (value, context["pattern"])
    if kind == "too_short":
        return "is empty"
    return "%s, not %s" % (error["msg"].replace("Input should be", "should be"), _shown(value))


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."


def _known_keys(path: Path) -> list[str]:
    """Return the keys that the table at *path* may have."""
    table: Any = SiteFile
    for part in path:
        if isinstance(table, type) and issubclass(table, BaseModel):
            field = table.model_fields.get(str(part))
            table = _inner(field.annotation) if field else None
        else:
            table = _inner(get_args(table)[-1]) if get_origin(table) in (dict, list) else None
    return list(table.model_fields) if isinstance(table, type) and issubclass(table, BaseModel) else []


def _inner(annotation: Any) -> Any:
    """Return X of `X | None`, else the annotation itself."""
    if get_origin(annotation) in (Union, UnionType):
        return next((argument for argument in get_args(annotation) if argument is not type(None)), None)
    return annotation


def parse(source: bytes, filename: str) -> SiteFile:
    """Return the site that *source* describes. Raises `Mistakes` with all of them, each with *filename* and key path.

    The id must be the name of the file, so that one can be found by the other.
    """
    try:
        tables = _tables(source)
        site = SiteFile.model_validate(tables)
    except ValidationError as error:
        raise Mistakes(["%s: %s" % (filename, line) for line in of_shape(error)]) from None
    except ValueError as error:
        raise Mistakes(["%s: %s" % (filename, error)]) from None
    lines = [*_empty(tables, ()), *contradictions(site)]
    stem = os.path.basename(filename).removesuffix(".toml")
    if filename.endswith(".toml") and site.id != stem:
        lines.insert(0, "id: %r, but the file is called %s.toml: rename one of the two" % (site.id, stem))
    if lines:
        raise Mistakes(["%s: %s" % (filename, line) for line in lines])
    return site


def revision(site: SiteFile) -> str:
    """Return a hash of the facts: another comment or another order of keys does not change it, another fact does.

    What only the words of a request are held against is none: no script and no decision is another one for it.
    """
    table = site.model_dump(mode="json", exclude_defaults=True, exclude={"account_shapes"})
    facts = json.dumps(table, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(facts.encode()).hexdigest()


def _tables(source: bytes) -> dict[str, Any]:
    """Parse TOML; a file that is none is a `ValueError` with one line."""
    try:
        return tomllib.loads(source.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError("byte %d: not UTF-8" % error.start) from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError("not TOML: %s" % error) from None


# Whether the entries of a site file fit each other.


def contradictions(site: SiteFile) -> list[str]:
    """Return a line for each entry that names something the file does not have, or cannot be as it says."""
    lines = [*_sources(site), *_partitions(site), *_scheduler(site), *_detection(site), *_demands(site)]
    lines += _launchers(site)
    return [*lines, *_expressions("account_shapes", site.account_shapes)]


def _empty(value: object, path: Path) -> Iterator[str]:
    """An empty text says nothing, and looks as if it did; a variable alone may be set to nothing."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _empty(inner, (*path, key)) if key != "value" else ()
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _empty(inner, (*path, index))
    elif isinstance(value, str) and not value.strip():
        yield "%s: is empty; what is not known is left out" % dotted(path)


# Whose program an mpiexec is, as people write it: as the submit path names it, "" where it has no words of it.
MAKERS = {
    "Open MPI": "openmpi",
    "OpenMPI": "openmpi",
    "MPICH": "hydra",
    "Hydra": "hydra",
    "Intel MPI": "intelmpi",
    "PALS": "pals",
    "Cray PALS": "pals",
    "Cray MPICH": "pals",
    "MVAPICH": "",
    "ParaStation MPI": "",
    "Spectrum MPI": "",
    "HPE MPT": "",
    "Fujitsu MPI": "",
}


def maker(implementation: str) -> str | None:
    """Return whose program that is, "" for one without words of its own here, None for a name that nobody knows."""
    return next((maker for name, maker in MAKERS.items() if name.lower() == implementation.lower()), None)


def _launchers(site: SiteFile) -> Iterator[str]:
    for name, table in site.launcher.items():
        if table.implementation and maker(table.implementation) is None:
            known = nearest(table.implementation, MAKERS) or "; known are %s" % ", ".join(MAKERS)
            yield "launcher.%s.implementation: nobody's name is %r%s" % (name, table.implementation, known)


def _expressions(key: str, patterns: Sequence[str]) -> Iterator[str]:
    for index, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            yield "%s[%d]: not a regular expression: %s" % (key, index, error)


def places(site: SiteFile) -> Iterator[tuple[str, str, PartitionTable]]:
    """Yield (selector, name, table) of every partition, QOS and queue."""
    for selector, tables in (("partition", site.partition), ("qos", site.qos), ("queue", site.queue)):
        for name, table in tables.items():
            yield selector, name, table


def devices(node: Node) -> int | None:
    """Return how many devices ranks can have for their own on such a node; None where it is not known for sure."""
    if not node.sure:
        return None
    return node.gpus if node.devices is None else node.devices


def _sources(site: SiteFile) -> Iterator[str]:
    used: set[str] = set()
    for path, names in _cited(site, ()):
        used.update(names)
        for name in names:
            if name not in site.sources:
                yield "%s.source: no %r in [sources]%s" % (dotted(path), name, nearest(name, site.sources))
    for name in site.sources:
        if name not in used:
            yield "sources.%s: no entry comes from it" % name


def _cited(value: object, path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the path of every entry with its sources."""
    if isinstance(value, BaseModel):
        source = getattr(value, "source", None)
        if isinstance(source, list):
            yield path, source
        for key in type(value).model_fields:
            yield from _cited(getattr(value, key), (*path, key))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _cited(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _cited(inner, (*path, index))


def _partitions(site: SiteFile) -> Iterator[str]:
    for selector, name, table in places(site):
        key = "%s.%s" % (selector, name)
        for kind in table.node_kinds:
            if kind not in site.node:
                yield "%s.node_kinds: no [node.%s]%s" % (key, kind, nearest(kind, site.node))
        if table.partition and table.partition not in site.partition:
            yield "%s.partition: no [partition.%s]%s" % (key, table.partition, nearest(table.partition, site.partition))
        if None not in (table.min_nodes, table.max_nodes) and (table.min_nodes or 0) > (table.max_nodes or 0):
            yield "%s.min_nodes: %s is more than max_nodes = %s" % (key, table.min_nodes, table.max_nodes)
        yield from _more_than_the_node_has(site, key, table)


def _more_than_the_node_has(site: SiteFile, key: str, table: PartitionTable) -> Iterator[str]:
    has = [site.node[kind].gpus for kind in table.node_kinds if kind in site.node]
    most = max((gpus for gpus in has if gpus is not None), default=None)
    if most is not None and None not in has and (table.gpus_per_node or 0) > most:
        yield "%s.gpus_per_node: %s, but its nodes have %s" % (key, table.gpus_per_node, most)


def _scheduler(site: SiteFile) -> Iterator[str]:
    known = site.queue if site.scheduler.type == "pbs" else site.partition
    for key, name, tables in (
        ("default_partition", site.scheduler.default_partition, known),
        ("default_qos", site.scheduler.default_qos, site.qos),
    ):
        if name and name not in tables:
            yield "scheduler.%s: no entry for %r%s" % (key, name, nearest(name, tables))
    for selector, name, _ in places(site):
        if (selector == "queue") != (site.scheduler.type == "pbs"):
            yield "%s.%s: %s has no such thing" % (selector, name, site.scheduler.type)
    if (site.node or site.demand) and not site.scheduler.source:
        yield "scheduler.source: is missing"


def _detection(site: SiteFile) -> Iterator[str]:
    if site.detection is None:
        return
    for key in ("host_patterns", "ambiguous_host_patterns"):
        yield from _expressions("detection.%s" % key, getattr(site.detection, key))
    for index, variable in enumerate(site.detection.variables):
        if (variable.value is None) == (variable.matches is None):
            yield "detection.variables[%d]: needs either value or matches" % index


def _demands(site: SiteFile) -> Iterator[str]:
    names = {"always", "gpu", *(name for _, name, _ in places(site))}
    for section, tables in (("demand", site.demand), ("refusal", site.refusal)):
        for name, table in tables.items():
            key = "%s.%s" % (section, name)
            if table.applies not in names:
                yield "%s.applies: no partition %r%s" % (key, table.applies, nearest(table.applies, names))
            if table.effect == "refused" and not table.sure:
                yield '%s.effect: "refused" needs a source that can be relied on, not confidence = "low"' % key
            for option in table.options:
                if option.startswith("-"):
                    yield "%s.options: %r is written without dashes" % (key, option)
