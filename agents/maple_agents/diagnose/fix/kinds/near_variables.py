"""A variable that the scheduler does not set, and exactly one nearly called so that it does."""

from __future__ import annotations

import re

from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..corrections import nearest
from ..registry import Given, fix

# OUTPUT ENVIRONMENT VARIABLES of sbatch and srun (Slurm 20.11 to 25.05), and those of qsub (OpenPBS 23.06).
_SLURM = """
ARRAY_JOB_ID ARRAY_TASK_COUNT ARRAY_TASK_ID ARRAY_TASK_MAX ARRAY_TASK_MIN ARRAY_TASK_STEP CLUSTER_NAME CPUS_ON_NODE
CPUS_PER_GPU CPUS_PER_TASK GPUS GPUS_ON_NODE GPUS_PER_NODE GPUS_PER_TASK JOBID JOB_ACCOUNT JOB_CPUS_PER_NODE JOB_GPUS
JOB_ID JOB_NAME JOB_NODELIST JOB_NUM_NODES JOB_PARTITION JOB_QOS LOCALID MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE NNODES
NODEID NODELIST NPROCS NTASKS NTASKS_PER_NODE PROCID RESTART_COUNT SUBMIT_DIR SUBMIT_HOST TASKS_PER_NODE TMPDIR
STEP_ID STEP_NODELIST STEP_NUM_NODES STEP_NUM_TASKS STEPID STEP_GPUS STEP_TASKS_PER_NODE CONF CPU_BIND DISTRIBUTION
EXPORT_ENV GPU_BIND GTIDS HET_SIZE HINT JOB_DEPENDENCY JOB_END_TIME JOB_RESERVATION JOB_START_TIME JOB_UID JOB_USER
LAUNCH_NODE_IPADDR MPI_TYPE OVERCOMMIT PRIO_PROCESS PROFILE SHARDS_ON_NODE SRUN_COMM_HOST SRUN_COMM_PORT TASK_PID
THREADS_PER_CORE TOPOLOGY_ADDR TOPOLOGY_ADDR_PATTERN WCKEY
"""
_PBS = """
ARRAY_ID ARRAY_INDEX ENVIRONMENT JOBDIR JOBID JOBNAME NODEFILE NODENUM O_HOME O_HOST O_LANG O_LOGNAME O_PATH O_QUEUE
O_SHELL O_SYSTEM O_WORKDIR QUEUE TASKNUM
"""
KNOWN = {"slurm": ("SLURM_", _SLURM.split()), "pbs": ("PBS_", _PBS.split())}
_USED = re.compile(rb"^[ \t]*#[^\n]*|\$\{?((?:SLURM|PBS)_[A-Z_]+)(?![\w:?+-])", re.MULTILINE)
_EMPTY = re.compile(
    r"(?:value|argument|int\(\) with base 10|float): ?(?:''|\"\"|$)|expected (?:one|at least one) argument|"
    r"requires an? (?:argument|value)|unbound variable|parameter not set"
)


@fix("near-variable")
def variable_nearby(given: Given) -> Fix | None:
    """Name the scheduler's variable that is nearly called like one which nobody sets, where the log shows it empty.

    Only one that neither script nor submission sets, and that is written without a default.
    """
    words = " ".join(evidence.text for evidence in given.cause.evidence)
    if not _EMPTY.search(words):
        return None
    unset = _unset(given)
    named = {name for name in unset if re.search(r"\b%s\b" % name, words)}
    edits, says = [], []
    prefix, known = KNOWN[given.case.scheduler]
    for name in sorted(named or unset):
        near = nearest(name.removeprefix(prefix), known) if name.startswith(prefix) else ""
        if near:
            edits += [Edit(span, (prefix + near).encode(), "near-variable") for span in unset[name]]
            says.append("%s%s in place of %s, which nobody sets" % (prefix, near, name))
    return Fix(tuple(edits), Safety.ASK, "; ".join(says)) if edits else None


def _unset(given: Given) -> dict[str, list[Span]]:
    """Return where the script uses variables of the scheduler's that neither it, script nor submission sets."""
    prefix, known = KNOWN[given.case.scheduler]
    uses: dict[str, list[Span]] = {}
    for match in _USED.finditer(given.job.source):
        name = match[1].decode() if match[1] else ""
        if name and name.removeprefix(prefix) not in known and not _is_set(given, match[1]):
            uses.setdefault(name, []).append(Span(*match.span(1)))
    return uses


def _is_set(given: Given, name: bytes) -> bool:
    """Return whether the script or the submission may set a variable, in whatever way."""
    if name in given.plan.assigned or name in given.job.submission.environment:
        return True
    return re.search(rb"\b%s=|\bread\b[^\n]*\b%s\b|\bfor %s\b" % (name, name, name), given.job.source) is not None
