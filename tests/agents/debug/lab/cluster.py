"""The cluster on which jobs fail: four nodes of two GPUs, memory watched, CPUs bound only where a step says so."""

from __future__ import annotations

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


def of_user(lab: Lab, home: str) -> dict[str, str]:
    """Return the environment of a user of the lab: the real launchers before all others, one thread each."""
    made = lab.environment(
        False, HOME=home, OMP_NUM_THREADS="1", DS_ACCELERATOR="cpu", XDG_STATE_HOME=f"{home}/state",
        XDG_CACHE_HOME=f"{home}/cache",
    )  # fmt: skip
    kept = [part for part in made["PATH"].split(":") if not part.startswith(str(ROOT))]
    return {**made, "PATH": os.pathsep.join([f"{VENV.resolve()}/bin", *kept])}
