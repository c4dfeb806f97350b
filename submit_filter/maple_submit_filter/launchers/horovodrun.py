"""horovodrun: on this host alone, or over ssh or mpirun on the hosts that its line or file names, slot by slot.

It reads no allocation of Slurm or PBS. From the parser of Horovod 0.28 (horovod/runner/launch.py); it was not run.
Options that only tune stand here so that the program behind them is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from ..play.program_owner import PYTHON
from ..play.scene import MOST_TASKS, StepShape, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link
from ..types.text import Text
from .grammar import ARGPARSE, Table, followed, link_of, option_number, read, table
from .mpi.layout import FILES, LISTS, Host, hosts
from .mpiexec import run_in
from .record import Launcher

if TYPE_CHECKING:
    from ..play.scene import Starter

TABLE: Table = table(
    "horovodrun",
    ARGPARSE,
    """
    -np --num-proc 1:int
    -H --hosts 1
    -hostfile --hostfile 1
    --config-file 1
    --min-np --min-num-proc 1:int
    --max-np --max-num-proc 1:int
    --slots-per-host 1:int
    --host-discovery-script 1
    -h --help 0
    -v --version 0
    -cb --check-build 0
    --disable-cache 0
    --verbose 0
    --start-timeout 1:int
    --network-interfaces 1
    --network-interface 1
    --output-filename 1
    -p --ssh-port 1:int
    -i --ssh-identity-file 1
    --fusion-threshold-mb 1:int
    --cycle-time-ms 1:float
    --cache-capacity 1:int
    --hierarchical-allreduce 0
    --no-hierarchical-allreduce 0
    --hierarchical-allgather 0
    --no-hierarchical-allgather 0
    --torus-allreduce 0
    --no-torus-allreduce 0
    --autotune 0
    --no-autotune 0
    --autotune-log-file 1
    --autotune-warmup-samples 1:int
    --autotune-steps-per-sample 1:int
    --autotune-bayes-opt-max-samples 1:int
    --autotune-gaussian-process-noise 1:float
    --elastic-timeout 1:int
    --reset-limit 1:int
    --blacklist-cooldown-range 2
    --timeline-filename 1
    --timeline-mark-cycles 0
    --no-timeline-mark-cycles 0
    --no-stall-check 0
    --stall-check 0
    --stall-check-warning-time-seconds 1:int
    --stall-check-shutdown-time-seconds 1:int
    --log-level 1:TRACE|DEBUG|INFO|WARNING|ERROR|FATAL
    --log-hide-timestamp 0
    --log-with-timestamp 0
    --log-without-timestamp 0
    --no-log-hide-timestamp 0
    --mpi-threads-disable 0
    --no-mpi-threads-disable 0
    --mpi-args 1
    --num-nccl-streams 1:int
    --thread-affinity 1:int
    --binding-args 1
    --gloo-timeout-seconds 1:int
    --tcp 0
    -prefix-timestamp --prefix-output-with-timestamp 0
    --gloo 0
    --mpi 0
    --jsrun 0
    """,
)

REFUSED = "horovodrun refuses its hosts: they are written NAME:SLOTS"
_ELASTIC = ("min-num-proc", "max-num-proc", "host-discovery-script", "slots-per-host", "config-file")


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every rank; nothing where it only tells of itself (--check-build, --version)."""
    reading = read(TABLE, argv, 1)
    link = link_of("horovodrun", argv, reading)
    if reading.program >= len(argv) or link.option("check-build", "version") is not None:
        return
    alone = not trail.links  # started several times it makes several worlds, and where they meet nobody says
    trail = followed(trail, link, reading)
    shape = _shape(programs, link, shell) if alone else StepShape(None, None, None, False, "")
    programs.scene.shapes[trail.key] = (trail, shape)
    run_in(programs, argv[reading.program :], shell, trail, shape, given)


def _shape(programs: Starter, link: Link, shell: Shell) -> StepShape:
    ranks = option_number(link, "num-proc")[1]
    many = bool(ranks and ranks > MOST_TASKS)
    if link.open or link.option(*_ELASTIC) is not None or ranks is None:
        return StepShape(0, ranks, None, many, "")  # not even where the first runs
    if link.option(*LISTS, *FILES) is None:
        return StepShape(1, ranks, (ranks,), many, "")
    named = hosts(link, shell, programs.scene)
    if named and link.option(*FILES) is None and not any(host.explicit for host in named):
        return StepShape(None, None, None, False, REFUSED)
    if named is None or any(not host.explicit for host in named):
        return StepShape(0, ranks, None, many, "")  # not even where the first runs
    return _over(named, ranks, many)


def _over(hosts: List[Host], ranks: int, many: bool) -> StepShape:
    """Fill the slots of each host in turn; with too few of them it ends (get_host_assignments)."""
    slots = sum(host.slots for host in hosts)
    if ranks > slots:
        return StepShape(None, None, None, False, "horovodrun starts %d processes and has %d slots" % (ranks, slots))
    by_node, left = {}, ranks
    for host in hosts:
        by_node[host.node] = min(host.slots, left)
        left -= by_node[host.node]
    if list(by_node) != sorted(by_node):
        return StepShape(0, ranks, None, many, "")
    layout = tuple(by_node.get(node, 0) for node in range(max(by_node) + 1))
    return StepShape(sum(1 for count in layout if count), ranks, layout, many, "")


LAUNCHER = Launcher("horovodrun", {b"horovodrun": start}, PYTHON, table=TABLE, own_hosts=True)
