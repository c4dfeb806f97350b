"""From the variables to a process group: who this rank is among those that really came."""

from __future__ import annotations

import datetime
import importlib
import os
import socket
from typing import Any, Callable, NamedTuple, Optional

from maple_miniapps.phases import Run
from maple_miniapps.ranks import Place

Start = Callable[[Any, str, datetime.timedelta], Any]


class World(NamedTuple):
    """The ranks that came together; *device* is this one's."""

    rank: int
    size: int
    device: Any


def join(run: Run, *frameworks: str, start: Optional[Start] = None, derive: bool = True) -> World:
    """Import torch and *frameworks*, choose the device, and let *start* meet the other ranks.

    *start* gets the device, the backend and the time limit, and may return another device that it chose; without one it
    is torch's init_process_group, by env://. With *derive*, another launcher's variables are put into torch's first.
    What is known is saved before the rendezvous. Raises `NoPlace`, and whatever torch raises.
    """
    with run.phase("import"):
        for name in ("torch", "torch.distributed", *frameworks):
            importlib.import_module(name)
        from maple_miniapps import devices

        run.facts["versions"].update(devices.versions())
    if derive and not run.env_only:  # else torch says itself what it misses
        export(run.place.settled())
    with run.phase("device"):
        device = devices.choose(int(os.environ.get("LOCAL_RANK") or 0))
        run.facts["device"] = devices.facts(device)
        run.facts["backend"] = devices.backend(device.type)
    with run.phase("rendezvous"):
        limit = datetime.timedelta(seconds=run.timeout)
        device = (start or init)(device, run.facts["backend"], limit) or device
        run.facts["device"] = devices.facts(device)
    return _came(run, device)


def init(device: Any, backend: str, limit: datetime.timedelta) -> None:
    """Let torch meet the other ranks; NCCL is told the device, so that it connects now and not at the first use."""
    import inspect

    import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]

    named = {"device_id": device} if device.type == "cuda" else {}
    if "device_id" not in inspect.signature(dist.init_process_group).parameters:
        named = {}
    dist.init_process_group(backend, timeout=limit, **named)


def export(place: Place) -> None:
    """Set the variables of env:// where another launcher's told who this is, as a line in a training program would."""
    address, port = place.master_addr, place.master_port
    if place.world_size == 1:
        address, port = address or "127.0.0.1", port or _free_port()
    variables = {
        "RANK": place.rank, "WORLD_SIZE": place.world_size, "LOCAL_RANK": place.local_rank, "MASTER_ADDR": address,
        "MASTER_PORT": port,
    }  # fmt: skip
    for name, value in variables.items():
        if value is not None:
            os.environ[name] = str(value)


def _came(run: Run, device: Any) -> World:
    import torch.distributed as dist

    met = dist.is_initialized()
    rank, size = (dist.get_rank(), dist.get_world_size()) if met else (0, 1)
    run.facts["group"] = {"rank": rank, "world_size": size} if met else None
    if met:
        run.facts["backend"] = dist.get_backend()
    return World(rank, size, device)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
