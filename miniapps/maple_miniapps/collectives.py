# mypy: disable-error-code="import-not-found"
"""One all-reduce and one all-gather, compared with arithmetic and timed; and each rank's link to the next.

Bytes a second are what passes each link ("bus bandwidth" of nccl-tests, github.com/NVIDIA/nccl-tests, PERFORMANCE.md),
so that numbers of different world sizes can be compared.
"""

from __future__ import annotations

import socket
import time
from statistics import median
from typing import Any, Callable, Dict

import torch
import torch.distributed as dist

from maple_miniapps import devices, links
from maple_miniapps.phases import CheckFailed, Run
from maple_miniapps.process_group import World

CPU_SIZES = (1 << 16, 1 << 22)  # bytes that a rank holds
GPU_SIZES = (1 << 20, 1 << 26)
REPEATS = 5


def check(run: Run, world: World) -> None:
    """Run both at both sizes, then each rank's link to the next, and put times and rates into the facts.

    Raises `CheckFailed` where a result is wrong.
    """
    if not dist.is_initialized():
        return
    with run.phase("collectives"):
        run.facts["collectives"] = [
            measured(world, name, call, passes, nbytes)
            for nbytes in (CPU_SIZES if world.device.type == "cpu" else GPU_SIZES)
            for name, call, passes in BOTH
        ]
    measure(run, world)


def all_reduce(world: World, values: Any) -> float:
    """Sum rank + 1 over the ranks; return the seconds it took."""
    values.fill_(world.rank + 1)
    took = _seconds(world, lambda: dist.all_reduce(values))
    expected = world.size * (world.size + 1) // 2
    if not bool((values == expected).all()):
        raise CheckFailed("the all-reduce over %d ranks gave %s, not %d" % (world.size, values[0].item(), expected))
    return took


def all_gather(world: World, values: Any) -> float:
    """Gather blocks that hold rank + 1; return the seconds it took."""
    block = values[: len(values) // world.size].fill_(world.rank + 1)
    parts = [torch.empty_like(block) for _ in range(world.size)]
    took = _seconds(world, lambda: dist.all_gather(parts, block))
    came = [int(part[0].item()) for part in parts]
    if came != list(range(1, world.size + 1)) or not all(bool((part == part[0]).all()) for part in parts):
        raise CheckFailed("the all-gather over %d ranks gave the blocks of %s" % (world.size, [n - 1 for n in came]))
    return took


BOTH = (("all_reduce", all_reduce, 2), ("all_gather", all_gather, 1))  # and how often the data pass a link


def measured(world: World, name: str, call: Callable[[World, Any], float], passes: int, nbytes: int) -> Dict[str, Any]:
    """Return the time of the first call, the median of the others, and the bytes a second on a link."""
    values = torch.empty(max(world.size, nbytes // 4), dtype=torch.float32, device=world.device)
    first, *others = [call(world, values) for _ in range(1 + REPEATS)]
    usual = median(others)
    passed = passes * nbytes * (world.size - 1) / world.size
    return {
        "name": name, "bytes": nbytes, "first_seconds": round(first, 6), "seconds": round(usual, 6),
        "bytes_per_second": round(passed / usual) if passed else None,
    }  # fmt: skip


def _seconds(world: World, call: Callable[[], Any]) -> float:
    devices.synchronize(world.device)
    began = time.perf_counter()
    call()
    devices.synchronize(world.device)
    return time.perf_counter() - began


CPU_MOST = 1 << 22  # bytes
GPU_MOST = 1 << 26


def measure(run: Run, world: World) -> None:
    """Put the link to the next rank into the facts."""
    most = CPU_MOST if world.device.type == "cpu" else GPU_MOST
    with run.phase("links"):
        room = torch.zeros(most, dtype=torch.uint8, device=world.device)
        onward, back = (GroupWire(world, (world.rank + step) % world.size, room) for step in (1, -1))
        place = links.Place(world.rank, world.size, socket.gethostname())
        run.facts["links"] = links.measured(place, onward, back, most, run.timeout)


class GroupWire(links.Wire):
    """The way to one rank of the process group; *room* is where data come from and go to, on this rank's device."""

    def __init__(self, world: World, peer: int, room: Any) -> None:
        self._device, self._peer, self._room = world.device, peer, room

    def say(self, words: bytes) -> None:
        padded = list(words.ljust(links.WORDS, b"\0"))
        dist.send(torch.tensor(padded, dtype=torch.uint8, device=self._device), self._peer)

    def hear(self) -> bytes:
        words = torch.empty(links.WORDS, dtype=torch.uint8, device=self._device)
        dist.recv(words, self._peer)
        return bytes(words.tolist()).rstrip(b"\0")

    def push(self, nbytes: int) -> None:
        dist.send(self._room[:nbytes], self._peer)
        devices.synchronize(self._device)

    def pull(self, nbytes: int) -> None:
        dist.recv(self._room[:nbytes], self._peer)
        devices.synchronize(self._device)
