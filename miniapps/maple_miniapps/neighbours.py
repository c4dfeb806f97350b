# mypy: disable-error-code="import-not-found"
"""The links of a process group from each rank to the next, by its backend's own send and receive."""

from __future__ import annotations

import socket
from typing import Any

import torch
import torch.distributed as dist

from maple_miniapps import devices, links
from maple_miniapps.phases import Run
from maple_miniapps.process_group import World

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
