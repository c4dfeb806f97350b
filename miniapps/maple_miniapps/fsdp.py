#!/usr/bin/env python3
"""Fully sharded data parallel: every rank holds a part of each weight, and they are gathered block by block.

By `fully_shard` (FSDP2) where torch has it, else by FullyShardedDataParallel (FSDP1).
"""

import os
import sys
from typing import Any

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import phases, process_group


def body(run: phases.Run) -> None:
    world = process_group.join(run, "torch.distributed.fsdp")
    from maple_miniapps import collectives, model, training

    collectives.check(run, world)
    with run.phase("model"):
        net = sharded(run, model.gpt(world.device), world.device)
    training.train(run, world, training.plain_step(net), net, world.rank, world.size)


def sharded(run: phases.Run, net: Any, device: Any) -> Any:
    """Return the model in shards, and say which way it went."""
    import torch.distributed.fsdp as fsdp  # type: ignore[import-not-found, unused-ignore]

    if hasattr(fsdp, "fully_shard"):  # torch 2.6
        run.facts["strategy"] = "fsdp2"
        for part in (*net.blocks, net):
            fsdp.fully_shard(part)
        return net
    run.facts["strategy"] = "fsdp1"
    return fsdp.FullyShardedDataParallel(net, device_id=device, use_orig_params=True)


if __name__ == "__main__":
    phases.run("fsdp", body)
