"""What the process may use of the machine it is on: CPUs, NUMA nodes, memory, and what it is shown of the devices.

Read from /proc and /sys (Linux), which need no right; what cannot be read is None.
"""

import os
import re
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set

SHOWN = (
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR",
)  # fmt: skip
NODES = "/sys/devices/system/node"


def facts(env: Mapping[str, str]) -> Dict[str, Any]:
    """Return the facts of this process's surroundings."""
    cpus = sorted(os.sched_getaffinity(0))
    return {
        "cpus": ranges(cpus),
        "cpu_count": len(cpus),
        "cores": _cores(cpus),
        "numa_nodes": _numa_nodes(set(cpus)),
        "memory_limit": memory_limit(_text("/proc/self/cgroup")),
        "visible_devices": {name: env[name][:200] for name in SHOWN if name in env},
        "nvidia_on_node": len(_names("/proc/driver/nvidia/gpus")),
    }


def ranges(numbers: Iterable[int]) -> str:
    """Return sorted numbers as the kernel writes them: `0-3,8`."""
    spans: List[List[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in spans)


def from_ranges(text: str) -> Set[int]:
    """Return the numbers of a list such as `0-3,8`; what is no number in it is left out."""
    numbers: Set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def numa_of_pci(bus: str) -> Optional[int]:
    """Return the NUMA node of a PCI device such as `0000:3b:00.0`; None where the machine does not say (-1)."""
    text = _text("/sys/bus/pci/devices/%s/numa_node" % bus.lower()).strip()
    return int(text) if text.isdigit() else None


def pci_of_nvidia(uuid: str) -> Optional[str]:
    """Return the PCI address of an NVIDIA GPU by its UUID, as its driver lists it."""
    for name in _names("/proc/driver/nvidia/gpus"):
        if uuid and uuid in _text("/proc/driver/nvidia/gpus/%s/information" % name):
            return name
    return None


def memory_limit(cgroups: str, root: str = "/sys/fs/cgroup") -> Optional[int]:
    """Return the bytes that the control groups above this process allow, the smallest; None is no limit.

    *cgroups* is /proc/self/cgroup: version 2 has a line `0::/path`, version 1 `4:memory:/path`.
    """
    limits: List[int] = []
    for line in cgroups.splitlines():
        number, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if number == "0" and not controllers:
            limits += _limits(root, path, "memory.max")
        elif "memory" in controllers.split(","):
            limits += _limits(root + "/memory", path, "memory.limit_in_bytes")
    return min(limits) if limits else None


def versions() -> Dict[str, Optional[str]]:
    """Return the version of Python and of each framework that this interpreter could import, without importing it."""
    import importlib.util

    known: Dict[str, Optional[str]] = {"python": "%d.%d.%d" % sys.version_info[:3]}
    for name in ("torch", "deepspeed", "accelerate"):
        known[name] = _version(name) if importlib.util.find_spec(name) else None
    return known


def _version(name: str) -> str:
    try:
        from importlib.metadata import version  # Python 3.8
    except ImportError:
        return "present"
    try:
        return version(name)
    except Exception:
        return "present"  # a folder of that name on PYTHONPATH


def _limits(root: str, path: str, name: str) -> Iterable[int]:
    path = path.rstrip("/")
    while True:
        text = _text(root + path + "/" + name).strip()
        if text.isdigit() and int(text) < 1 << 60:  # version 1 writes a huge number where there is no limit
            yield int(text)
        if not path:
            return
        path = path.rpartition("/")[0]


def _cores(cpus: Iterable[int]) -> Optional[int]:
    """Two hardware threads of one core have the same list of siblings."""
    where = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"
    siblings = {_text(where % cpu) for cpu in cpus}
    return len(siblings) if "" not in siblings else None


def _numa_nodes(cpus: Set[int]) -> Optional[List[int]]:
    nodes = [name for name in _names(NODES) if re.match(r"node\d+$", name)]
    mine = [int(name[4:]) for name in nodes if cpus & from_ranges(_text("%s/%s/cpulist" % (NODES, name)))]
    return sorted(mine) or None


def _names(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read(1 << 16)
    except (OSError, UnicodeDecodeError):
        return ""
