"""Nodes, links and groups as a picture: lines for a terminal, and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from .groups import CALLED, TENSOR, Mesh
from .placement import Placement, Seat
from .topology import CROSSED, Machine

MOST_NODES = 8  # drawn one by one; the rest are counted
_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb", "#000000")  # told apart by all


class Scene(NamedTuple):
    """What is drawn: ranks on nodes, the groups of an axis, and what each axis crosses."""

    placed: Placement
    mesh: Mesh | None
    machine: Machine
    crossed: dict[str, tuple[str, int]]  # of each axis, the widest thing and how many groups cross it

    @property
    def axis(self) -> str:
        """The axis whose groups are marked: the innermost one that divides anything, "" where there is none."""
        return next((axis.name for axis in self.mesh.axes if axis.size > 1), "") if self.mesh is not None else ""


def lines(scene: Scene) -> Iterator[str]:
    """Yield the picture for a terminal: leaves, nodes, a box a rank with its group's letter."""
    marks = _marks(scene)
    leaves = scene.machine.network.leaves
    before = ""
    for node in range(min(scene.placed.nodes, MOST_NODES)):
        leaf = leaves[node] if node < len(leaves) else ""
        if leaf and leaf != before:
            yield f"leaf {leaf}"
        before = leaf
        seats = [seat for seat in scene.placed.seats if seat.node == node]
        boxes = " ".join(f"[{seat.rank:>3}{marks.get(seat.rank, '')}]" for seat in seats)
        yield f"{'  ' if leaf else ''}node {node:<3} {boxes}"
    if scene.placed.nodes > MOST_NODES:
        yield f"... and {scene.placed.nodes - MOST_NODES} more nodes"
    yield from _legend(scene)


def _legend(scene: Scene) -> Iterator[str]:
    if scene.mesh is None:
        yield "the sizes of its parallel groups are not on the launch line"
        return
    if scene.axis:
        yield f"a letter is one {CALLED.get(scene.axis, scene.axis)} group"
    for axis in scene.mesh.axes:
        if axis.size > 1 and axis.name in scene.crossed:
            what, count = scene.crossed[axis.name]
            total = scene.mesh.ranks // axis.size
            yield (f"{axis.name:<3} {total} group{'s' if total > 1 else ''} of {axis.size}: "
                   f"{count if count < total else 'all'} over {CROSSED[what]}")  # fmt: skip


def _marks(scene: Scene) -> dict[int, str]:
    """Return a letter for each rank by the group that it is in."""
    if scene.mesh is None or not scene.axis:
        return {}
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {rank: letters[index % 26] for index, group in enumerate(scene.mesh.groups(scene.axis)) for rank in group}


_BOX, _GAP, _HEAD = 46, 8, 26


def svg(scene: Scene, title: str) -> str:
    """Return the picture as SVG: a frame a node, a box a rank in its group's colour, a line where one leaves a node."""
    placed, drawn = scene.placed, min(scene.placed.nodes, 64)
    seats = [seat for seat in placed.seats if seat.node < drawn]
    each = max((seat.local for seat in seats), default=0) + 1
    at = {seat.rank: (70 + seat.local * (_BOX + _GAP), 40 + seat.node * (_BOX + _HEAD)) for seat in seats}
    width, legend = 90 + each * (_BOX + _GAP), list(_legend(scene))
    height = 60 + drawn * (_BOX + _HEAD) + 18 * len(legend)
    body = [*_nodes(scene, drawn, width), *_lines(scene, at), *_ranks(scene, seats, at)]
    foot = [_text(10, height - 18 * (len(legend) - index), line) for index, line in enumerate(legend)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
            f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            _text(10, 20, title),
            *body,
            *foot,
            "</svg>",
            "",
        ]
    )


def _nodes(scene: Scene, drawn: int, width: int) -> Iterator[str]:
    leaves = scene.machine.network.leaves
    for node in range(drawn):
        top = 34 + node * (_BOX + _HEAD)
        yield f'<rect x="6" y="{top}" width="{width - 12}" height="{_BOX + 12}" rx="6" fill="#f4f4f4" stroke="#888"/>'
        leaf = f" {leaves[node]}" if node < len(leaves) else ""
        yield _text(12, top + 30, f"node {node}")
        if leaf:
            yield _text(12, top + 46, leaf.strip())


def _ranks(scene: Scene, seats: list[Seat], at: dict[int, tuple[int, int]]) -> Iterator[str]:
    groups = scene.mesh.groups(scene.axis) if scene.mesh is not None and scene.axis else ()
    colour = {rank: _COLOURS[index % len(_COLOURS)] for index, group in enumerate(groups) for rank in group}
    for seat in seats:
        left, top = at[seat.rank]
        yield (f'<rect x="{left}" y="{top}" width="{_BOX}" height="{_BOX}" rx="4" fill="white" '
               f'stroke="{colour.get(seat.rank, "#444")}" stroke-width="3"/>')  # fmt: skip
        yield _text(left + 8, top + 20, str(seat.rank))
        if seat.gpu is not None:
            yield _text(left + 8, top + 38, f"GPU {seat.gpu}")


def _lines(scene: Scene, at: dict[int, tuple[int, int]]) -> Iterator[str]:
    """Yield a line between members of a marked group that are on different nodes."""
    groups = scene.mesh.groups(scene.axis) if scene.mesh is not None and scene.axis == TENSOR else ()
    for index, group in enumerate(groups):
        for rank, other in zip(group, group[1:]):
            if rank in at and other in at and scene.placed.node_of(rank) != scene.placed.node_of(other):
                (x1, y1), (x2, y2) = at[rank], at[other]
                half, colour = _BOX // 2, _COLOURS[index % len(_COLOURS)]
                ends = f'x1="{x1 + half}" y1="{y1 + half}" x2="{x2 + half}" y2="{y2 + half}"'
                yield f'<line {ends} stroke="{colour}" stroke-width="2" stroke-dasharray="4 3"/>'


def _text(left: int, top: int, text: str) -> str:
    return f'<text x="{left}" y="{top}">{escape(text)}</text>'
