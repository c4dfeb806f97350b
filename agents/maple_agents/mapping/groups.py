"""Which ranks form the groups of a parallel program, by the order of its axes or by the mesh of devices in its text.

Ranks are numbered like the digits of a mixed-radix number: the innermost axis counts fastest. Every framework says no
more than an order; what they call it differs.

Of meshes are read: PyTorch's `init_device_mesh`, `jax.make_mesh` and `Mesh` over devices that are reshaped or come from
`create_device_mesh`; and dimensions that stand in one word of a launch line, `dp=4,tp=8`. The program is never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
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


_MOST = 128 * 1024  # bytes of a program that are read
_CALLED = {
    TENSOR: re.compile(r"(?:tp|tensor|mp|model)(?:_?par\w*)?(?:_?(?:dim|axis|size))?\Z"),
    CONTEXT: re.compile(r"(?:cp|sp|context|seq|sequence|ulysses|ring)(?:_?par\w*)?\Z"),
    EXPERT: re.compile(r"(?:ep|experts?)(?:_?par\w*)?\Z"),
    PIPELINE: re.compile(r"(?:pp|pipe|pipeline|stages?)(?:_?par\w*)?\Z"),
    DATA: re.compile(r"(?:h?dp|d?ddp|data|batch|fsdp|hsdp|shard|replica\w*|outer|inter)(?:_?(?:par|shard|repl)\w*)?\Z"),
}
_WORD = re.compile(r"[({\[]?[\"']?[a-z_]+[\"']?[=:]\d{1,5}(?:,[\"']?[a-z_]+[\"']?[=:]\d{1,5})+[)}\]]?\Z", re.IGNORECASE)
_PART = re.compile(r"([A-Za-z_]+)[\"']?[=:](\d+)")


class Written(NamedTuple):
    """Axes and sizes as they are written, the outermost first. A size is a number, a name, or "" for what is left."""

    axes: tuple[str, ...]
    sizes: tuple[int | str, ...]

    def known(self, values: Mapping[str, int]) -> tuple[tuple[str, int | None], ...] | None:
        """Return axes with sizes, innermost first, *values* put for names; None where more than one is open."""
        sizes = [size if isinstance(size, int) else values.get(size) for size in self.sizes]
        if sizes.count(None) > 1:
            return None
        return tuple(reversed(_joined(list(zip(self.axes, sizes, strict=True)))))


def _joined(axes: list[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """Return the axes with those of data beside each other as one."""
    made: list[tuple[str, int | None]] = []
    for name, size in axes:
        if made and made[-1][0] == name:
            before = made.pop()[1]
            size = before * size if before is not None and size is not None else None
        made.append((name, size))
    return made


def of_word(word: bytes) -> Written | None:
    """Return the dimensions of `dp=4,tp=8`, `{"dp":4,"tp":8}`; None where a word has none."""
    text = word.decode("utf-8", "replace").replace(" ", "")
    text = text.partition("=")[2] if re.match(r"--?[\w-]+=[({\[\"']?[\w\"']+[=:]", text) else text
    if not _WORD.match(text):
        return None
    parts = _PART.findall(text)
    return _written([name for name, _ in parts], [int(size) for _, size in parts])


def _written(names: list[str], sizes: list[int | str]) -> Written | None:
    """Return the mesh if every dimension is called as an axis is, and none but data twice."""
    axes = [next((axis for axis, called in _CALLED.items() if called.match(name.lower())), "") for name in names]
    parted = [axis for at, axis in enumerate(axes) if at == 0 or axes[at - 1] != axis or axis != DATA]
    if "" in axes or len(set(parted)) < len(parted) or len(axes) != len(sizes) or set(axes) == {DATA}:
        return None
    return Written(tuple(axes), tuple(sizes))


def written(program: bytes) -> Written | None:
    """Return the one mesh that a program makes, None where it makes none, several, or one that is not clear."""
    if len(program) > _MOST or not re.search(rb"_device_mesh|make_mesh|\bMesh\(", program):
        return None
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    values = _assigned(tree)
    meshes = {mesh for node in ast.walk(tree) if isinstance(node, ast.Call) for mesh in _of_call(node, values)}
    return meshes.pop() if len(meshes) == 1 else None


def _assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """Return what each name is given, of those that are given one thing."""
    given: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts):
                        if isinstance(name, ast.Name):
                            given.setdefault(name.id, []).append(value)
    return {name: values[0] for name, values in given.items() if len(values) == 1}


def _of_call(call: ast.Call, values: Mapping[str, ast.expr]) -> Iterator[Written]:
    name = _name(call.func)
    given = {each.arg: each.value for each in call.keywords}
    args = list(call.args)
    if name == "init_device_mesh":
        shape = given.get("mesh_shape") or (args[1] if len(args) > 1 else None)
        names = given.get("mesh_dim_names") or (args[2] if len(args) > 2 else None)
    elif name == "make_mesh":
        shape = given.get("axis_shapes") or (args[0] if args else None)
        names = given.get("axis_names") or (args[1] if len(args) > 1 else None)
    elif name == "Mesh":
        shape = _shape_of(_seen(args[0] if args else given.get("devices"), values))
        names = given.get("axis_names") or (args[1] if len(args) > 1 else None)
    else:
        return
    shape, names = _seen(shape, values), _seen(names, values)
    if not isinstance(shape, (ast.Tuple, ast.List)) or not isinstance(names, (ast.Tuple, ast.List)):
        return
    called = [each.value for each in names.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    made = _written(called, [_size(each, values) for each in shape.elts]) if len(called) == len(names.elts) else None
    if made is not None:
        yield made


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _seen(node: ast.expr | None, values: Mapping[str, ast.expr]) -> ast.expr | None:
    """Return what a name stands for."""
    return values.get(node.id, node) if isinstance(node, ast.Name) else node


def _shape_of(node: ast.expr | None) -> ast.expr | None:
    """Return the shape that devices are brought into: `create_device_mesh((4, 2))`, `devices.reshape(4, 2)`."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if _name(node.func) == "create_device_mesh":
        return node.args[0]
    if _name(node.func) == "reshape":
        return node.args[0] if len(node.args) == 1 else ast.Tuple(elts=list(node.args), ctx=ast.Load())
    return None


def _size(node: ast.expr, values: Mapping[str, ast.expr]) -> int | str:
    """Return a dimension: a number, what an option of that name says, or "" for what the others leave."""
    node = _seen(node, values) or node
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 0:
        return node.value
    if isinstance(node, ast.Attribute):
        return node.attr.lower()
    return ""
