"""What arrived: the command's words, the few variables that matter, and the script."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Tuple

# Variables of the submit command's environment that travel in the request: those that sbatch, srun or a launcher
# reads, those that tell the site, and those that the script names (not the secret ones). A name that would travel and
# is absent is known to be unset; any other is unknown.
# The front has the same list: make docs writes front/watched.h from here.
WATCHED_PREFIXES = (
    b"SBATCH_", b"SLURM_", b"SRUN_", b"MAPLE", b"MASTER_", b"PET_", b"NCCL_", b"RCCL_", b"CCL_", b"GLOO_",
    b"ACCELERATE_", b"FSDP_", b"DS_", b"OMP_", b"PMI_", b"PMIX_", b"OMPI_", b"I_MPI_", b"HYDRA_", b"MPICH_", b"PALS_",
    b"IBRUN_", b"TACC_", b"TORCH_NCCL_", b"PBS_O_", b"PBS_ARRAY_", b"MPIEXEC_",
)  # fmt: skip
WATCHED_NAMES = (
    b"CUDA_VISIBLE_DEVICES", b"HIP_VISIBLE_DEVICES", b"ROCR_VISIBLE_DEVICES", b"ZE_AFFINITY_MASK",
    b"RANK", b"WORLD_SIZE", b"LOCAL_RANK", b"LOCAL_WORLD_SIZE", b"NODE_RANK", b"GROUP_RANK", b"NNODES",
    b"GPUS_PER_NODE", b"NGPUS", b"LAUNCHER", b"HOME", b"USER", b"LOGNAME", b"PWD", b"SHELL", b"XDG_CACHE_HOME",
    b"XDG_STATE_HOME", b"XDG_RUNTIME_DIR", b"NERSC_HOST", b"LMOD_SYSTEM_NAME", b"HOSTNAME", b"CLUSTER",
    b"VIRTUAL_ENV", b"ZE_FLAT_DEVICE_HIERARCHY", b"NPROC_PER_NODE", b"TMPDIR", b"CONDA_PREFIX",
    b"MPI_LOCALRANKID", b"MPI_LOCALNRANKS",
    b"PBS_CONF_FILE", b"PBS_SERVER", b"PBS_DEFAULT", b"PBS_BATCH_SERVICE_PORT", b"PBS_DPREFIX", b"PBS_SHELL",
    b"PBS_TMPDIR", b"PBS_EXEC", b"PBS_HOME", b"PBS_ENVIRONMENT", b"PBS_JOBID", b"PBS_JOBNAME", b"PBS_JOBDIR",
    b"PBS_NODEFILE", b"PBS_NODENUM", b"PBS_TASKNUM", b"PBS_QUEUE", b"PBS_ACCOUNT", b"PBS_NP", b"PBS_NUM_NODES",
    b"PBS_NUM_PPN", b"PBS_GPUFILE", b"NCPUS", b"SBATCH_WCKEY", b"SLURM_WCKEY", b"NCCL_IB_PKEY",
)  # fmt: skip
SECRET_WORDS = (
    b"KEY", b"TOKEN", b"SECRET", b"PASS", b"CRED", b"AUTH", b"COOKIE", b"JWT", b"BEARER", b"PRIVATE",
)  # fmt: skip
MOST_SEARCHED = 256 * 1024  # bytes of script; in a longer one no names are looked for


class Submission(NamedTuple):
    """One call of sbatch (or qsub), as it arrived."""

    scheduler: str  # "slurm" or "pbs"
    argv: Tuple[bytes, ...]
    script: Optional[bytes]  # None: there is none that may be read (a FIFO, a terminal, srun's own ...)
    came: str  # "file", "stdin", "wrap", "fd" or "none"
    path: bytes  # the file as named on the command line, b"" for stdin and --wrap
    cwd: bytes
    uid: int
    environment: Mapping[bytes, bytes]
    whole: bool = True  # False: words behind the script may follow, since nobody has submitted it yet


def is_watched(name: bytes) -> bool:
    """Return whether a variable of this name travels in the request: SLURM_JWT does not, whatever it begins with."""
    return name in WATCHED_NAMES or (name.startswith(WATCHED_PREFIXES) and not is_secret(name))


def is_secret(name: bytes) -> bool:
    """Return whether a variable's name says that its value is nobody's business."""
    upper = name.upper()
    return any(word in upper for word in SECRET_WORDS)


def travels(name: bytes, script: bytes) -> bool:
    """Return whether a variable is sent along with this script when it is set."""
    if is_watched(name):
        return True
    return 1 < len(name) < 128 and len(script) <= MOST_SEARCHED and name in script and not is_secret(name)
