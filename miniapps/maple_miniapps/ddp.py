#!/usr/bin/env python3
"""Distributed data parallel: every rank holds the whole model, and the gradients are averaged."""

import os
import sys

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import phases, process_group


def body(run: phases.Run) -> None:
    world = process_group.join(run)
    from torch.nn.parallel import DistributedDataParallel  # type: ignore[import-not-found, unused-ignore]

    from maple_miniapps import collectives, model, training

    collectives.check(run, world)
    with run.phase("model"):
        devices = None if world.device.type == "cpu" else [world.device.index]
        net = DistributedDataParallel(model.gpt(world.device), device_ids=devices)
    training.train(run, world, training.plain_step(net), net, world.rank, world.size)


if __name__ == "__main__":
    phases.run("ddp", body)
