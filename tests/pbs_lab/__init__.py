"""A PBS cluster on one machine, for tests: several hosts, the real Hydra or a look-alike of PALS."""

from tests.lab.processes import LabError
from tests.pbs_lab.lab import Ended, PbsLab, Submitted
from tests.pbs_lab.shape import GENERIC, PAIR, Host, PbsShape, Queue, Rule

__all__ = [
    "GENERIC",
    "PAIR",
    "Ended",
    "Host",
    "LabError",
    "PbsLab",
    "PbsShape",
    "Queue",
    "Rule",
    "Submitted",
]
