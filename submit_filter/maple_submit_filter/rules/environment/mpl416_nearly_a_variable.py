"""Names that are nearly those of variables which the scheduler or a launcher sets."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, in_comment
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..spelling import alike

CODE = "MPL416"
# What they set, by their manuals: sbatch(1) and srun(1) of 20.11 to 25.11, qsub(1B), Open MPI 4.1 and 5, MPICH, PALS.
_SET: Dict[bytes, List[bytes]] = {
    b"SLURM_": b"""
ACCOUNT ARRAY_JOB_ID ARRAY_TASK_COUNT ARRAY_TASK_ID ARRAY_TASK_MAX ARRAY_TASK_MIN ARRAY_TASK_STEP CLUSTER_NAME CONF
CPUS_ON_NODE CPUS_PER_GPU CPUS_PER_TASK CPU_BIND CPU_FREQ_REQ CONTAINER CONTAINER_ID DEBUG DISTRIBUTION DIST_PLANESIZE
EXPORT_ENV GPUS GPUS_ON_NODE GPUS_PER_NODE GPUS_PER_SOCKET GPUS_PER_TASK GPU_BIND GPU_FREQ GTIDS GET_USER_ENV HET_SIZE
HINT JOBID JOB_ACCOUNT JOB_CPUS_PER_NODE JOB_DEPENDENCY JOB_END_TIME JOB_GID JOB_GPUS JOB_GROUP JOB_ID JOB_LICENSES
JOB_NAME JOB_NODELIST JOB_NUM_NODES JOB_PARTITION JOB_QOS JOB_RESERVATION JOB_START_TIME JOB_UID JOB_USER
LAUNCH_NODE_IPADDR LOCALID MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE MPI_TYPE NETWORK NNODES NODEID NODELIST NODE_ALIASES
NPROCS NTASKS NTASKS_PER_CORE NTASKS_PER_GPU NTASKS_PER_NODE NTASKS_PER_SOCKET OOM_KILL_STEP OVERCOMMIT PRIO_PROCESS
PROCID PROFILE RESTART_COUNT SCRIPT_CONTEXT SHARDS_ON_NODE STEPID STEP_GPUS STEP_ID STEP_LAUNCHER_PORT STEP_NODELIST
STEP_NUM_NODES STEP_NUM_TASKS STEP_TASKS_PER_NODE SUBMIT_DIR SUBMIT_HOST SRUN_COMM_HOST TASKS_PER_NODE TASK_PID
THREADS_PER_CORE TMPDIR TOPOLOGY_ADDR TOPOLOGY_ADDR_PATTERN UMASK WORKING_CLUSTER
""".split(),
    b"PBS_": b"""
