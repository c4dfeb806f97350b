"""How many parts a program divides its model in, from the words of its launch line, and in which order of axes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from maple_submit_filter.rules.program_text import Named, named_values

from . import groups
from .groups import CONTEXT, DATA, EXPERT, PIPELINE, TENSOR, Axis, Mesh
from .size_files import NO_FILES, FileSizes

# What the last part of an option's name says, as the frameworks' own parsers and configurations spell it, and as people
# do in their own: what is divided, perhaps "parallel", perhaps a word for the count.
_PARTS = r"(?:_(?:size|degree|world_size|dim|ways?|num|gpus))?"
_PARALLEL = r"_(?:par|parallel|parallelism|mp)"
NAMES = {
    TENSOR: re.compile(
        rf"(?:n(?:um)?_|auto)?tp{_PARTS}|(?:ici_)?(?:tensor(?:_model)?|intra_layer){_PARALLEL}{_PARTS}|model_parallel_size|g_intra_[rcd]"
    ),
    PIPELINE: re.compile(rf"(?:n(?:um)?_)?pp{_PARTS}|(?:pipe|pipeline(?:_model)?|inter_layer){_PARALLEL}{_PARTS}"),
    CONTEXT: re.compile(
        rf"(?:n(?:um)?_)?cp{_PARTS}|context{_PARALLEL}{_PARTS}|(?:ds_)?sequence_parallel_(?:size|degree)"
    ),
    EXPERT: re.compile(rf"ep{_PARTS}|(?:moe_)?(?:experts?(?:_model)?|ep){_PARALLEL}{_PARTS}"),
}
OWN_MESH = "device mesh"  # the order is the program's own
WHOLE_NODE = ("maxtext", "vllm", "sglang")  # one process drives all GPUs of its node
EXPERT_TENSOR = ("expert_tensor_parallel_size", "expert_tensor_parallel_degree")
EXPERTS = ("num_experts", "num_moe_experts", "n_experts", "moe_num_experts", "num_local_experts", "n_routed_experts")
_MODEL = {  # what of the model decides how much is said over the links
    "num_layers": "layers", "n_layers": "layers", "hidden_size": "hidden", "seq_length": "sequence",
    "seq_len": "sequence", "micro_batch_size": "micro_batch", "global_batch_size": "global_batch",
}  # fmt: skip


_PATH = re.compile(rb"\0[^\0]*\0[\w.-]*/[^\0]*(?:\0[^\0]*\0[^\0]*)*\Z|\0[^\0]*\0[^\0]*/[\w.-]+\.(?:py|sh)\Z")


class Sizes(NamedTuple):
    """*sizes*: of the axes that are said. *framework*: a name in `groups.ORDERS`, "" where the order is not known.

    *named*: the words that say them. *expert_tensor*: of the experts' own tensor axis. *model*: numbers of the model.
    """

    framework: str
    sizes: dict[str, int]
    named: dict[str, Named]
    expert_tensor: int | None = None
    model: dict[str, int] = {}
    of_layer: int | None = None  # how many experts a layer has
    ranks: int | None = None  # that the sizes come to, where all of them are said
    own: tuple[tuple[str, int | None], ...] = ()  # the program's own mesh, innermost first; None for what is left

    def few_experts(self, room: int) -> bool:
        """Return whether all experts of a layer would fit on a node's *room* ranks, two on each at most."""
        return self.of_layer is not None and room > 0 and self.of_layer <= 2 * room

    @property
    def order(self) -> tuple[str, ...]:
        """The axes innermost first; the tensor axis is innermost in all orders that are known."""
        return groups.ORDERS.get(self.framework, groups.MEGATRON)

    def dense(self, world: int) -> Mesh | None:
        """Return the mesh of the dense layers, None where the sizes do not divide the ranks."""
        if self.own:
            return _own(self.own, world)
        sizes = {name: size for name, size in self.sizes.items() if name != EXPERT or self.framework == "nanotron"}
        return groups.filled(world, sizes, self.order)

    def experts(self, world: int) -> Mesh | None:
        """Return the mesh of the experts, None where there are none, or they do not divide the ranks."""
        if self.sizes.get(EXPERT, 1) < 2:
            return None
        if self.own:
            return self.dense(world)
        if self.framework == "torchtitan":
            return groups.folded_experts(world, self.sizes, self.order)
        if self.framework.startswith("megatron"):
            return groups.megatron_experts(world, self.sizes, self.order, self.expert_tensor)
        return self.dense(world) if self.framework == "nanotron" else None


