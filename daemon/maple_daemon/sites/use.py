"""Which field of a site file is read by what: every field of the schema, and the rules, or else, that read it.

Read from the code itself, by names: a field counts as read where something names the attribute that carries it. So a
field that nobody reads is surely found; one whose name another table has too may seem to have a reader.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import maple_agents
import maple_submit_filter
from maple_agents.ask.sites.model import SiteFile
from maple_submit_filter.site import facts
from pydantic import BaseModel

FILTER, AGENTS = (Path(next(iter(package.__path__))) for package in (maple_submit_filter, maple_agents))
OF_EVERY_FACT = frozenset(("source", "confidence", "checked", "says"))  # shown beside the fact, and weighed with it
ROOMS = ("play", "launchers", "plan", "cures", "repair", "request")
SHAPES = (
    facts.Site,
    facts.NodeKind,
    facts.Partition,
    facts.SizeBin,
    facts.Demand,
    facts.LauncherFact,
    facts.GpuRequest,
)


_TOGETHER = "a limit of all jobs that a user runs at once, which one submission cannot break"
# Why no rule reads a field that nothing else reads either.
REASONS: Mapping[str, str] = {
    "family": "for people: what clusters are built alike; each has its own facts",
    "scheduler.os": "for people: no rule depends on it, glibc and drivers are asked of the node",
    "detection.ambiguous_host_patterns": "kept so that nobody proposes them: they name two clusters",
    "detection.login_hosts": "for people: a job is recognised by its variables and its nodes",
    "detection.host_examples": "what the patterns were tried on",
    "node.*.gpu_cpu_map": "for people: gpu_cores says it in numbers",
    "gpu_request.forms": "for people: gpu_request.form is the one that is written",
    "launcher.*.options[].flag": "for people: the launcher's own table is read, and refusals name what a site forbids",
    "launcher.*.options[].means": "for people: as its flag",
    "ranks.mpi": "for people: launcher.*.implementation decides",
    "network.fabric": "for people: interfaces and variables are fields of their own",
    "proxy.ftp": "no training needs ftp",
    "proxy.no_proxy": "written beside the proxies by modules of the site",
    "rejection[].trigger": "for people: demand, refusal and limits say it so that a rule can judge",
    "rejection[].partial": "for people: whether the text is whole",
    "rejection[].followed_by": "for people: what is printed behind the text",
    "conflict[].topic": "for people: where sources disagree, nothing is proven",
    "sources.*.date": "for people: how old a page was when it was read",
    **{"%s.*.max_cores" % place: "said of partitions without GPUs only" for place in ("partition", "qos", "queue")},
    **{"%s.*.max_running_jobs" % place: _TOGETHER for place in ("partition", "qos", "queue")},
    **{"%s.*.charge" % place: "for people: what a job costs is no mistake" for place in ("partition", "qos", "queue")},
}


class Use(NamedTuple):
    """A field by its key in the file, the facts that carry it to the submit path, and what reads it."""

    field: str
    facts: tuple[str, ...]
    rules: tuple[str, ...]
    others: tuple[str, ...]


def uses() -> list[Use]:
    """Return every field of the schema with its readers, in the schema's order."""
    return [_use(key, name) for key, name in _fields(SiteFile, "")]


def lines() -> Iterator[str]:
    """Yield the table as people read it; a field that nothing reads says so, and why."""
    rows = [(use.field, " ".join(use.rules) or "-", " ".join(use.others) or "-") for use in uses()]
    first = max(len(row[0]) for row in rows)
    for field, rules, others in [("field", "rules", "else"), *rows]:
        nobody = "   nothing reads it: %s" % REASONS.get(field, "?") if (rules, others) == ("-", "-") else ""
        yield "%-*s  %s  %s%s" % (first, field, rules, others, nobody)


def _fields(model: type[BaseModel], at: str) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        key = "%s.%s" % (at, name) if at else name
        if inner is not None:
            kind = typing.get_origin(field.annotation)
            many = ".*" if kind is dict else "[]" if kind is list else ""
            yield from _fields(inner, key + many)
        elif name not in OF_EVERY_FACT:
            yield key, name


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table that a field holds one or many of, None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((table for argument in typing.get_args(annotation) if (table := _model_in(argument)) is not None), None)


