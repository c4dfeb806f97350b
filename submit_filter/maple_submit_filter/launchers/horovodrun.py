"""horovodrun: on this host alone, or over ssh or mpirun on the hosts that its line or file names, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from ..play.scene import MOST_TASKS, StepShape, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link
from ..types.text import Text
from .grammar import followed, link, option_number, read
from .horovodrun_options import TABLE
from .mpi.layout import FILES, LISTS, Host, hosts
from .mpiexec import run_in

if TYPE_CHECKING:
    from ..play.starter import Starter

_ELASTIC = ("min-num-proc", "max-num-proc", "host-discovery-script", "slots-per-host", "config-file")


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every rank; nothing where it only tells of itself (--check-build, --version)."""
    reading = read(TABLE, argv, 1)
    one = link("horovodrun", argv, reading)
    if reading.program >= len(argv) or one.option("check-build", "version") is not None:
        return
    alone = not trail.links  # started several times it makes several worlds, and where they meet nobody says
    trail = followed(trail, one, reading)
    shape = _shape(programs, one, shell) if alone else StepShape(None, None, None, False, "")
    programs.scene.shapes[trail.key] = (trail, shape)
    run_in(programs, argv[reading.program :], shell, trail, shape, given)


def _shape(programs: Starter, one: Link, shell: Shell) -> StepShape:
    ranks = option_number(one, "num-proc")[1]
    many = bool(ranks and ranks > MOST_TASKS)
    if one.open or one.option(*_ELASTIC) is not None or ranks is None:
        return StepShape(0, ranks, None, many, "")  # not even where the first runs
    if one.option(*LISTS, *FILES) is None:
        return StepShape(1, ranks, (ranks,), many, "")
    told = hosts(one, shell, programs.scene)
    if told is None or any(not host.said for host in told):
        return StepShape(0, ranks, None, many, "")  # not even where the first runs
    return _over(told, ranks, many)


def _over(told: List[Host], ranks: int, many: bool) -> StepShape:
    """Fill the slots of each host in turn; with too few of them it ends (get_host_assignments)."""
    slots = sum(host.slots for host in told)
    if ranks > slots:
        return StepShape(None, None, None, False, "horovodrun starts %d processes and has %d slots" % (ranks, slots))
    by_node, left = {}, ranks
    for host in told:
        by_node[host.node] = min(host.slots, left)
        left -= by_node[host.node]
    if list(by_node) != sorted(by_node):
        return StepShape(0, ranks, None, many, "")
    layout = tuple(by_node.get(node, 0) for node in range(max(by_node) + 1))
    return StepShape(sum(1 for count in layout if count), ranks, layout, many, "")