def _own(axes: tuple[tuple[str, int | None], ...], world: int) -> Mesh | None:
    """Return the mesh that a program writes, None where it is not one of these ranks."""
    written = prod(size for _, size in axes if size is not None)
    made = Mesh(tuple(Axis(name, size if size is not None else world // written) for name, size in axes))
    return made if made.ranks == world else None


def read(program: Sequence[bytes], files: FileSizes = NO_FILES) -> Sizes | None:
    """Return what the words of a program say, and its *files* where these do not.

    None where nothing is divided, or an unknown word may change it.
    """
    if any(_is_open(word) for word in program):
        return None
    layers = [_numbers(layer) for layer in (tuple(named_values(program)), *files.layers)]
    named_sizes: dict[str, Named] = {}
    for layer in layers:
        named_sizes = {**_of_axes(layer), **named_sizes}
    sizes = {axis: int(value.value) for axis, value in named_sizes.items()}
    own = _mesh_of(program, files, layers)
    sizes.update({axis: size for axis, size in own if size is not None and axis != DATA})
    if all(size == 1 for size in sizes.values()):
        return None
    named = [value for layer in reversed(layers) for value in layer]
    expert_tensor = next((int(value.value) for value in reversed(named) if value.last in EXPERT_TENSOR), None)
    model = {_MODEL[value.last]: int(value.value) for value in named if value.last in _MODEL}
    count = next((int(value.value) for value in reversed(named) if value.last in EXPERTS), None)
    framework = OWN_MESH if own else _framework(program, named_sizes)
    return Sizes(framework, sizes, named_sizes, expert_tensor, model, count, _ranks(layers[0]), own)


def _numbers(named: Sequence[Named]) -> list[Named]:
    return [value for value in named if value.value.isdigit() and len(value.value) < 8]


def _of_axes(named: Sequence[Named]) -> dict[str, Named]:
    """Return the value of each axis that one place says."""
    made: dict[str, Named] = {}
    for value in named:
        axis = next((axis for axis, names in NAMES.items() if names.fullmatch(value.last)), None)
        if axis is not None and int(value.value) > 0:
            made[axis] = _stronger(made.get(axis), value)
    return made


def _mesh_of(
    program: Sequence[bytes], files: FileSizes, layers: Sequence[Sequence[Named]]
) -> tuple[tuple[str, int | None], ...]:
    """Return the mesh that the line writes in one word, else the one of the program's text; () where neither does."""
    words = {mesh for word in program if (mesh := groups.of_word(word)) is not None}
    mesh = words.pop() if len(words) == 1 else files.mesh if not words else None
    values = {value.last: int(value.value) for layer in reversed(layers) for value in layer}
    return (mesh.known(values) or ()) if mesh is not None else ()


def _ranks(named: Sequence[Named]) -> int | None:
    """Return the product of MaxText's axes, where those that it fills up by default are said too."""
    widths = {value.last: int(value.value) for value in named if re.match(r"(?:ici|dcn)_\w+_parallelism\Z", value.last)}
    return prod(widths.values()) if {"dcn_data_parallelism", "ici_fsdp_parallelism"} <= set(widths) else None


def _stronger(before: Named | None, value: Named) -> Named:
    """Return which of two values of an axis counts: the later of one name, the larger of two (AxoNN names three)."""
    if before is None or before.last == value.last:
        return value
    return value if int(value.value) > int(before.value) else before


def _is_open(word: bytes) -> bool:
    """Return whether a word is not known, so that it may be any option; what goes on with a slash is a path."""
    return word.startswith(b"\0") and not _PATH.match(word)


def _framework(program: Sequence[bytes], named_sizes: dict[str, Named]) -> str:
    """Return whose order it is: by the spelling of the sizes, or the name of the program."""
    words, names = b" ".join(program[:3]).lower(), {value.last for value in named_sizes.values()}
    if any(name.endswith("_degree") for name in names) or b"torchtitan" in words:
        return "torchtitan"
    if "pipe_parallel_size" in names:
        return "deepspeed"
    served = next((name for name in ("vllm", "sglang") if name.encode() in words), "")
    if served:
        return served
    if b"maxtext" in words or any(name.startswith("ici_") for name in names):
        return "maxtext"
    if b"nanotron" in words:
        return "nanotron"
    spelt = any("model_parallel_size" in name for name in names)
    if spelt or b"megatron" in words or b"pretrain_gpt" in words or b"nemo" in words:
        first = any(word.split(b"=")[0].replace(b"_", b"-") == b"--use-tp-pp-dp-mapping" for word in program)
        return "megatron tp-pp-dp" if first else "megatron"
    return ""


def sizes_of(framework: str, **sizes: int) -> Sizes:
    """Return sizes that stand on no line."""
    return Sizes(framework, dict(sizes), {})
