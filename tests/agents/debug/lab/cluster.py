"""The cluster on which jobs fail: four nodes of two GPUs, memory watched, CPUs bound only where a step says so."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from tests.lab import Lab
from tests.lab.shape import DAY, NodeGroup, PartitionShape, Refusal, Shape
from tests.miniapps.started import ROOT, VENV

SHAPE = Shape(
    "lab",
    (NodeGroup("gpu-node", 4, gpus=2, gpu_type="a100", cores=8, memory_gib=4),),
    (
        PartitionShape("gpu", ("gpu-node",), default=True, exclusive=True, max_time=2 * DAY),
        PartitionShape("charged", ("gpu-node",), exclusive=True),
    ),
    (Refusal(("account",), "missing", "Job request does not include an account", "charged"),),
)
# What a lab leaves out because most tests do without: a poll of each job's memory, and the binding of tasks to CPUs.
CHANGED = {
    "JobAcctGatherType=jobacct_gather/none": "JobAcctGatherType=jobacct_gather/linux\n"
    "JobAcctGatherParams=OverMemoryKill\nJobAcctGatherFrequency=1",
    "TaskPlugin=task/none": "TaskPlugin=task/affinity\nTaskPluginParam=none",
    "SelectTypeParameters=CR_Core\n": "SelectTypeParameters=CR_Core_Memory\nDefMemPerNode=3000\n",
}


class FailingLab(Lab):
    """A lab whose Slurm also ends what takes too much memory."""

    def __init__(self) -> None:
        super().__init__(SHAPE)

    def _write(self, programs: Mapping[str, str]) -> None:
        super()._write(programs)
        path = f"{self.directory}/etc/slurm.conf"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in CHANGED.items():
            assert old in text, old
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def node_pid(self, number: int) -> int:
        """Return the process id of a node's slurmd, nodes counted from 0."""
        return self._children[len(self._children) - len(self.shape.hosts()) + number].pid


class KernelLab(FailingLab):
    """The same, where the kernel ends what takes too much memory: each step in a cgroup of its own.

    Two of them at once would share the cgroups of nodes of one name.
    """

    MEMORY = "/sys/fs/cgroup/memory"  # a cgroup file system of the first version, that root may write

    @classmethod
    def can_be(cls) -> bool:
        """Return whether this machine has such cgroups."""
        return os.path.isfile(cls.MEMORY + "/cgroup.procs") and os.access(cls.MEMORY, os.W_OK)

    def _write(self, programs: Mapping[str, str]) -> None:
        super()._write(programs)
        path = f"{self.directory}/etc/slurm.conf"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in (
            ("TaskPlugin=task/affinity\nTaskPluginParam=none", "TaskPlugin=task/cgroup"),
            ("JobAcctGatherParams=OverMemoryKill\n", ""),
        ):
            assert old in text, old
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with open(f"{self.directory}/etc/cgroup.conf", "w", encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\n")

    def stop(self) -> None:
        """End the lab, and take away the cgroups that its nodes made."""
        super().stop()
        for host, _ in self.shape.hosts():
            for folder, _, _ in os.walk(f"{self.MEMORY}/slurm_{host}", topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)


def of_user(lab: Lab, home: str) -> dict[str, str]:
    """Return the environment of a user of the lab: the real launchers before all others, one thread each."""
    made = lab.environment(
        False, HOME=home, OMP_NUM_THREADS="1", DS_ACCELERATOR="cpu", XDG_STATE_HOME=f"{home}/state",
        XDG_CACHE_HOME=f"{home}/cache",
    )  # fmt: skip
    kept = [part for part in made["PATH"].split(":") if not part.startswith(str(ROOT))]
    return {**made, "PATH": os.pathsep.join([f"{VENV.resolve()}/bin", *kept])}
