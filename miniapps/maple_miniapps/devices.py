# mypy: disable-error-code="import-not-found"
"""The device a rank would train on, which one it really is, and the backend that the hardware wants.

cuda (NVIDIA and ROCm) takes nccl, which is RCCL on ROCm; xpu takes xccl, or ccl with an older torch; cpu takes gloo.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, Optional

import torch
import torch.distributed as dist

from maple_miniapps import machine


def kind() -> str:
    """Return `cuda`, `xpu` or `cpu`; MAPLE_MINIAPP_DEVICE names one against what is found."""
    asked = os.environ.get("MAPLE_MINIAPP_DEVICE", "")
    if asked:
        return asked
    if torch.cuda.is_available():
        return "cuda"
    return "xpu" if hasattr(torch, "xpu") and torch.xpu.is_available() else "cpu"


def choose(local_rank: int) -> Any:
    """Return the torch device of a rank and make it the current one.

    A rank beyond the last device wraps around, as Accelerate does: the facts then show two ranks on one device.
    """
    name = kind()
    if name == "cpu":
        return torch.device("cpu")
    module = getattr(torch, name)
    index = local_rank % max(1, module.device_count())
    module.set_device(index)
    return torch.device(name, index)


def backend(name: str) -> str:
    """Return the backend of torch.distributed for a kind of device."""
    if name == "xpu" and not getattr(dist, "is_xccl_available", lambda: False)():
        importlib.import_module("oneccl_bindings_for_pytorch")  # it registers ccl
        return "ccl"
    return {"cuda": "nccl", "xpu": "xccl"}.get(name, "gloo")


def facts(device: Any) -> Dict[str, Any]:
    """Return which device it is: two ranks with one `uuid` share it."""
    if device.type == "cpu":
        return {"kind": "cpu", "index": None, "count": 0, "name": None, "uuid": None, "pci": None, "numa_node": None}
    module = getattr(torch, device.type)
    index = module.current_device() if device.index is None else device.index
    properties = module.get_device_properties(index)
    uuid = str(properties.uuid) if hasattr(properties, "uuid") else None
    pci = _pci(properties) or machine.pci_of_nvidia(uuid or "")
    return {
        "kind": device.type, "index": index, "count": module.device_count(), "name": properties.name,
        "uuid": uuid, "pci": pci, "numa_node": machine.numa_of_pci(pci) if pci else None,
    }  # fmt: skip


def versions() -> Dict[str, Optional[str]]:
    """Return the versions of torch and of what lies below it."""
    cuda = torch.version.cuda
    has_nccl = torch.cuda.is_available() and dist.is_nccl_available()
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if has_nccl else None
    return {"torch": torch.__version__, "cuda": cuda, "hip": getattr(torch.version, "hip", None), "nccl": nccl}


def synchronize(device: Any) -> None:
    """Wait until the device has done all it was told."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize(device)


def _pci(properties: Any) -> Optional[str]:
    """Newer versions of torch say it."""
    names = ["pci_domain_id", "pci_bus_id", "pci_device_id"]
    if not all(hasattr(properties, name) for name in names):
        return None
    return "%04x:%02x:%02x.0" % tuple(int(getattr(properties, name)) for name in names)