ACCOUNT ARRAYID ARRAY_ID ARRAY_INDEX CONF_FILE ENVIRONMENT EXEC HOSTFILE JOBCOOKIE JOBDIR JOBID JOBNAME MOMPORT NODEFILE
NODENUM NP NUM_NODES NUM_PPN O_HOME O_HOST O_LANG O_LOGNAME O_MAIL O_PATH O_QUEUE O_SHELL O_SYSTEM O_TZ O_WORKDIR QUEUE
SERVER TASKNUM TMPDIR
""".split(),
    b"OMPI_COMM_WORLD_": b"LOCAL_RANK LOCAL_SIZE NODE_RANK RANK SIZE".split(),
    b"PMI_": b"APPNUM FD ID LOCAL_RANK LOCAL_SIZE NODEID NUM_HOSTS PORT RANK SIZE UNIVERSE_SIZE".split(),
    b"PALS_": b"APID APINFO DEPTH LOCAL_RANKID LOCAL_SIZE NODEID PPN RANKID SIZE SPOOL_DIR".split(),
}
_MEANT = {  # what people write for it, though it is spelled otherwise altogether
    b"SLURM_NUM_TASKS": b"SLURM_NTASKS", b"SLURM_NUM_NODES": b"SLURM_NNODES", b"SLURM_RANK": b"SLURM_PROCID",
    b"SLURM_LOCAL_RANK": b"SLURM_LOCALID", b"SLURM_NODE_RANK": b"SLURM_NODEID", b"SLURM_WORLD_SIZE": b"SLURM_NTASKS",
    b"SLURM_NUM_GPUS": b"SLURM_GPUS_ON_NODE", b"SLURM_NGPUS": b"SLURM_GPUS_ON_NODE",
    b"SLURM_HOSTLIST": b"SLURM_JOB_NODELIST", b"SLURM_NPROC": b"SLURM_NPROCS",
    b"SLURM_GPUS_PER_NODES": b"SLURM_GPUS_PER_NODE", b"SLURM_ARRAY_INDEX": b"SLURM_ARRAY_TASK_ID",
    b"SLURM_ARRAY_ID": b"SLURM_ARRAY_TASK_ID", b"PBS_WORKDIR": b"PBS_O_WORKDIR", b"PBS_HOSTS": b"PBS_NODEFILE",
    b"PBS_SUBMIT_DIR": b"PBS_O_WORKDIR", b"PBS_ARRAY_TASK_ID": b"PBS_ARRAY_INDEX", b"PBS_NODELIST": b"PBS_NODEFILE",
    b"OMPI_COMM_WORLD_LOCALRANK": b"OMPI_COMM_WORLD_LOCAL_RANK", b"OMPI_COMM_WORLD_WORLD_SIZE": b"OMPI_COMM_WORLD_SIZE",
}  # fmt: skip


@rule("MPL416", "a variable that is spelled as none that is set")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Schedulers and launchers set variables of exact names; any other name is empty.

    Wrong: --node_rank=$SLURM_NODE_ID; LOCAL_RANK=$SLURM_LOCAL_ID; cd $PBS_WORKDIR; $OMPI_COMM_WORLD_LOCALRANK
    Right: --node_rank=$SLURM_NODEID; LOCAL_RANK=$SLURM_LOCALID; cd $PBS_O_WORKDIR; $OMPI_COMM_WORLD_LOCAL_RANK
    Why:   nobody sets the other name, so the rank is empty, or cd goes home. `maple check` shows the change; at
           submission Maple only reports it: a site may set names of its own.
    """
    places = list(_reads(job.source))
    for name in dict.fromkeys(read.name for read in places):
        own = _meant(name) if not is_set(name) else None
        if own is None or name in plan.assigned or name in job.submission.environment or name + b"=" in job.source:
            continue
        spans = [read.span for read in places if read.name == name]
        if any(job.source[span.end : span.end + 1] in (b":", b"-", b"+") for span in spans):
            continue  # a default is said
        edits = tuple(Edit(span, own, CODE) for span in spans)
        yield Finding(CODE, "nobody sets %s" % name.decode(), spans[0],
                      fixes=(Fix(edits, Safety.ASK, "read $%s" % own.decode()),),
                      help="did you mean $%s?" % own.decode())  # fmt: skip


class _Place(NamedTuple):
    """Where a variable is read."""

    name: bytes
    span: Span


def _reads(source: bytes) -> Iterator[_Place]:
    """Yield the variables of a scheduler or launcher that are read outside of comments."""
    for prefix in _SET:
        at = source.find(prefix)
        while at >= 0:
            end = at + len(prefix)
            while source[end : end + 1].isalnum() or source[end : end + 1] == b"_":
                end += 1
            reads = source[at - 1 : at] == b"$" or source[at - 2 : at] == b"${"
            if reads and end > at + len(prefix) and not in_comment(source, at):
                yield _Place(source[at:end], Span(at, end))
            at = source.find(prefix, end)


def _prefix(name: bytes) -> bytes:
    return next(prefix for prefix in _SET if name.startswith(prefix))


def is_set(name: bytes) -> bool:
    """Return whether a scheduler or launcher sets a variable of that name."""
    rest = name[len(_prefix(name)) :].partition(b"_HET_GROUP")[0].partition(b"_PACK_GROUP")[0]
    return rest in _SET[_prefix(name)]


def _meant(name: bytes) -> Optional[bytes]:
    """Return the variable that is spelled alike but for blanks of its words, or one letter."""
    if name in _MEANT:
        return _MEANT[name]
    prefix, rest = _prefix(name), name[len(_prefix(name)) :]
    plain = rest.replace(b"_", b"")
    same = [own for own in _SET[prefix] if own.replace(b"_", b"") == plain]
    near = same or [own for own in _SET[prefix] if len(rest) > 4 and alike(rest.decode(), own.decode())]
    return prefix + near[0] if len(near) == 1 else None
