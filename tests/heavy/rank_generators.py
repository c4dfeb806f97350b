"""What the frameworks' own rank generators say of many shapes, as JSON lines: a shape, a hash of each axis' groups.

`build/mapping-venv/bin/python tests/heavy/rank_generators.py > tests/cases/mapping/rank_generators.jsonl`, in an
environment with torch, and megatron-core and deepspeed installed with `--no-deps`. torchtitan's dimensions are given to
torch's own DeviceMesh, nanotron's array to numpy, as both of them do.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

SEED = 23
EACH = 60  # shapes of a framework


def digest(groups: Iterable[Iterable[int]]) -> str:
    """Return a hash of groups, in whatever order they come."""
    whole = sorted(tuple(sorted(int(rank) for rank in group)) for group in groups)
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]


def shapes(names: tuple[str, ...], most: int) -> list[dict[str, int]]:
    """Return shapes of at most *most* ranks, drawn by a fixed seed."""
    sizes = list(itertools.product((1, 2, 3, 4, 8), repeat=len(names)))
    fits = [dict(zip(names, one)) for one in sizes if 1 < _product(one) <= most]
    return random.Random(SEED).sample(fits, EACH)


def _product(numbers: Iterable[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def megatron() -> Iterator[dict[str, Any]]:
    """Yield what megatron.core.parallel_state.RankGenerator says, in both orders, of dense layers and of experts."""
    from megatron.core.parallel_state import RankGenerator

    for order in ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"):
        for shape in shapes(("tp", "cp", "dp", "pp"), 256):
            made = RankGenerator(**shape, ep=1, order=order)
            groups = {axis: digest(made.get_ranks(axis)) for axis in shape}
            groups["tp-dp"] = digest(made.get_ranks("tp-dp"))
            yield {
                "framework": "megatron",
                "order": order,
                "world": _product(shape.values()),
                **shape,
                "groups": groups,
            }
        for shape in shapes(("tp", "ep", "dp", "pp"), 256)[:30]:
            made = RankGenerator(**shape, cp=1, order=order)
            groups = {axis: digest(made.get_ranks(axis)) for axis in shape}
            yield {"framework": "megatron experts", "order": order, "world": _product(shape.values()), **shape,
                   "groups": groups}  # fmt: skip


def deepspeed() -> Iterator[dict[str, Any]]:
    """Yield what deepspeed.runtime.pipe.topology says; the file is run by itself, without the rest of the package."""
    spec = importlib.util.find_spec("deepspeed")
    assert spec is not None and spec.submodule_search_locations
    with open(f"{spec.submodule_search_locations[0]}/runtime/pipe/topology.py") as file:
        source = file.read().replace("from deepspeed import comm as dist", "dist = None")
    source = "\n".join(line for line in source.splitlines() if not line.startswith("from deepspeed"))
    names: dict[str, Any] = {"__name__": "topology"}
    exec(compile(source, "topology.py", "exec"), names)
    for shape in shapes(("pp", "tp", "dp"), 256):
        made = names["PipeModelDataParallelTopology"](num_pp=shape["pp"], num_mp=shape["tp"], num_dp=shape["dp"])
        axes = {"pp": "pipe", "tp": "model", "dp": "data"}
        groups = {axis: digest(made.get_axis_comm_lists(axes[axis])) for axis in shape if shape[axis] > 1}
        yield {"framework": "deepspeed", "world": _product(shape.values()), **shape, "groups": groups}


def meshes() -> Iterator[dict[str, Any]]:
    """Yield what torch's DeviceMesh makes of torchtitan's dense and sparse dimensions."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    for names in (("pp", "dp", "cp", "tp"), ("pp", "dp", "ep")):
        for shape in shapes(names, 128)[: EACH if len(names) == 4 else 40]:
            world = _product(shape.values())
            groups: dict[str, set[tuple[int, ...]]] = {axis: set() for axis in names}
            dist.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
            mesh = init_device_mesh("cpu", tuple(shape[name] for name in names), mesh_dim_names=names).mesh
            dist.destroy_process_group()
            for index, axis in enumerate(names):
                for group in mesh.movedim(index, -1).reshape(-1, shape[axis]).tolist():
                    groups[axis].add(tuple(group))
            yield {"framework": "torchtitan" if len(names) == 4 else "torchtitan experts", "world": world, **shape,
                   "groups": {axis: digest(groups[axis]) for axis in names}}  # fmt: skip


def nanotron() -> Iterator[dict[str, Any]]:
    """Yield nanotron's groups: an array of ep, pp, dp, tp, each axis moved last."""
    import numpy as np

    names = ("ep", "pp", "dp", "tp")
    for shape in shapes(names, 128):
        ranks = np.arange(_product(shape.values())).reshape([shape[name] for name in names])
        groups = {name: digest(np.moveaxis(ranks, index, -1).reshape(-1, shape[name]).tolist())
                  for index, name in enumerate(names)}  # fmt: skip
        yield {"framework": "nanotron", "world": ranks.size, **shape, "groups": groups}


if __name__ == "__main__":
    for row in itertools.chain(megatron(), deepspeed(), meshes(), nanotron()):
        sys.stdout.write(json.dumps(row, separators=(",", ":")) + "\n")
