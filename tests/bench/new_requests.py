"""Requests to time `maple new` with: every site and paradigm, said in several ways, each complete for its site."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

# What each site wants to be told, in words; nodes that its queue takes.
PLACES = {
    "ncsa-delta": ("partition gpuA100x4", 2),
    "ncsa-deltaai": ("partition ghx4", 2),
    "nersc-perlmutter": ("qos regular", 4),
    "alcf-polaris": ("queue debug-scaling, filesystems home and eagle", 2),
    "alcf-aurora": ("queue debug-scaling, filesystems home and flare", 2),
    "tacc-lonestar6": ("partition gpu-a100", 2),
    "tacc-vista": ("partition gh", 4),
    "tacc-stampede3": ("partition h100", 2),
    "purdue-anvil": ("partition gpu", 2),
    "psc-bridges2": ("partition GPU, on v100-32 GPUs", 2),
    "olcf-frontier": ("partition batch", 2),
    "sdsc-expanse": ("partition gpu", 2),
}
PARADIGMS = {
    "ddp": "DDP",
    "fsdp": "FSDP",
    "zero3": "ZeRO-3",
    "accelerate-ddp": "Accelerate with DDP",
    "3d": "3D parallelism",
}
FORMS = (
    "run train.py --lr {lr} with {paradigm} on {nodes} nodes for {minutes} minutes, account abc123, {place}",
    "{nodes} nodes, {paradigm}, account abc123, {place}, {minutes} minutes: python train.py --lr {lr}",
    "Hello! I would like to start train.py --lr {lr} on {nodes} nodes. It uses {paradigm}. Please charge account"
    " abc123, take {place} and give it {minutes} minutes.",
)


class Request(NamedTuple):
    """A request, and the site that it is for."""

    site: str
    text: str


def requests(seed: int = 6) -> Iterator[Request]:
    """Yield one request for each site and paradigm, the phrasing drawn by *seed*."""
    chance = random.Random(seed)
    for site, (place, nodes) in PLACES.items():
        for paradigm in PARADIGMS.values():
            words = {"lr": f"{chance.randint(1, 9)}e-4", "minutes": chance.choice((20, 30, 45)), "nodes": nodes}
            yield Request(site, chance.choice(FORMS).format(paradigm=paradigm, place=place, **words))
