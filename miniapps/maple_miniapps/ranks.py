"""Who this process is, and which variable said so.

torch itself reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT and nothing else (its env:// rules). The others are
what srun, Hydra, PALS, Intel MPI, Open MPI and MVAPICH tell their processes; there are programs that read them
(Lightning, mpi4py, a line at the top of train.py), so they count where torch's own are not set. What counted is named.
Sources: docs.pytorch.org/docs/stable/distributed.html, slurm.schedmd.com/srun.html, docs.open-mpi.org (environment
variables), Cray's pals.h; Hydra's were seen in what its processes got.
"""

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

RANK = (
    "RANK", "PALS_RANKID", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
)  # fmt: skip
WORLD_SIZE = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")
LOCAL_RANK = (
    "LOCAL_RANK", "PALS_LOCAL_RANKID", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
)  # fmt: skip
LOCAL_WORLD_SIZE = (
    "LOCAL_WORLD_SIZE", "PALS_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MV2_COMM_WORLD_LOCAL_SIZE",
)  # fmt: skip
NODE_RANK = ("GROUP_RANK", "NODE_RANK", "PALS_NODEID", "SLURM_NODEID")
MASTER_ADDR = ("MASTER_ADDR",)
MASTER_PORT = ("MASTER_PORT",)
HOSTS = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
JOB_ID = ("SLURM_JOB_ID", "PBS_JOBID")
OTHERS = (
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT", "SLURM_STEP_ID",
    "SLURMD_NODENAME", "SLURM_CPU_BIND", "OMP_NUM_THREADS", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "PBS_NODEFILE",
)  # fmt: skip
GIVEN = (
    RANK + WORLD_SIZE + LOCAL_RANK + LOCAL_WORLD_SIZE + NODE_RANK + MASTER_ADDR + MASTER_PORT + HOSTS + JOB_ID + OTHERS
)


class NoPlace(Exception):
    """The variables do not say who this process is; the message says which, and what would help."""


class Place(NamedTuple):
    """A process among the others. None is unknown; *origin* names the variable of each value, or None."""

    rank: Optional[int]
    world_size: Optional[int]
    local_rank: Optional[int]
    local_world_size: Optional[int]
    node_rank: Optional[int]
    master_addr: Optional[str]
    master_port: Optional[int]
    origin: Dict[str, Optional[str]]
    problems: Tuple[str, ...]

    def settled(self, alone: bool = True) -> "Place":
        """Return the place with nothing unknown that a rendezvous needs.

        A process that nobody numbered is alone in its world, if it may be *alone*. Raises `NoPlace` where a program
        would not know who it is.
        """
        if self.problems:
            raise NoPlace(self.problems[0])
        if alone and self.rank is None and self.world_size is None:
            return self._replace(rank=0, world_size=1, local_rank=self.local_rank or 0)
        if self.rank is None:
            raise NoPlace("RANK is not set: start the ranks with srun, torchrun or mpiexec, and export it")
        if self.world_size is None:
            raise NoPlace("the rank is known, but WORLD_SIZE is not set: export it beside RANK")
        if not 0 <= self.rank < self.world_size:
            raise NoPlace("rank %d cannot be in a world of %d" % (self.rank, self.world_size))
        if self.local_rank is None:
            return self._replace(local_rank=0)
        return self


def place(env: Mapping[str, str], env_only: bool = False, nodefile: str = "") -> Place:
    """Return what *env* says; with *env_only* only by the names that torch and torchrun use.

    *nodefile* is the text of the file that PBS_NODEFILE names. Never raises: what is no number stands in `problems`.
    """
    origin: Dict[str, Optional[str]] = {}
    problems: List[str] = []

    def number(name: str, sources: Tuple[str, ...]) -> Optional[int]:
        origin[name] = source = _source(env, sources[:1] if env_only else sources)
        if source is None:
            return None
        try:
            return int(env[source])
        except ValueError:
            problems.append("%s is %s, which is no number" % (source, repr(env[source])[:60]))
            return None

    rank = number("rank", RANK)
    world_size = number("world_size", WORLD_SIZE)
    local_rank = number("local_rank", LOCAL_RANK)
    local_world_size = number("local_world_size", LOCAL_WORLD_SIZE)
    node_rank = number("node_rank", NODE_RANK)
    port = number("master_port", MASTER_PORT)
    origin["master_addr"] = _source(env, MASTER_ADDR)
    address = env.get("MASTER_ADDR") or None
    if not env_only and rank is not None:
        if address is None:
            address, origin["master_addr"] = _first_host(env, nodefile)
        if port is None and origin["master_port"] is None:
            port, origin["master_port"] = _port_of_job(env)
        if local_world_size is None and origin["local_world_size"] is None and _counts(env, "SLURM_NODEID"):
            local_world_size, origin["local_world_size"] = _tasks_here(env)
    return Place(
        rank, world_size, local_rank, local_world_size, node_rank, address, port, origin, tuple(problems)
    )  # fmt: skip


def given(env: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables about ranks that are set, as they are, cut at 80 characters."""
    return {name: env[name][:80] for name in GIVEN if name in env}


def _source(env: Mapping[str, str], names: Tuple[str, ...]) -> Optional[str]:
    return next((name for name in names if env.get(name, "") != "" and _counts(env, name)), None)


def _counts(env: Mapping[str, str], name: str) -> bool:
    """The batch shell has SLURM_PROCID=0 and the job's SLURM_NTASKS as well, and is no task: it has no step."""
    return not name.startswith("SLURM_") or bool(env.get("SLURM_STEP_ID") or env.get("SLURM_STEPID"))


def _first_host(env: Mapping[str, str], nodefile: str) -> Tuple[Optional[str], Optional[str]]:
    for name in HOSTS:
        if env.get(name) and _counts(env, name):
            return first_of_hostlist(env[name]), name
    if nodefile.split():
        return nodefile.split()[0], "PBS_NODEFILE"
    return None, None


def first_of_hostlist(text: str) -> str:
    """Return the first host of a Slurm host list: `gpu-[007-009,12],login` gives `gpu-007`."""
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", re.split(r",(?![^\[]*\])", text)[0])


def _port_of_job(env: Mapping[str, str]) -> Tuple[Optional[int], Optional[str]]:
    """Every rank of a job comes to the same port, below those that the kernel gives away (32768 and up)."""
    for name in JOB_ID:
        match = re.match(r"\d{1,18}", env.get(name, ""))
        if match:
            return 20000 + int(match.group()) % 10000, name
    return None, None


def _tasks_here(env: Mapping[str, str]) -> Tuple[Optional[int], Optional[str]]:
    """SLURM_STEP_TASKS_PER_NODE is like `4(x2),3`."""
    counts: List[int] = []
    for text in env.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        match = re.match(r"(\d{1,9})(?:\(x(\d{1,9})\))?$", text)
        if match is None:
            return None, None
        counts += [int(match.group(1))] * min(int(match.group(2) or 1), 100000)
    node = env.get("SLURM_NODEID", "")
    if node.isdigit() and int(node) < len(counts):
        return counts[int(node)], "SLURM_STEP_TASKS_PER_NODE"
    return None, None
