"""jsrun, of LSF's Job Step Manager: tasks in resource sets, each on one host with CPUs and GPUs of its own.

From IBM's documentation of Spectrum LSF 10.1 ("jsrun command"), Oak Ridge's guides to Summit, and the options that
Spindle knows of it; it was not run. Which of a node's devices the tasks of a set see is not known here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Optional

from ..play.program_owner import SCHEDULER
from ..play.scene import MOST_TASKS, StepShape, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link
from ..types.text import Text, plain, token
from .devices import CUDA
from .grammar import GETOPT, Table, followed, link_of, option_number, read, table
from .mpi.layout import Names
from .mpiexec import run_in
from .record import Launcher, RankWords

if TYPE_CHECKING:
    from ..play.scene import Starter

TABLE: Table = table(
    "jsrun",
    GETOPT,
    """
    -n --nrs 1
    -p --np 1
    -a --tasks_per_rs 1
    -c --cpu_per_rs 1
    -g --gpu_per_rs 1
    -m --memory_per_rs 1
    -r --rs_per_host 1
    -K --rs_per_socket 1
    -l --latency_priority 1
    -d --launch_distribution 1
    -b --bind 1
    -f --appfile 1
    -A --allocate_only 1
    -H --launch_node_task 1
    -J --use_reservation 1
    -S --save_resources 1
    -U --use_resources 1
    -x --exclude_hosts 1
    --erf_input 1
    --erf_output 1
    --erf_output_pidx 1
    --print_placement 1
    -I --stdin_rank 1
    -e --stdio_mode 1
    -k --stdio_stderr 1
    -o --stdio_stdout 1
    -t --stdio_input 1
    -h --chdir 1
    -D --env_no_propagate 1
    -E --env 1
    -F --env_eval 1
    -i --immediate 0
    -L --use_spindle 1
    -M --smpiargs 1
    -P --pre_post_exec 1
    -X --exit_on_error 1
    -Z --progress 1
    -? --help 0
    --usage 0
    -V --version 0
    """,
)
# Options by which other files, steps or sockets say where the tasks go.
_ELSEWHERE = ("appfile", "erf-input", "launch-node-task", "use-reservation", "use-resources", "rs-per-socket")
_STEERED = re.compile(rb"(JSM|JSRUN)_\w*(TASKS|HOST|NRS|RS)\w*\Z")
_NAMES = Names(
    (b"OMPI_COMM_WORLD_RANK", b"JSM_NAMESPACE_RANK", b"PMIX_RANK"),
    (b"OMPI_COMM_WORLD_SIZE", b"JSM_NAMESPACE_SIZE"),
    (b"OMPI_COMM_WORLD_LOCAL_RANK", b"JSM_NAMESPACE_LOCAL_RANK"),
    (b"OMPI_COMM_WORLD_LOCAL_SIZE", b"JSM_NAMESPACE_LOCAL_SIZE"),
)


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every task; nothing where it only reserves resources, or tells of itself."""
    reading = read(TABLE, argv, 1)
    link = link_of("jsrun", argv, reading)
    if reading.program >= len(argv) or link.option("allocate-only", "help", "usage", "version") is not None:
        return
    trail = followed(trail, link, reading)
    shape = _shape(link, programs.scene.allocation.nodes)
    if link.open or shell.exports(_STEERED):
        shape = shape.anywhere()
    programs.scene.shapes[trail.key] = (trail, shape)
    tasks = shell.fork(shell.place._replace(gpus=None))
    tasks.set(CUDA, plain(token(b"vary", b"jsrun")), exported=True)
    run_in(programs, argv[reading.program :], tasks, trail, shape, given, _NAMES)


def _shape(link: Link, nodes: Optional[int]) -> StepShape:
    """Fill host by host, where it is said how many sets are on each; without that it goes by the hosts' CPUs."""
    sets, each, per_host = (option_number(link, name)[1] for name in ("nrs", "tasks-per-rs", "rs-per-host"))
    ranks = sets * each if sets and each else option_number(link, "np")[1]
    many = bool(ranks and ranks > MOST_TASKS)
    if link.option(*_ELSEWHERE) is not None or not ranks:
        return StepShape(0, None, None, False, "")  # not even where the first runs
    if not sets or not each or not per_host:
        return StepShape(1 if nodes == 1 or sets == 1 else None, ranks, None, many, "")
    full, rest = divmod(sets, per_host)
    if nodes is not None and full + bool(rest) > nodes:
        return StepShape(None, ranks, None, many, "")  # more sets than hosts hold: waits, or is refused
    layout = (per_host * each,) * full + ((rest * each,) if rest else ())
    in_order = each == 1 or len(layout) == 1 or _packed(link)
    return StepShape(len(layout), ranks, layout if in_order else None, many, "")


def _packed(link: Link) -> bool:
    """Return whether ranks fill one set after the other; by default they go round the sets."""
    option = link.option("launch-distribution")
    return option is not None and option.value is not None and option.value.raw == b"packed"


LAUNCHER = Launcher(
    "jsrun",
    {b"jsrun": start},
    SCHEDULER,
    table=TABLE,
    outer=True,
    reads_job=False,
    words=RankWords(
        b"OMPI_COMM_WORLD_RANK", b"OMPI_COMM_WORLD_LOCAL_RANK", b"OMPI_COMM_WORLD_RANK", b"OMPI_COMM_WORLD_SIZE"
    ),
    steered=_STEERED,
)
