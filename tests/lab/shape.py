"""What a lab looks like: node groups, partitions, and what the cluster refuses.

A shape is a value. `sites.shape_of` makes one from the facts of a site; those at the end are for tests without one.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

DAY = 86400


class NodeGroup(NamedTuple):
    """*count* equal nodes called `<name>-1`, `<name>-2` and so on. Memory in GiB.

    *gres* False: the GPUs are there but Slurm does not know of them, as on sites that give whole nodes only.
    """

    name: str
    count: int  # type: ignore[assignment]
    gpus: int = 0
    gpu_type: str = ""
    vendor: str = "nvidia"
    cores: int = 64
    threads_per_core: int = 1
    memory_gib: int = 256
    features: tuple[str, ...] = ()
    gres: bool = True

    def hosts(self) -> list[str]:
        """Return the host names, in order."""
        return [f"{self.name}-{number}" for number in range(1, self.count + 1)]


class PartitionShape(NamedTuple):
    """A partition over some groups. Times in seconds; None is no limit."""

    name: str
    groups: tuple[str, ...]
    max_time: Optional[int] = DAY
    max_nodes: Optional[int] = None
    default: bool = False
    exclusive: bool = False
    min_nodes: int = 1
    default_time: int = 600


class Route(NamedTuple):
    """Where a job goes that names no partition but a QOS and a constraint: first match wins, "" matches anything."""

    partition: str
    qos: str = ""
    constraint: str = ""


class Refusal(NamedTuple):
    """A request the cluster turns down with *says*, in its own words.

    *when* is "missing" (none of *options* was given) or "present" (one was). *applies* is "always", "gpu" (jobs that
    ask for GPUs) or the name of a partition.
    """

    options: tuple[str, ...]
    when: str
    says: str
    applies: str = "always"


class Shape(NamedTuple):
    """A whole cluster."""

    cluster_name: str
    groups: tuple[NodeGroup, ...]
    partitions: tuple[PartitionShape, ...]
    refusals: tuple[Refusal, ...] = ()
    routes: tuple[Route, ...] = ()
    default_qos: str = ""
    launchers_absent: tuple[str, ...] = ()
    mpi: str = "openmpi"  # what mpirun and mpiexec are here: "openmpi" or "hydra"

    def hosts(self) -> list[tuple[str, NodeGroup]]:
        """Return every node with its group, in order."""
        return [(host, group) for group in self.groups for host in group.hosts()]


GPU4 = Shape(
    "lab",
    (NodeGroup("gpu-node", 4, gpus=4, gpu_type="a100"),),
    (
        PartitionShape("gpu", ("gpu-node",), default=True),
        PartitionShape("debug", ("gpu-node",), max_time=1800, max_nodes=2),
    ),
)
"""Four nodes of four GPUs, nothing demanded, nothing refused."""

GPU2X2 = Shape(
    "lab",
    (NodeGroup("gpu-node", 2, gpus=2, gpu_type="a100", cores=32),),
    (PartitionShape("gpu", ("gpu-node",), default=True),),
)
"""The smallest lab in which a launch line can go wrong: two nodes of two GPUs."""

WHOLE_NODE3 = Shape(
    "whole",
    (NodeGroup("c301", 2, gpus=3, cores=128, gres=False), NodeGroup("c302", 1, cores=128)),
    (
        PartitionShape("gpu-a100", ("c301",), max_time=2 * DAY, exclusive=True),
        PartitionShape("normal", ("c302",), max_time=2 * DAY, exclusive=True, default=True),
    ),
    (
        Refusal(("gres", "gpus", "gpus-per-node", "gpus-per-task"), "present", "GRES is not supported on this system"),
        Refusal(("nodes",), "missing", "all jobs must say the number of nodes with -N"),
    ),
    mpi="hydra",
)
"""Whole nodes of three GPUs that Slurm knows nothing of."""
