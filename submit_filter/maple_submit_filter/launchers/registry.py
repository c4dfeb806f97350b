"""The launchers by the names that they are called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict

from . import accelerate, deepspeed, horovodrun, ibrun, mpiexec, remote, srun, torchrun

if TYPE_CHECKING:
    from ..play.starter import Launch


def registry() -> Dict[bytes, Launch]:
    """Return what starts each launcher, by the name it is called with."""
    return {
        b"srun": srun.start,
        b"torchrun": torchrun.start,
        b"torchrun_jsc": torchrun.start,
        b"torch.distributed.launch": torchrun.start,
        b"accelerate": accelerate.start,
        b"accelerate-launch": accelerate.start_direct,
        b"deepspeed": deepspeed.start,
        b"mpirun": mpiexec.start,
        b"mpiexec": mpiexec.start,
        b"mpiexec.hydra": mpiexec.start,
        b"mpirun.mpich": mpiexec.start,
        b"mpiexec.mpich": mpiexec.start,
        b"mpirun.openmpi": mpiexec.start,
        b"mpiexec.openmpi": mpiexec.start,
        b"orterun": mpiexec.start,
        b"prterun": mpiexec.start,
        b"ibrun": ibrun.start,
        b"horovodrun": horovodrun.start,
        b"ssh": remote.ssh,
        b"rsh": remote.ssh,
        b"pbs_tmrsh": remote.tmrsh,
        b"pbsdsh": remote.pbsdsh,
    }
