"""Which rank runs on which node, as far as the launch plan promises it.

Where a program takes its rank from MPI, Cray MPICH's own numbering counts. `MPICH_RANK_REORDER_METHOD` (intro_mpi, Cray
MPICH 8): 0 deals ranks to the nodes in turn, 1 fills them, 2 goes to and fro, 3 reads the file MPICH_RANK_ORDER.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.rules.program_text import is_rank
from maple_submit_filter.types.launch_plan import Group, LaunchPlan, Process, Step
from maple_submit_filter.types.text import NUL


class Seat(NamedTuple):
    """Where one rank runs. *gpu*: the device that it takes, None not known."""

    rank: int
    node: int
    local: int
    gpu: int | None = None


class Placement(NamedTuple):
    """Every rank of a world, in their order. *how*: "block", "cyclic", or "" for any other way of dealing them."""

    seats: tuple[Seat, ...]
    how: str = ""

    @property
    def nodes(self) -> int:
        """How many nodes they run on."""
        return len({seat.node for seat in self.seats})

    @property
    def per_node(self) -> int | None:
        """Ranks on a node, None where nodes differ."""
        counts = set(Counter(seat.node for seat in self.seats).values())
        return counts.pop() if len(counts) == 1 else None

    def node_of(self, rank: int) -> int:
        """Return the node of a rank."""
        return self.seats[rank].node


class Unplaced(NamedTuple):
    """Why it is not known which rank runs where. *static*: it would be, with static rendezvous."""

    why: str
    static: bool = False


def placement(step: Step, renumbered: bool = False, presumed: bool = False) -> Placement | Unplaced:
    """Return the ranks of a launch line's one world, or why they are not known.

    *renumbered*: the script sets RANK. *presumed*: what nobody has read is taken to set none.
    """
    if step.maybe or step.unknown:
        return Unplaced("it is not known whether, or how, this line runs")
    if not is_rank(step) and not behind_wrapper(step):
        return Unplaced("it starts one process a node, or none that is surely a rank")
    if len(step.groups) != 1 or step.breaches:
        return Unplaced("its ranks do not form one world")
    group = step.groups[0]
    if not group.world_size and not step.tasks:
        return Unplaced("how many ranks there are is not known")
    if _meets(group):
        return Unplaced("at a c10d rendezvous nobody promises which node gets which ranks", static=True)
    if (step.images or presumed) and not renumbered:
        group = group._replace(processes=_in_container(group.processes))
    seats = _listed(group.processes) if group.complete else _extended(step, group)
    return seats if seats is not None else Unplaced("which rank runs on which node is not known")


_HOST = re.compile(rb"\0(?:host|name):(\d+)\0\Z")
_RANK = re.compile(rb"rank\s+(\d+)\s*=\s*(?:\+n(\d+)|\0(?:host|name):(\d+)\0)\s+slots?\s*=")


def by_host_file(step: Step, plan: LaunchPlan) -> Placement | None:
    """Return the ranks of `srun -m arbitrary`, each on the host of its line in a file that the script writes.

    None where it is no such step, or the hosts of its lines are not known.
    """
    dealt = step.links[0].option("distribution") if step.links and step.links[0].name == "srun" else None
    arbitrary = dealt is not None and dealt.value is not None and dealt.value.raw.startswith(b"arbitrary")
    if not arbitrary or b"SLURM_HOSTFILE" not in plan.assigned or step.maybe or step.unknown:
        return None
    listed = [[_HOST.match(line.strip()) for line in text.split(b"\n") if line.strip()] for name, text in
              plan.written.items() if NUL not in name[:1]]  # fmt: skip
    nodes = [[int(match[1]) for match in file if match] for file in listed if file and all(file)]
    many = [file for file in nodes if len(file) > len(set(file)) > 1]
    if len(many) != 1 or not _is_of_many(step):
        return None
    asked = step.links[0].option("ntasks")
    count = asked.value.raw if asked is not None and asked.value is not None else b"%d" % len(many[0])
    return on(many[0]) if count == b"%d" % len(many[0]) else None


def by_rank_file(step: Step, plan: LaunchPlan) -> Placement | None:
    """Return the ranks of Open MPI's `--rankfile`, each on the host of its line in a file that the script writes.

    None where it is no such step, or a rank's host is not known. Which cores its line names is not read.
    """
    option = step.links[0].option("rankfile", "rf") if step.links and step.links[0].name == "mpiexec" else None
    if option is None or option.value is None or step.maybe or step.unknown:
        return None
    name = option.value.raw.rpartition(b"/")[2]
    texts = [text for file, text in plan.written.items() if file.rpartition(b"/")[2] == name]
    lines = [line.strip() for line in texts[0].split(b"\n") if line.strip()] if len(texts) == 1 else []
    ranks = [_RANK.match(line) for line in lines]
    nodes = {int(match[1]): int(match[2] or match[3]) for match in ranks if match}
    asked = step.links[0].option("n", "np")
    count = asked.value.raw if asked is not None and asked.value is not None else b"%d" % len(lines)
    known = sorted(nodes) == list(range(len(lines))) and count == b"%d" % len(lines) and len(lines) > 1
    return on([nodes[rank] for rank in sorted(nodes)]) if known and _is_of_many(step) else None


def _is_of_many(step: Step) -> bool:
    """Return whether a line is one of ranks where a file, and not its options, says how many run on a node."""
    many = step._replace(tasks_per_node=2)
    return is_rank(many) or behind_wrapper(many)


def behind_wrapper(step: Step) -> bool:
    """Return whether each of many tasks runs a script that nobody could read, with a Python program behind it.

    What such a script does to a task (its device, its cores) is not known; that the task is a rank, is.
    """
    first = step.program[0] if step.program else b""
    return first.endswith(b".sh") and is_rank(step._replace(program=step.program[1:]))


def starts_ranks(step: Step) -> bool:
    """Return whether a line surely starts the ranks of one world, wherever each of them runs."""
    return not step.maybe and not step.unknown and is_rank(step) and len(step.groups) == 1 and not step.breaches


def block(nodes: int, each: int) -> Placement:
    """Return ranks that fill one node after the other."""
    return Placement(tuple(Seat(rank, rank // each, rank % each, rank % each) for rank in range(nodes * each)), "block")


def cyclic(nodes: int, each: int) -> Placement:
    """Return ranks that are dealt to the nodes in turn."""
    seats = tuple(Seat(rank, rank % nodes, rank // nodes, rank // nodes) for rank in range(nodes * each))
    return Placement(seats, "cyclic")


def on(nodes: list[int] | tuple[int, ...]) -> Placement:
    """Return the placement of ranks whose nodes are listed, each taking the next place of its node."""
    taken: dict[int, int] = {}
    seats = []
    for rank, node in enumerate(nodes):
        local = taken.get(node, 0)
        taken[node] = local + 1
        seats.append(Seat(rank, node, local, local))
    return _with_order(tuple(seats))


def _meets(group: Group) -> bool:
    """Return whether agents on several nodes settle the ranks among themselves."""
    known = [process.rank for process in group.processes]
    return group.launcher in AGENTS and bool(known) and group.nodes != 1 and None in known and group.complete


def _in_container(processes: tuple[Process, ...]) -> tuple[Process, ...]:
    """Return the ranks as the scheduler numbers them: what an image sets itself is not known, and sets no ranks."""
    if any(process.rank is not None or process.task is None or process.node is None for process in processes):
        return processes
    before: dict[int | None, int] = {}
    made = []
    for process in sorted(processes, key=lambda process: process.task or 0):
        local = before.get(process.node, 0)
        before[process.node] = local + 1
        made.append(
            process._replace(rank=process.task, local_rank=local if process.local_rank is None else process.local_rank)
        )
    return tuple(made)


def _listed(processes: tuple[Process, ...]) -> Placement | None:
    """Return the placement of processes that are all there, None where a place or rank is not known."""
    seats = [
        Seat(process.rank, process.node, process.local_rank, _gpu(process))
        for process in processes
        if process.rank is not None and process.node is not None and process.local_rank is not None
    ]
    seats.sort()
    if len(seats) != len(processes) or [seat.rank for seat in seats] != list(range(len(seats))):
        return None
    return _with_order(tuple(seats))


def _with_order(seats: tuple[Seat, ...]) -> Placement:
    """Return a placement that knows how its ranks were dealt."""
    made = Placement(seats)
    each = made.per_node
    for how in (block, cyclic) if each else ():
        if [seat.node for seat in how(made.nodes, each or 1).seats] == [seat.node for seat in seats]:
            return made._replace(how=how.__name__)
    return made


def _extended(step: Step, group: Group) -> Placement | None:
    """Return the placement of a large step of which only samples are listed: the one rule that all of them follow."""
    each = step.tasks_per_node if group.launcher not in AGENTS else group.ranks_per_node
    total = group.world_size or step.tasks
    if (
        not each
        or not step.nodes
        or total != each * step.nodes
        or len({process.node for process in group.processes}) < 2
    ):
        return None
    known = [(process.rank, process.node) for process in group.processes]
    for how in (block, cyclic):
        made = how(step.nodes, each)
        if all(place in {(seat.rank, seat.node) for seat in made.seats} for place in known):
            return made
    return None


def _gpu(process: Process) -> int | None:
    """Return the device that a rank takes: of several that it sees, the one of its local rank."""
    if process.gpus is None or process.local_rank is None:
        return process.local_rank
    seen = process.gpus
    device = seen[0] if len(seen) == 1 else seen[process.local_rank] if process.local_rank < len(seen) else b""
    return int(device) if device.isdigit() and len(device) < 4 else None


NAME = "MPICH_RANK_REORDER_METHOD"
_VALUE = re.compile(rb"=[\"']?([0-3])[\"']?\Z")


def method(plan: LaunchPlan, source: bytes) -> int | None:
    """Return the method that the script sets, once and as a number; None where it sets none, or RANK itself."""
    spans = plan.assigned.get(NAME.encode(), ())
    if len(spans) != 1 or b"RANK" in plan.assigned:
        return None
    match = _VALUE.search(source[spans[0].start : spans[0].end])
    return int(match[1]) if match else None


def renumbered(step: Step, placed: Placement | Unplaced, chosen: int | None) -> Placement | Unplaced:
    """Return where MPI's ranks run under a method; unknown where the program may take others."""
    if isinstance(placed, Unplaced) or chosen in (None, 1) or not placed.per_node or placed.how != "block":
        return placed
    if not any(b"mpi" in word.lower() for word in step.program):
        return Unplaced("whether the program takes MPI's ranks, which %s orders, is not known" % NAME)
    if chosen == 3:
        return Unplaced("the file MPICH_RANK_ORDER orders MPI's ranks")
    nodes, each = placed.nodes, placed.per_node
    if chosen == 0:
        return cyclic(nodes, each)
    rounds = [range(nodes) if turn % 2 == 0 else reversed(range(nodes)) for turn in range(each)]
    return on([node for turn in rounds for node in turn])