def _use(key: str, name: str) -> Use:
    carried = tuple(sorted(fact for fact, names in _carriers().items() if name in names))
    rules = tuple(code for code, read in _rules().items() if read & set(carried))
    others = ["plan"] if _read_in(*(FILTER / room for room in ROOMS)) & set(carried) else []
    rooms = [room for room in AGENTS.iterdir() if room.is_dir() and room.name[0] not in "_."]
    for room in sorted(rooms):
        names = {name, *carried} if room.name != "ask" else {name}
        if _read_in(room, leave_out=("facts.py", "model.py", "files.py"), words=room.name == "ask") & names:
            others.append("maple " + room.name)
    return Use(key, carried, rules, tuple(others))


@cache
def _carriers() -> Mapping[str, frozenset[str]]:
    """Return for each fact of the snapshot the names of the schema's fields that it is made from."""
    tree = ast.parse((AGENTS / "ask" / "sites" / "facts.py").read_text())
    helpers = {function.name: _attributes(function) for function in tree.body if isinstance(function, ast.FunctionDef)}
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.Assign)):
        for target in statement.targets:
            helpers.setdefault(getattr(target, "id", ""), _attributes(statement.value))
    made = {shape.__name__: shape._fields for shape in SHAPES}
    carriers: dict[str, frozenset[str]] = {}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        fields = made.get(getattr(call.func, "id", ""), ())
        for name, value in [
            *zip(fields, call.args),
            *((keyword.arg or "", keyword.value) for keyword in call.keywords if fields),
        ]:
            called = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
            names = _attributes(value).union(
                *(helpers.get(other, frozenset()) for other in called - {"_kind", "_partition"})
            )
            carriers[name] = carriers.get(name, frozenset()) | names
    return carriers


def _attributes(tree: ast.AST) -> frozenset[str]:
    """Return the attributes that code reads, by `a.b` or by `getattr(a, "b")`."""
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return frozenset(read | {text for text in texts if "_" in text and text.isidentifier()})


@cache
def _rules() -> Mapping[str, frozenset[str]]:
    """Return for each rule the attributes that it reads, itself or by the functions of the rules' own helpers."""
    folder = FILTER / "rules"
    helpers = _functions(folder / "limits.py", FILTER / "cures" / "places.py", FILTER / "site" / "facts.py")
    read = {}
    for path in sorted(folder.glob("*/mpl*.py"), key=lambda file: file.name):
        tree = ast.parse(path.read_text())
        names = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
        methods = {attribute for attribute in _attributes(tree) if attribute in helpers}
        called = [helpers[name] for name in names | methods if name in helpers]
        read[path.name[:6].upper()] = _attributes(tree).union(*called)
    return read


def _functions(*paths: Path) -> Mapping[str, frozenset[str]]:
    """Return what each function of these modules reads, those that it calls included."""
    nodes = {
        tree.name: tree
        for path in paths
        for tree in ast.walk(ast.parse(path.read_text()))
        if isinstance(tree, ast.FunctionDef)
    }
    read = {name: _attributes(node) for name, node in nodes.items()}
    calls = {
        name: {tree.id for tree in ast.walk(node) if isinstance(tree, ast.Name)} & set(nodes)
        for name, node in nodes.items()
    }
    for _ in range(4):  # calls are no deeper
        read = {name: read[name].union(*(read[callee] for callee in calls[name])) for name in read}
    return read


@cache
def _read_in(*folders: Path, leave_out: tuple[str, ...] = (), words: bool = False) -> frozenset[str]:
    """Return the attributes that are read anywhere in folders; *words*: also by plain words, as a table's keys are."""
    paths = [path for folder in folders for path in folder.rglob("*.py") if path.name not in leave_out]
    trees = [ast.parse(path.read_text()) for path in paths]
    texts = {str(node.value) for tree in trees for node in ast.walk(tree) if words and isinstance(node, ast.Constant)}
    return frozenset(texts).union(*map(_attributes, trees))
