"""The mesh of devices that a program makes of its ranks, read from its text: the last dimension runs fastest.

Read: PyTorch's `init_device_mesh`, `jax.make_mesh` and `Mesh` over devices that are reshaped or come from
`create_device_mesh`; and dimensions that stand in one word of a launch line, `dp=4,tp=8`. The program is never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .groups import CONTEXT, DATA, EXPERT, PIPELINE, TENSOR

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
