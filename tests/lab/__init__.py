"""A real Slurm on one machine, for tests and the demo."""

from tests.lab.lab import Ended, Lab, Submitted
from tests.lab.processes import LabError
from tests.lab.shape import GPU2X2, GPU4, WHOLE_NODE3, NodeGroup, PartitionShape, Refusal, Route, Shape

__all__ = [
    "GPU2X2",
    "GPU4",
    "WHOLE_NODE3",
    "Ended",
    "Lab",
    "LabError",
    "NodeGroup",
    "PartitionShape",
    "Refusal",
    "Route",
    "Shape",
    "Submitted",
]
