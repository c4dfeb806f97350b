"""The options of sbatch, Slurm 20.11 to 26.05, and the variables and foreign directives that say them.

Those of 22.05.8, 24.11.5 and 26.05.5 were asked of the programs themselves; the tests ask again. Names that only some
versions know are in the same table, and what takes a value in one of them may have one: where a version does not know
that, it refuses the job by itself.

Which word of sbatch's command line is the script, and when to leave it alone, as in `front/words_sbatch.c`.
`#PBS` and `#BSUB` lines are mapped to options as sbatch itself reads them (asked of 22.05.8).
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..options import GivenOption, OptionTable, read_options, table

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


_PBS_VALUES = """
start_time/a account/A checkpoint/c working_dir/C error/e job_array/J keep/k resource_list/l mail_options/m
mail_user_list/M job_name/N out/o priority/p destination/q rerunable/r script_path/S array/t running_user/u
variable_list/v attributes/W
"""
PBS = table(_PBS_VALUES, "hold/h interactive/I all_env/V no_std/z", "join")
PBS.short[b"j"] = table("join", "", "").long[b"join"]
BSUB = table(
    "cwd/c error_file/e job_name/J hostname/m memory_limit/M ntasks/n output_file/o queue_name/q time/W",
    "exclusive/x",
    "",
)
TABLES: "dict[bytes, OptionTable]" = {b"#PBS": PBS, b"#BSUB": BSUB}

# Only the letters count: what sbatch knows but ignores is left out.
_PBS_NAMES = {
    "start_time": "begin", "account": "account", "error": "error", "hold": "hold", "job_array": "array",
    "array": "array", "mail_options": "mail-type", "mail_user_list": "mail-user", "job_name": "job-name",
    "out": "output", "priority": "nice", "destination": "partition", "variable_list": "export",
}  # fmt: skip
_BSUB_NAMES = {
    "cwd": "chdir", "error_file": "error", "job_name": "job-name", "hostname": "nodelist",
    "memory_limit": "mem-per-cpu", "ntasks": "ntasks", "output_file": "output", "queue_name": "partition",
    "time": "time", "exclusive": "exclusive",
}  # fmt: skip
_RESOURCE = re.compile(
    rb"(cput|mem|mpiprocs|naccelerators|ncpus|nodes|pcput|select|walltime|proc|nice|pmem|vmem|pvmem|arch|file|host|opsys"
    rb"|other|software)="
)
_UP_TO_COLON = (b"mpiprocs", b"ncpus", b"select")
_RESOURCE_NAMES = {
    b"cput": "time", b"pcput": "time", b"walltime": "time", b"mem": "mem", b"mpiprocs": "ntasks-per-node",
    b"ncpus": "mincpus", b"select": "nodes", b"proc": "constraint", b"nice": "nice", b"file": "tmp",
}  # fmt: skip


def translated(prefix: bytes, option: GivenOption) -> Tuple[Tuple[str, bytes, bool], ...]:
    """Return what one option of a foreign line says: (name, value, whether the value stands in the script as it is)."""
    if prefix == b"#BSUB":
        return _bsub(option)
    if option.name == "resource_list":
        return tuple(_resources(option.value))
    if option.name == "attributes":
        kind, _, value = option.value.partition(b"=")
        return (("dependency", value, False),) if kind.lower() == b"depend" else ()
    if option.name in ("error", "out") and option.value.lower() == b"none":
        return ((_PBS_NAMES[option.name], b"/dev/null", False),)
    name = _PBS_NAMES.get(option.name)
    return ((name, option.value, name != "mail-type"),) if name else ()


def _bsub(option: GivenOption) -> Tuple[Tuple[str, bytes, bool], ...]:
    value = option.value
    if option.name == "ntasks":
        value = value.rpartition(b",")[2]
    elif option.name == "hostname":
        value = value.replace(b" ", b",")
    return ((_BSUB_NAMES[option.name], value, value == option.value),)


def _resources(value: bytes) -> Iterator[Tuple[str, bytes, bool]]:
    """Read `-l`. Names are found wherever they begin, as sbatch looks for them byte by byte."""
    resources: "dict[bytes, bytes]" = {}
    at = 0
    while at < len(value):
        match = _RESOURCE.match(value, at)
        if not match:
            at += 1
            continue
        stop = value.find(b":" if match.group(1) in _UP_TO_COLON else b",", match.end())
        text = value[match.end() : stop if stop >= 0 else len(value)]
        at = stop + 1 if stop >= 0 else len(value)
        resources[match.group(1)] = text
        yield from _resource(match.group(1), text)
    yield from _cpus_per_task(resources)


def _resource(name: bytes, text: bytes) -> Iterator[Tuple[str, bytes, bool]]:
    if name == b"nodes":
        yield from _nodes(text)
    elif name == b"naccelerators":
        yield "gres", b"gpu:" + text, False
    elif name in (b"mem", b"file"):
        yield _RESOURCE_NAMES[name], text[:-1] if text[-1:] in b"bB" else text, False
    elif name in _RESOURCE_NAMES:
        yield _RESOURCE_NAMES[name], text, False


def _cpus_per_task(resources: "dict[bytes, bytes]") -> Iterator[Tuple[str, bytes, bool]]:
    """A chunk with more CPUs than MPI processes gives each process its share."""
    ncpus, mpiprocs = resources.get(b"ncpus", b""), resources.get(b"mpiprocs", b"")
    if b"select" in resources and ncpus.isdigit() and mpiprocs.isdigit() and int(ncpus) > int(mpiprocs) > 0:
        yield "cpus-per-task", b"%d" % (int(ncpus) // int(mpiprocs)), False


def _nodes(text: bytes) -> Iterator[Tuple[str, bytes, bool]]:
    """Read `nodes=2:ppn=4:gpus=1` or `nodes=host1+host2:ppn=2`: processes per node become tasks in all."""
    count, per_node, gpus = 0, 0, b""
    hosts: List[bytes] = []
    for part in re.split(rb"[+:]", text):
        digits = re.match(rb"\d{1,8}", part)
        if part.startswith(b"ppn="):
            per_node += _number(part[4:])
        elif part.startswith(b"gpus="):
            gpus = b"%d" % _number(part[5:])
        elif digits:
            count += int(digits.group())
        elif part[:1].isalpha():
            hosts.append(part)
    if count:
        yield "nodes", b"%d" % count, False
    if per_node:
        yield "ntasks", b"%d" % (per_node * max(count, 1)), False
    if gpus:
        yield "gpus-per-node", gpus, False
    if hosts:
        yield "nodelist", b",".join(hosts), False


def _number(text: bytes) -> int:
    digits = re.match(rb"\d{1,8}", text)
    return int(digits.group()) if digits else 0
