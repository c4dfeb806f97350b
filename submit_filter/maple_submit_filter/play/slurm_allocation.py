"""What Slurm gives for a request: nodes, tasks, GPUs, and the variables that a batch shell then sees.

Measured on Slurm 22.05.8: SLURM_NTASKS is there only when --ntasks or --ntasks-per-node was said; `-N 2 -n 8` on shared
nodes may be laid out 7,1 while an exclusive job gets 4,4; without --nodes the scheduler is free to choose how many.
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from ..site.facts import NodeKind, Site
from ..types.job import Settings
from ..types.launch_plan import Allocation, device_numbers
from ..types.submission import Submission
from ..types.text import Text, host, plain, token, unknown
from .slurm_variables import beside, devices

WHOLE_NODE = "whole-node"


def count(value: Optional[bytes]) -> Optional[int]:
    """Return a whole number, or None."""
    raw = (value or b"").strip()
    return int(raw) if raw.isdigit() and len(raw) < 9 else None


def gpus_in(value: Optional[bytes]) -> Optional[int]:
    """Return how many GPUs `4`, `a100:4`, `gpu:a100:4(S:0)` or `gpu:2,nvme:1` asks for; None where that is unclear."""
    if value is None:
        return None
    total = 0
    for item in value.split(b","):
        parts = item.split(b"(")[0].strip().split(b":")
        if parts[0] in (b"gres", b"gres/gpu"):
            parts = parts[1:]
        if parts[0] != b"gpu" and b":" in item and not parts[-1].isdigit():
            continue
        if parts == [b"gpu"]:
            total += 1
        elif parts[-1].isdigit() and (parts[0] == b"gpu" or len(parts) <= 2) and len(parts[-1]) < 7:
            total += int(parts[-1])
        elif parts[0] == b"gpu":
            total += 1
    return total


def gres_gpus(value: Optional[bytes]) -> Optional[int]:
    """Return how many GPUs a --gres value asks for, None when it names none."""
    items = [item for item in (value or b"").split(b",") if item.split(b":")[0] in (b"gpu", b"gres") or item == b"gpu"]
    return gpus_in(b",".join(items)) if items else None


_DERIVING = ("gpus-per-task", "ntasks-per-socket", "ntasks-per-core", "tres-per-task")


def nodes_of(settings: Settings) -> Optional[int]:
    """Return the number of nodes, or None when the scheduler may choose."""
    nodes = settings.value("nodes")
    tasks, per_node = count(settings.value("ntasks")), count(settings.value("ntasks-per-node"))
    if nodes is not None:
        low, _, high = nodes.partition(b"-")
        fixed = count(low) if not high or high == low else None
        return tasks if fixed and tasks and tasks < fixed else fixed  # sbatch lowers the nodes to the tasks
    if settings.value("nodelist") is not None or settings.value("spread-job") is not None:
        return None
    if tasks and per_node:
        return -(-tasks // per_node)
    if (tasks or 1) == 1 and settings.value("gpus") is None:
        return 1
    if tasks is None and gpus_in(settings.value("gpus")) == 1:
        return 1
    return None


def _tasks(settings: Settings, nodes: Optional[int]) -> Tuple[Optional[int], Optional[int], bool]:
    """Return tasks, tasks per node, and whether anybody said a number of tasks."""
    tasks, per_node = count(settings.value("ntasks")), count(settings.value("ntasks-per-node"))
    per_gpu = count(settings.value("ntasks-per-gpu"))
    if any(settings.value(name) is not None for name in _DERIVING) and "ntasks" not in settings and not per_node:
        return None, None, True  # Slurm works the number of tasks out of these
    if settings.value("ntasks") is None and settings.value("ntasks-per-node") is None and per_gpu is None:
        return nodes, 1, False
    if per_gpu is not None and tasks is None:
        return None, None, True
    if tasks is None:
        return (nodes * per_node if nodes and per_node else None), per_node, True
    if nodes and tasks == nodes:
        return tasks, 1, True
    if nodes == 1:
        return tasks, tasks, True
    if per_node and nodes and tasks == nodes * per_node:
        return tasks, per_node, True
    even = nodes and tasks % nodes == 0 and settings.value("exclusive") is not None
    return tasks, (tasks // nodes if even and nodes else None), True


def where(settings: Settings, site: Site) -> Tuple[NodeKind, ...]:
    """Return every kind of node the request may land on, () when nothing is known."""
    names = [(settings.value(name) or b"").decode("utf-8", "replace") for name in ("partition", "qos", "constraint")]
    return site.node_kinds(names[0], names[1], names[2])


def _all_of_a_node(kinds: Tuple[NodeKind, ...]) -> Optional[int]:
    counts = {kind.gpus for kind in kinds}
    return next(iter(counts)) if len(counts) == 1 else None


def _gpus(settings: Settings, site: Site, nodes: Optional[int], per_node: Optional[int]) -> Optional[int]:
    """Return how many GPUs the job has on a node. A job that has the node to itself may have more than it asked for."""
    asked = _asked_gpus(settings, site, nodes, per_node)
    if asked is not None and shared(settings, site) is False and asked != _all_of_a_node(where(settings, site)):
        return None
    return asked


def _asked_gpus(settings: Settings, site: Site, nodes: Optional[int], per_node: Optional[int]) -> Optional[int]:
    kinds = where(settings, site)
    whole = _all_of_a_node(kinds)
    if settings.value("gpus-per-node") is not None:
        return gpus_in(settings.value("gpus-per-node"))
    if gres_gpus(settings.value("gres")) is not None:
        return gres_gpus(settings.value("gres"))
    if settings.value("gpus-per-task") is not None:
        each = gpus_in(settings.value("gpus-per-task"))
        return each * per_node if each is not None and per_node else None
    if settings.value("gpus") is not None:
        total = gpus_in(settings.value("gpus"))
        if nodes == 1 or total is None:
            return total
        return whole if nodes and whole and total == nodes * whole else None
    if site.gpu_request.style == WHOLE_NODE or settings.value("exclusive") == b"":
        return whole
    return None


def _gpus_of_job(settings: Settings, site: Site) -> Optional[int]:
    """Return the GPUs of all nodes together, where `--gpus` alone says how many."""
    others = ("gpus-per-node", "gres", "gpus-per-task", "exclusive", "gpus-per-socket", "tres-per-task")
    if any(settings.value(name) is not None for name in others) or site.gpu_request.style == WHOLE_NODE:
        return None
    return gpus_in(settings.value("gpus"))


def shared(settings: Settings, site: Site) -> Optional[bool]:
    """Return whether other jobs may run on the same nodes, None when that is unknown."""
    if settings.value("exclusive") is not None:
        return False
    name = (settings.value("partition") or b"").decode("utf-8", "replace") or site.default_partition
    shares = [partition.shared for partition in site.partitions if partition.name == name]
    return shares[0] if shares else None


def allocate(settings: Settings, site: Site) -> Allocation:
    """Return what the scheduler would give for these settings."""
    nodes = nodes_of(settings)
    tasks, per_node, _ = _tasks(settings, nodes)
    gpus, alone = _gpus_of_job(settings, site), shared(settings, site) is False
    return Allocation(
        nodes,
        tasks,
        per_node,
        count(settings.value("cpus-per-task")),
        _gpus(settings, site, nodes, per_node),
        gpus_in(settings.value("gpus-per-task")),
        where(settings, site),
        (settings.value("partition") or b"").decode("utf-8", "replace") or site.default_partition,
        shared(settings, site),
        gpus=None if alone else gpus,  # a whole node may bring more
        gpus_asked=gpus,
    )


def batch_environment(submission: Submission, settings: Settings, given: Allocation) -> Dict[bytes, Optional[Text]]:
    """Return the variables Slurm sets in the batch shell; None means it surely does not set that one."""
    _, _, tasks_said = _tasks(settings, given.nodes)
    nodes = _number(given.nodes, b"SLURM_NNODES")
    tasks = _number(given.tasks, b"SLURM_NTASKS") if tasks_said else None
    first = plain(b"0")
    job = plain(token(b"job"))
    nodelist = plain(token(b"nodelist"))
    out: Dict[bytes, Optional[Text]] = {
        b"SLURM_JOB_ID": job, b"SLURM_JOBID": job, b"SLURM_JOB_NODELIST": nodelist, b"SLURM_NODELIST": nodelist,
        b"SLURM_NNODES": nodes, b"SLURM_JOB_NUM_NODES": nodes, b"SLURM_NTASKS": tasks, b"SLURM_NPROCS": tasks,
        b"SLURM_NODEID": first, b"SLURM_PROCID": first, b"SLURM_LOCALID": first, b"SLURMD_NODENAME": plain(host(0)),
        b"SLURM_SUBMIT_DIR": plain(submission.cwd) if submission.cwd else unknown(b"submitdir"),
        b"SLURM_SUBMIT_HOST": unknown(b"submithost"),
        b"SLURM_TASKS_PER_NODE": _layout(given), b"SLURM_STEP_NUM_TASKS": None, b"SLURM_STEP_NUM_NODES": None,
        b"SLURM_EXPORT_ENV": _option(settings, "export"),
        b"SLURM_JOB_CPUS_PER_NODE": unknown(b"cpuspernode"), b"SLURM_CPUS_ON_NODE": unknown(b"cpusonnode"),
        b"SLURM_JOB_PARTITION": plain(given.partition.encode()) if given.partition else unknown(b"partition"),
        b"SLURM_JOB_NAME": _option(settings, "job-name") or unknown(b"jobname"),
        b"SLURM_CLUSTER_NAME": unknown(b"cluster"), b"SLURM_NTASKS_PER_NODE": _option(settings, "ntasks-per-node"),
        b"SLURM_CPUS_PER_TASK": _option(settings, "cpus-per-task"),
        b"SLURM_DISTRIBUTION": _option(settings, "distribution"),
        b"SLURM_GPUS_PER_NODE": _option(settings, "gpus-per-node"), b"SLURM_GPUS": _option(settings, "gpus"),
        b"SLURM_GPUS_PER_TASK": _option(settings, "gpus-per-task"), b"SLURM_GPUS_ON_NODE": _gpus_on_node(given),
        b"SLURM_ARRAY_TASK_ID": unknown(b"arraytask") if settings.value("array") else None,
        b"SLURM_ARRAY_JOB_ID": unknown(b"arrayjob") if settings.value("array") else None,
        b"CUDA_VISIBLE_DEVICES": devices(device_numbers(given.gpus_per_node) if given.gpus_per_node else None),
        b"HOSTNAME": plain(host(0)),
    }  # fmt: skip
    rocm = b"ROCR_VISIBLE_DEVICES"
    if rocm in (submission.script or b"") and {kind.gpu_vendor for kind in given.node_kinds} <= {"amd", ""}:
        out[rocm] = unknown(b"cvd")  # what the job may use, by numbers that nobody knows
    return {**beside(settings, given), **out}


def _number(value: Optional[int], name: bytes) -> Text:
    return plain(b"%d" % value) if value is not None else unknown(name)


def _option(settings: Settings, name: str) -> Optional[Text]:
    value = settings.value(name)
    return plain(value) if value is not None else None


def _layout(given: Allocation) -> Text:
    if given.nodes is None or given.tasks_per_node is None:
        return unknown(b"layout")
    return plain(b"%d" % given.tasks_per_node + (b"(x%d)" % given.nodes if given.nodes > 1 else b""))


def _gpus_on_node(given: Allocation) -> Optional[Text]:
    return plain(b"%d" % given.gpus_per_node) if given.gpus_per_node else unknown(b"gpusonnode")
