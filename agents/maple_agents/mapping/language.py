"""The mapping language: what a job runs on, how its ranks are ordered and dealt, and what shall be written.

Read by Lark from `language.lark`. A mistake names its line, what was expected there, and what to do.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ..ask.schedulers.slurm.jobs import expand
from ..base.near_names import meant
from . import groups, index_maps, placement
from .groups import Mesh
from .placement import Placement, Seat

TARGETS = (
    "slurm-hostfile", "slurm-plane", "mpich-order", "pals-cpu-bind", "pbs-nodefile", "megatron", "device-mesh",
    "torchrun-static", "numa-binding",
)  # fmt: skip
_UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class Mistake(ValueError):
    """A statement that says nothing, or nothing that can be: with its line."""


class Unread(Mistake):
    """Words that are no statement of the language."""


class Flow(NamedTuple):
    """What an axis exchanges: bytes, so many times a step."""

    axis: str
    kind: str
    size: float
    rounds: int


class Mapping(NamedTuple):
    """A whole program. *levels*: how many of each there are in the one above. *by*: "leaf", "as-given", or hosts."""

    levels: dict[str, int]
    links: dict[str, tuple[float, float]]
    mesh: Mesh | None
    flows: tuple[Flow, ...]
    by: str
    hosts: tuple[str, ...]
    how: str  # "block", "cyclic", "plane", "over"
    width: int
    places: tuple[tuple[int, ...], ...]  # of "over": (node, gpu) of each rank
    binds: dict[str, str]
    emits: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """How many nodes there are in all."""
        return self.levels.get("leaf", 1) * self.levels.get("node", 1)

    @property
    def each(self) -> int:
        """How many GPUs, and so ranks, a node has."""
        return self.levels.get("numa", 1) * self.levels.get("gpu", 1)

    def placement(self) -> Placement:
        """Return which rank runs where."""
        if self.how == "over":
            seats = tuple(Seat(rank, node, gpu, gpu) for rank, (node, gpu) in enumerate(self.places))
            return Placement(seats)
        if self.how == "cyclic":
            return placement.cyclic(self.nodes, self.each)
        if self.how == "plane":
            rounds = self.each // self.width
            order = [(turn, node) for turn in range(rounds) for node in range(self.nodes)]
            return placement.on([node for _, node in order for _ in range(self.width)])
        return placement.block(self.nodes, self.each)


def read(text: str) -> Mapping:
    """Return what a program says; raises `Mistake` with its line."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

    try:
        tree = _parser().parse(text)
    except (UnexpectedCharacters, UnexpectedToken, UnexpectedEOF) as error:
        raise Unread(_wrong(error, text)) from None
    return _Reader().all(tree)


@cache
def _parser() -> Any:
    from lark import Lark

    grammar = files(__package__).joinpath("language.lark").read_text()
    return Lark(grammar, parser="earley", propagate_positions=True, maybe_placeholders=False)


_EXAMPLES = {
    "cluster": "cluster leaf 4 / node 4 / gpu 4",
    "link": "link node 25GB/s 8us",
    "axes": "axes pp 2, dp 8, tp 8",
    "traffic": "traffic tp allreduce 64MiB x32",
    "order": "order tp < dp < pp",
    "nodes": "nodes by leaf",
    "map": "map block",
    "bind": "bind cpu closest",
    "emit": "emit slurm-hostfile",
}
STATEMENTS = tuple(_EXAMPLES)


def _wrong(error: Any, text: str) -> str:
    """Return what is wrong in a line, with the statement as it should look."""
    lines = text.splitlines() or [""]
    number = min(max(error.line, 1), len(lines)) if getattr(error, "line", -1) > 0 else len(lines)
    line = lines[number - 1].strip()
    column = max(getattr(error, "column", 1), 1)
    statement = lines[number - 1][: column - 1].rpartition(";")[2].split() or line.split() or [""]
    word = statement[0]
    if word in STATEMENTS:
        return f"line {number}: {line!r} is no {word} statement; write: {_EXAMPLES[word]}"
    hint = meant(word, list(STATEMENTS))
    return f"line {number}: {word!r} begins no statement; {hint or 'known are ' + ', '.join(STATEMENTS)}"


