"""srun's options (Slurm 20.11 to 25.11, from its manual page): long name, short name, whether a value follows."""

from __future__ import annotations

from .grammar import GETOPT, Table, table

_VALUES = """
-A --account|--acctg-freq|--accel-bind|--bb|--bbf|--bcast-exclude|-b --begin|-D --chdir|--cluster-constraint
-M --clusters|--comment|-C --constraint|--container|--container-id|--cores-per-socket
--cpu-freq|-c --cpus-per-task|--cpus-per-gpu|--deadline|--delay-boot|-d --dependency|-m --distribution|--environment
--epilog|-e --error|-x --exclude|--export|--extra|-B --extra-node-info|--gid|--gpu-bind|--gpu-freq|-G --gpus
--gpus-per-node|--gpus-per-socket|--gpus-per-task|--gres|--gres-flags|--het-group|--hint|-i --input|-J --job-name
--jobid|-L --licenses|--mail-type|--mail-user|--mcs-label|--mem|--mem-bind|--mem-per-cpu|--mem-per-gpu|--mincpus
--mpi|--msg-timeout|--multi-prog-file|--network|-w --nodelist|-F --nodefile|-N --nodes|-n --ntasks
--ntasks-per-core|--ntasks-per-gpu|--ntasks-per-socket|--ntasks-per-tres|--open-mode|-o --output
-p --partition|--power|--prefer|--priority|--profile|--prolog|-q --qos|-r --relative|--reservation
--segment|--signal|--slurmd-debug|--sockets-per-node|--switches|--task-epilog|--task-prolog
--thread-spec|--threads-per-core|-t --time|--time-min|--tmp|--tres-bind|--tres-per-task|--tree-width
-W --wait|--wckey|--container-image|--container-name|--container-mounts|--container-workdir
--container-save|--container-env|--ntasks-per-tres|--stepmgr-node
"""  # the --container-image family belongs to the pyxis plug-in
_FLAGS = """
--contiguous|-E --preserve-env|--exact|-h --help|-H --hold|--interactive|-l --label
-s --oversubscribe|--overlap|--pty|-Q --quiet|--quit-on-interrupt|--reboot|-k --no-kill|-Z --no-allocate
-u --unbuffered|--usage|--use-min-nodes|-v --verbose|-V --version
--container-mount-home|--no-container-mount-home|--container-remap-root|--no-container-remap-root|--container-entrypoint
--no-container-entrypoint|--container-writable|--container-readonly|--multi-prog|--whole|--stepmgr
"""
_GLUED = """
--exclusive|-K --kill-on-bad-exit|--nice|--propagate|--bcast|-I --immediate|--resv-ports|--x11|--spread-job
--send-libs|--compress
"""


def _rows(names: str, values: str) -> str:
    parts = [part.strip() for line in names.splitlines() for part in line.split("|") if part.strip()]
    return "\n".join(part + " " + values for part in parts)


_AS_LONG = """
--cpu-bind --cpu_bind 1
--ntasks-per-node --tasks-per-node 1
-S --core-spec 1
-T --threads 1
-X --disable-status 0
-O --overcommit 0
"""

TABLE: Table = table(
    "srun",
    GETOPT,
    "\n".join((_rows(_FLAGS, "0"), _rows(_VALUES, "1"), _rows(_GLUED, "?"), _AS_LONG)),
)
