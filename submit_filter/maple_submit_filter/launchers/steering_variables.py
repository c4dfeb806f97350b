"""Variables by which a launcher is steered besides its words, and what nobody here reads of them.

A launcher takes its layout from its line, its job and its own environment. Where a variable of the last kind is set and
no reader of that launcher knows it, where its ranks go is not known, and nothing may be proven of it.
"""

from __future__ import annotations

import re
from typing import Dict, Pattern

from ..play.scene import StepShape
from ..play.shell_state import Shell

# Sources: srun(1) 22.05 to 25.11 "INPUT ENVIRONMENT VARIABLES"; TACC's user guides on ibrun; Open MPI 4.1 and PRRTE 3
# "MCA parameters"; Intel MPI 2021 "Hydra environment variables"; MPICH 4 mpiexec.
# PALS_NRANKS, PALS_PPN and PALS_HOSTFILE are read (mpi_layout, mpi_hosts).
STEERS: Dict[str, Pattern[bytes]] = {
    "srun": re.compile(rb"SLURM_(HOSTFILE|OVERCOMMIT|ARBITRARY\w*|NTASKS_PER_(CORE|SOCKET|GPU|TRES)|SPREAD_JOB)\Z"),
    "ibrun": re.compile(rb"(TACC_TASKS_PER_NODE|TACC_\w*(TASKS|HOST|NODE)\w*|IBRUN_\w+|MY_\w*(SLOTS|TASKS|HOST)\w*)\Z"),
    "mpiexec": re.compile(
        rb"((OMPI|PRTE|PMIX)_MCA_(rmaps|orte|prte|ras|plm)_\w+|I_MPI_(PERHOST|JOB_\w+|PROCESS_\w+|HYDRA_(HOST|RMK)\w*)"
        rb"|HYDRA_(HOST|RMK)\w*)\Z"
    ),
}


def steered(launcher: str, shell: Shell) -> bool:
    """Return whether a variable that steers the launcher is set for it."""
    pattern = STEERS[launcher]
    return any(one.exported and pattern.match(name) and one.texts() for name, one in shell.variables.items())


def anywhere(shape: StepShape) -> StepShape:
    """Return the shape of a step that may lay out its ranks in any way."""
    return StepShape(None, None, None, False, shape.refused)
