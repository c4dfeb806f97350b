"""The options of sbatch, Slurm 20.11 to 26.05, and the variables that say them.

Those of 22.05.8, 24.11.5 and 26.05.5 were asked of the programs themselves; the tests ask again. Names that only some
versions know are in the same table, and what takes a value in one of them may have one: where a version does not know
that, it refuses the job by itself.

Which word of sbatch's command line is the script, and when to leave it alone, as in `front/words_sbatch.c`.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from ..options import read_options, table

_VALUES = """
account/A acctg-freq array/a batch bb bbf begin/b chdir/D cluster-constraint clusters/M comment constraint/C container
context core-spec/S cores-per-socket cpu-freq cpus-per-gpu cpus-per-task/c deadline delay-boot dependency/d
distribution/m error/e exclude/x export export-file extra-node-info/B gid gpu-bind gpu-freq gpus/G gpus-per-node
gpus-per-socket gpus-per-task gres gres-flags hint input/i job-name/J kill-on-invalid-dep licenses/L mail-type mail-user
mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile/F nodelist/w nodes/N ntasks/n ntasks-per-core
ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output/o partition/p power prefer priority
profile qos/q reservation signal sockets-per-node switches thread-spec threads-per-core time/t time-min tmp uid
wait-all-nodes wckey wrap
container-id extra tres-per-task tres-bind segment autocomplete container-type mem-update resources
"""
_FLAGS = """
contiguous help/h hold/H ignore-pbs no-requeue overcommit/O oversubscribe/s parsable quiet/Q reboot spread-job
test-only usage use-min-nodes verbose/v version/V wait/W
stepmgr consolidate-segments spread-segments external
"""
_OPTIONAL = "exclusive get-user-env nice no-kill/k propagate oom-kill-step requeue resv-ports"
_ALIASES = (("cluster", "clusters"), ("tasks-per-node", "ntasks-per-node"))

SBATCH = table(_VALUES, _FLAGS, _OPTIONAL, _ALIASES)

# In the order sbatch takes them: of two that say the same option the later one wins.
ENVIRONMENT: Tuple[Tuple[bytes, str], ...] = ((b"SLURM_CLUSTERS", "clusters"), (b"SLURM_HINT", "hint")) + tuple(
    (b"SBATCH_" + variable.encode(), name)
    for variable, name in (
        ("ACCOUNT", "account"), ("ACCTG_FREQ", "acctg-freq"), ("ARRAY_INX", "array"), ("BATCH", "batch"),
        ("CLUSTERS", "clusters"), ("CONSTRAINT", "constraint"), ("CONTAINER", "container"),
        ("CONTAINER_ID", "container-id"), ("CORE_SPEC", "core-spec"), ("CPUS_PER_GPU", "cpus-per-gpu"),
        ("DELAY_BOOT", "delay-boot"), ("DISTRIBUTION", "distribution"), ("ERROR", "error"), ("EXCLUSIVE", "exclusive"),
        ("EXPORT", "export"), ("GET_USER_ENV", "get-user-env"), ("GPU_BIND", "gpu-bind"), ("GPU_FREQ", "gpu-freq"),
        ("GPUS", "gpus"), ("GPUS_PER_NODE", "gpus-per-node"), ("GPUS_PER_TASK", "gpus-per-task"), ("GRES", "gres"),
        ("GRES_FLAGS", "gres-flags"), ("HINT", "hint"), ("IGNORE_PBS", "ignore-pbs"), ("INPUT", "input"),
        ("JOB_NAME", "job-name"), ("MEM_BIND", "mem-bind"), ("MEM_PER_CPU", "mem-per-cpu"),
        ("MEM_PER_GPU", "mem-per-gpu"), ("MEM_PER_NODE", "mem"), ("NETWORK", "network"), ("NO_KILL", "no-kill"),
        ("NO_REQUEUE", "no-requeue"), ("OPEN_MODE", "open-mode"), ("OUTPUT", "output"), ("OVERCOMMIT", "overcommit"),
        ("PARTITION", "partition"), ("POWER", "power"), ("PROFILE", "profile"), ("QOS", "qos"),
        ("REQ_SWITCH", "switches"), ("REQUEUE", "requeue"), ("RESERVATION", "reservation"), ("SIGNAL", "signal"),
        ("SPREAD_JOB", "spread-job"), ("THREAD_SPEC", "thread-spec"), ("THREADS_PER_CORE", "threads-per-core"),
        ("TIMELIMIT", "time"), ("TRES_BIND", "tres-bind"), ("TRES_PER_TASK", "tres-per-task"),
        ("USE_MIN_NODES", "use-min-nodes"), ("WAIT", "wait"), ("WAIT_ALL_NODES", "wait-all-nodes"), ("WCKEY", "wckey"),
    )
)  # fmt: skip

BY_VARIABLE: Dict[bytes, str] = dict(ENVIRONMENT)


# Options behind which nothing is submitted, or not by this caller.
LEAVING = ("help", "usage", "version", "uid", "gid")


class Words(NamedTuple):
    """*came*: "file", "stdin" or "wrap". *word*, *offset*: where the name or the command stands in argv.

    *as_named*: a file is opened by the name as it is, and must be a regular one; else it is looked up as sbatch does.
    """

    came: str
    word: int = 0
    offset: int = 0
    chdir: Optional[bytes] = None
    as_named: bool = False


def read(argv: Sequence[bytes]) -> Optional[Words]:
    """Return what the words say of the script, None where the submission is better left alone."""
    if not argv or b":" in argv[1:]:  # parts of a heterogeneous job
        return None
    reading = read_options(SBATCH, argv)
    if reading.problem or any(option.name in LEAVING for option in reading.options):
        return None
    chdir = next((option.value for option in reversed(reading.options) if option.name == "chdir"), None)
    wraps = [option for option in reading.options if option.name == "wrap"]
    named = reading.end < len(argv)
    if len(wraps) > 1 or (wraps and (named or not wraps[0].value)) or (named and not argv[reading.end]):
        return None
    if wraps:
        return Words("wrap", wraps[0].value_word, wraps[0].value_at, chdir)
    return Words("file", reading.end, 0, chdir) if named else Words("stdin", 0, 0, chdir)