class _Reader:
    """Statements put together; each may stand once, traffic and links once an axis or level."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.links: dict[str, tuple[float, float]] = {}
        self.sizes: dict[str, int] = {}
        self.flows: list[Flow] = []
        self.order: tuple[str, ...] = ()
        self.by, self.hosts = "as-given", ()  # type: str, tuple[str, ...]
        self.map: tuple[int, Any] | None = None
        self.binds: dict[str, str] = {}
        self.emits: tuple[str, ...] = ()

    def all(self, tree: Any) -> Mapping:
        """Return the whole."""
        for statement in tree.children:
            getattr(self, "_" + statement.data)(statement, statement.meta.line)
        how, width, places = self._dealt()
        order = (*self.order, *(name for name in groups.MEGATRON if name in self.sizes and name not in self.order))
        mesh = groups.mesh(order, self.sizes) if self.sizes else None
        made = Mapping(self.levels, self.links, mesh, tuple(self.flows), self.by, self.hosts, how, width, places,
                       self.binds, self.emits)  # fmt: skip
        if mesh is not None and mesh.ranks != made.nodes * made.each:
            raise Mistake(f"the axes make {mesh.ranks} ranks, and the cluster has {made.nodes * made.each} GPUs; "
                          f"let the sizes multiply to that")  # fmt: skip
        if self.hosts and len(self.hosts) != made.nodes:
            raise Mistake(f"{len(self.hosts)} hosts are listed, and the cluster has {made.nodes} nodes; list each once")
        return made

    def _cluster(self, tree: Any, line: int) -> None:
        self.levels = {str(level.children[0]): int(level.children[1]) for level in tree.children}
        if "node" not in self.levels or "gpu" not in self.levels or 0 in self.levels.values():
            raise Mistake(f"line {line}: a cluster has nodes and GPUs; write: {_EXAMPLES['cluster']}")

    def _link(self, tree: Any, line: int) -> None:
        level, number, rate, *late = (str(word) for word in tree.children)
        delay = float(late[0]) * (1e-6 if late[1] == "us" else 1e-3) if late else 0.0
        self.links[level] = (float(number) * _UNITS[rate[0]], delay)

    def _axes(self, tree: Any, line: int) -> None:
        for axis in tree.children:
            name, size = str(axis.children[0]), int(axis.children[1])
            if name in self.sizes or not size:
                raise Mistake(f"line {line}: axis {name} is said twice, or has no parts; say each once")
            self.sizes[name] = size

    def _traffic(self, tree: Any, line: int) -> None:
        axis, kind, number, unit, *times = (str(word) for word in tree.children)
        self.flows.append(Flow(axis, kind, float(number) * _UNITS[unit[:-1]], int(times[0][1:]) if times else 1))

    def _order(self, tree: Any, line: int) -> None:
        self.order = tuple(map(str, tree.children))
        if len(set(self.order)) < len(self.order):
            raise Mistake(f"line {line}: an axis stands twice in the order; name each once, the innermost first")

    def _nodes(self, tree: Any, line: int) -> None:
        word = str(tree.children[0])
        self.by = "leaf" if word.startswith("by") else "as-given" if word == "as-given" else "list"
        if self.by == "list":
            try:
                self.hosts = expand(word)
            except ValueError as error:
                raise Mistake(f"line {line}: {error}; write: nodes list nid[001-004]") from error

    def _map_named(self, tree: Any, line: int) -> None:
        self.map = (line, [str(word) for word in tree.children])

    def _map_over(self, tree: Any, line: int) -> None:
        self.map = (line, tree)

    def _bind(self, tree: Any, line: int) -> None:
        device, near = map(str, tree.children)
        self.binds[device] = near

    def _emit(self, tree: Any, line: int) -> None:
        self.emits = tuple(map(str, tree.children))
        for name in self.emits:
            if name not in TARGETS:
                hint = meant(name, list(TARGETS))
                raise Mistake(f"line {line}: nothing is written as {name}; {hint or 'known are ' + ', '.join(TARGETS)}")

    def _refused(self, tree: Any, line: int) -> None:
        word = str(tree.children[0])
        raise Mistake(f"line {line}: {word} says in which memory, or how, data lies: the program's own runtime decides "
                      f"that, and no launcher can be told; leave the statement out")  # fmt: skip

    def _dealt(self) -> tuple[str, int, tuple[tuple[int, ...], ...]]:
        nodes = self.levels.get("leaf", 1) * self.levels.get("node", 1)
        each = self.levels.get("numa", 1) * self.levels.get("gpu", 1)
        if self.map is None:
            return "block", 0, ()
        line, how = self.map
        if isinstance(how, list):
            width = int(how[1]) if len(how) > 1 else 0
            if how[0] == "plane" and (not width or each % width):
                raise Mistake(f"line {line}: planes of {width} do not divide {each} ranks a node; write: map plane 1")
            return how[0], width, ()
        try:
            return "over", 0, index_maps.of_statement(how, nodes, each)
        except ValueError as error:
            raise Mistake(f"line {line}: {error}; write: map over (4, 4) by machine block") from error
