"""Which ranks form the groups of a parallel program, by the order of its axes.

Ranks are numbered like the digits of a mixed-radix number: the innermost axis counts fastest. Every framework says no
more than an order; what they call it differs.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

TENSOR, CONTEXT, EXPERT, DATA, PIPELINE = "tp", "cp", "ep", "dp", "pp"
AXES = (TENSOR, CONTEXT, EXPERT, DATA, PIPELINE)
CALLED = {
    TENSOR: "tensor-parallel",
    CONTEXT: "context-parallel",
    EXPERT: "expert-parallel",
    DATA: "data-parallel",
    PIPELINE: "pipeline",
}
MEGATRON = (TENSOR, CONTEXT, EXPERT, DATA, PIPELINE)  # its default, `tp-cp-ep-dp-pp`
MEGATRON_PIPELINE_FIRST = (TENSOR, CONTEXT, EXPERT, PIPELINE, DATA)  # `--use-tp-pp-dp-mapping`
ORDERS = {  # innermost first; where each is said: docs/mapping.md
    "megatron": MEGATRON,
    "megatron tp-pp-dp": MEGATRON_PIPELINE_FIRST,
    "deepspeed": (TENSOR, DATA, PIPELINE),  # its topology of pipe, data, model: the last runs fastest
    "torchtitan": (TENSOR, CONTEXT, DATA, PIPELINE),  # mesh of pp, dp_replicate, dp_shard, cp, tp
    "nanotron": (TENSOR, CONTEXT, DATA, PIPELINE, EXPERT),  # an array of ep, pp, dp, cp, tp
}


class Axis(NamedTuple):
    """One way in which a model is divided, and in how many parts."""

    name: str
    size: int


class Mesh(NamedTuple):
    """The axes of a world, innermost first; their sizes multiply to its ranks."""

    axes: tuple[Axis, ...]

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return prod(axis.size for axis in self.axes)

    def size(self, name: str) -> int:
        """Return how many parts an axis has, 1 where there is no such axis."""
        return next((axis.size for axis in self.axes if axis.name == name), 1)

    def groups(self, *names: str) -> tuple[tuple[int, ...], ...]:
        """Return the groups of ranks that differ in the axes of these names alone, each in the order of its ranks."""
        inner, outer = _offsets(self.axes, names, True), _offsets(self.axes, names, False)
        return tuple(tuple(sorted(base + offset for offset in inner)) for base in sorted(outer))


def mesh(order: tuple[str, ...], sizes: dict[str, int]) -> Mesh:
    """Return the mesh of axes in an order, innermost first; an axis of which no size is said has one part."""
    return Mesh(tuple(Axis(name, sizes.get(name, 1)) for name in order))


def device_mesh(names: tuple[str, ...], shape: tuple[int, ...]) -> Mesh:
    """Return the mesh that `init_device_mesh` makes of its dimensions: the last runs fastest."""
    return Mesh(tuple(Axis(name, size) for name, size in reversed(list(zip(names, shape, strict=True)))))


def megatron(world: int, sizes: dict[str, int], order: tuple[str, ...] = MEGATRON) -> Mesh | None:
    """Return the mesh of the dense layers, in which Megatron has no expert axis; None where the sizes do not fit."""
    return _filled(world, {**sizes, EXPERT: 1}, order)


def megatron_experts(
    world: int, sizes: dict[str, int], order: tuple[str, ...] = MEGATRON, tensor: int | None = None
) -> Mesh | None:
    """Return the mesh of the experts: its own tensor size (the dense one by default), no context axis."""
    return _filled(world, {**sizes, TENSOR: tensor or sizes.get(TENSOR, 1), CONTEXT: 1}, order)


def folded_experts(world: int, sizes: dict[str, int], order: tuple[str, ...]) -> Mesh | None:
    """Return the mesh of torchtitan's experts: their axis is the inner part of data, context and tensor together."""
    expert = sizes.get(EXPERT, 1)
    outer = sizes.get(PIPELINE, 1)
    if world % outer or (world // outer) % expert:
        return None
    return Mesh((Axis(EXPERT, expert), Axis(DATA, world // outer // expert), Axis(PIPELINE, outer)))


def _filled(world: int, sizes: dict[str, int], order: tuple[str, ...]) -> Mesh | None:
    """Return the mesh whose data axis takes what the others leave, None where that is no whole number."""
    others = prod(size for name, size in sizes.items() if name != DATA and name in order)
    return mesh(order, {**sizes, DATA: world // others}) if others and world % others == 0 else None


def filled(world: int, sizes: dict[str, int], order: tuple[str, ...]) -> Mesh | None:
    """Return the mesh of *world* ranks in an order, data-parallel in what the other axes leave; None if they do not."""
    return _filled(world, sizes, order)


def _offsets(axes: tuple[Axis, ...], names: tuple[str, ...], within: bool) -> list[int]:
    """Return what the axes of *names* (or the others) add to a rank, every combination once."""
    offsets, step = [0], 1
    for axis in axes:
        if (axis.name in names) is within:
            offsets = [offset + step * index for index in range(axis.size) for offset in offsets]
        step *= axis.size
    return offsets
