#!/usr/bin/env python3
"""Tensor, pipeline and data parallel at once, on a device mesh, as small as can be.

Ranks next to each other share the hidden layers of each block (tensor), groups of them hold one half of the blocks
(pipeline), and the rest train on data of their own (data). Eight ranks are 2 x 2 x 2, four are 2 x 2 x 1.
"""

import os
import sys
from typing import Dict

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import phases, process_group


def body(run: phases.Run) -> None:
    world = process_group.join(run, "torch.distributed.device_mesh")
    import torch.distributed.device_mesh as device_mesh  # type: ignore[import-not-found, unused-ignore]

    from maple_miniapps import collectives, model, stages, training

    collectives.check(run, world)
    sizes = shape(world.size)
    with run.phase("mesh"):
        mesh = device_mesh.init_device_mesh(world.device.type, tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        place = stages.Place(*(mesh.get_group(name) for name in sizes))
        run.facts["mesh"] = {name: [mesh.get_local_rank(name), size] for name, size in sizes.items()}
        stages.check(place, world)
    with run.phase("model"):
        stage = stages.Stage(model.gpt(world.device), place, world.device)
    training.train(run, world, stage.step, stage.loss, mesh.get_local_rank("data"), sizes["data"])


def shape(world_size: int) -> Dict[str, int]:
    """Return the size of each dimension, the slowest first: two by two where the world allows it, the rest is data."""
    tensor = 2 if world_size % 2 == 0 else 1
    pipeline = 2 if world_size // tensor % 2 == 0 else 1
    return {"data": world_size // tensor // pipeline, "pipeline": pipeline, "tensor": tensor}


if __name__ == "__main__":
    phases.run("three_d", body)
