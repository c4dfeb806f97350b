"""Which worlds the launch lines were meant to start, and whether a repair leaves them so.

What was declared counts: the workers on a node and the nodes of each world, as the script's own words come to before
anything is changed. There is one other reading, the world that fills what was asked for: where the words cannot hold,
because they count more nodes than the job has or more workers than its nodes have GPUs, or where a fix takes tasks away
whose workers nobody has counted. Where even that is not known, nothing is, and no repair can be shown to keep it. A
count that stands in the user's own words and was not read before (a long dash, a line that was cut off) is what was
meant; one that a fix has written is not.
"""

from __future__ import annotations

import re
from typing import FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..launchers.registry import AGENTS
from ..types.edits import Edit, Span
from ..types.findings import counted
from ..types.job import line_of
from ..types.launch_plan import Allocation, Group, Link, Step
from ..types.text import number

NODES = ("nnodes", "num-machines", "num-nodes")
WORKERS = ("nproc-per-node", "num-processes", "num-gpus")


class World(NamedTuple):
    """A world's nodes, workers on each, and number of ranks; None: not known."""

    nodes: Optional[int]
    workers: Optional[int]
    size: Optional[int]


class Loss(NamedTuple):
    """A launch line whose worlds a repair changes: what was meant (nothing: not known), and what would start."""

    line: int
    meant: FrozenSet[World]
    made: FrozenSet[World]

    def __str__(self) -> str:
        were = "is" if len(self.meant) == 1 else "are"
        describe = shapes if sizes(self.meant) == sizes(self.made) else sizes
        meant = "%s %s meant" % (describe(self.meant), were) if self.meant else "it is not known what is meant"
        return "line %d would start %s, where %s" % (self.line, describe(self.made), meant)


class Played(NamedTuple):
    """A script and what its launch lines would start."""

    source: bytes
    steps: Tuple[Step, ...]
    allocation: Allocation


def lost(before: Played, after: Played) -> Tuple[Loss, ...]:
    """Return the launch lines whose worlds are, after a repair, not those that were meant before it."""
    losses: List[Loss] = []
    for old, new in zip(before.steps, after.steps):
        was, now = _worlds(old), _worlds(new)
        if not now and any(other.span == new.span and other.groups for other in after.steps):
            continue  # one turn of a loop whose agents meet: their world stands at another turn
        if was == now or _was_unseen(old, new, before, after):
            continue
        if _has_room_now(old, now, before.allocation, after.allocation):
            continue
        wanted = _meant(old, new, before, after)
        if (
            not wanted
            or not all(any(_alike(world, other) for other in now) for world in wanted)
            or len(now) > len(wanted)
        ):
            losses.append(Loss(old.line, wanted, now))
    return tuple(losses)


def _has_room_now(old: Step, now: FrozenSet[World], before: Allocation, after: Allocation) -> bool:
    """Return whether just what was declared starts, since the job asks for more nodes."""
    worlds = frozenset(_declared(group, old) for group in old.groups)
    if not before.nodes or not after.nodes or after.nodes <= before.nodes or len(now) != len(worlds):
        return False
    return all(any(_alike(world, other) for other in now) for world in worlds)


def sizes(worlds: FrozenSet[World]) -> str:
    """Return the sizes of worlds in words: `a world of 8 ranks`, `worlds of 2 and 4 ranks`."""
    numbers = sorted({world.size for world in worlds if world.size is not None})
    if not numbers:
        return "a world whose size is not known"
    names = [str(number) for number in numbers]
    if len(names) == 1:
        return "a world of %s" % counted(numbers[0], "rank")
    return "worlds of %s and %s ranks" % (", ".join(names[:-1]), names[-1])


def shapes(worlds: FrozenSet[World]) -> str:
    """Return the sizes of worlds and how each lies on its nodes: `a world of 8 ranks (4 on each of 2 nodes)`."""
    known = sorted((world.workers, world.nodes) for world in worlds if world.workers and world.nodes)
    lie = ["%d on each of %d nodes" % shape if shape[1] > 1 else "all on one node" for shape in known]
    return "%s (%s)" % (sizes(worlds), "; ".join(lie)) if lie else sizes(worlds)


def _worlds(step: Step) -> FrozenSet[World]:
    """Return the worlds that would form, or that are declared where none would."""
    return frozenset(
        World(group.nodes, group.ranks_per_node, group.world_size or group.declared) for group in step.groups
    )


def _alike(meant: World, made: World) -> bool:
    """Return whether a world is the one that was meant, as far as its nodes and workers are known; its size must be."""
    pairs = zip(meant[:2], made[:2])
    return meant.size == made.size is not None and all(
        known is None or other in (None, known) for known, other in pairs
    )


def _was_unseen(old: Step, new: Step, before: Played, after: Played) -> bool:
    """Return whether what starts the ranks was not seen before (in a file that is found now), and is no fix's doing."""
    agent = _agent(new)
    if agent is None or _agent(old) is not None:
        return False
    at = agent.name_span
    return at is None or after.source[at.start : at.end] in _line(before.source, line_of(after.source, at.start))


def _meant(old: Step, new: Step, before: Played, after: Played) -> FrozenSet[World]:
    """Return the worlds that were meant by a launch line, none where that is not known."""
    full = filling(before.allocation)
    if not old.groups:
        return frozenset((full,) if full is not None else ())  # its words were not read, or cannot hold
    wanted = set()
    for group in old.groups:
        world = _declared(group, old)
        if group.launcher in AGENTS:
            world = _with_words_read_now(world, old, new, before, after)
        unsaid = _workers_unsaid(group, old) and _starts_fewer(old, new)
        if world.size is None or unsaid or not _feasible(world, group, old, before.allocation):
            if full is None:
                return frozenset()
            world = full
        wanted.add(world)
    return frozenset(wanted)


def _workers_unsaid(group: Group, step: Step) -> bool:
    """Return whether each agent starts one worker because nobody says how many: only the tasks were counted."""
    agent = _agent(step)
    return (
        group.launcher in AGENTS
        and AGENTS[group.launcher].one_unsaid
        and agent is not None
        and (step.workers_per_task, agent.option(*WORKERS)) == (1, None)
    )


def _starts_fewer(old: Step, new: Step) -> bool:
    return old.tasks is None or new.tasks is None or new.tasks < old.tasks


def _declared(group: Group, step: Step) -> World:
    workers, size = step.workers_per_task, group.declared
    if group.launcher not in AGENTS:
        return World(group.nodes, group.ranks_per_node, size)
    return World(size // workers if size and workers else None, workers, size)


def _with_words_read_now(world: World, old: Step, new: Step, before: Played, after: Played) -> World:
    """Return a world with the counts that the user wrote and that only the repaired line is read to say."""
    old_agent, new_agent = _agent(old), _agent(new)
    if old_agent is None or new_agent is None or not new.groups:
        return world
    nodes, workers = world.nodes, world.workers
    now = _declared(new.groups[0], new)
    if _is_users_own(NODES, old_agent, new_agent, before, after):
        nodes = now.nodes
    if _is_users_own(WORKERS, old_agent, new_agent, before, after):
        workers = now.workers
    if _is_its_count(WORKERS, old_agent, new_agent, before.source):
        same = nodes is None and _number(old_agent, NODES) == _number(new_agent, NODES)
        nodes, workers = now.nodes if same else nodes, now.workers
    if (nodes, workers) == (world.nodes, world.workers):
        return world
    return World(nodes, workers, nodes * workers if nodes and workers else None)


def _is_users_own(names: Tuple[str, ...], old: Link, new: Link, before: Played, after: Played) -> bool:
    """Return whether an option is read now and was not, and its words stand on the same line of the user's script."""
    option = new.option(*names)
    if option is None or option.span is None or old.option(*names) is not None:
        return False
    word = after.source[option.span[0] : option.span[1]].lstrip(b"-")
    return word in _line(before.source, line_of(after.source, option.span[0]))


def _is_its_count(names: Tuple[str, ...], old: Link, new: Link, source: bytes) -> bool:
    """Return whether a value was a type with a count, `a100:4`, and is the count alone now; no sum is made with it."""
    was, now = old.option(*names), new.option(*names)
    if was is None or now is None or was.value is None or now.value is None or not (was.value.known and now.value.raw):
        return False
    kind, colon, count = was.value.raw.rpartition(b":")
    at = was.value_span or was.span
    if not kind or not colon or count != now.value.raw or at is None:
        return False
    used = re.findall(rb"\$\{?(\w+)", source[at.start : at.end])
    return not any(re.search(rb"\(\([^)\n]*\b%s\b" % name, source) for name in used)


def _number(link: Link, names: Tuple[str, ...]) -> Optional[int]:
    option = link.option(*names)
    return number(option.value) if option is not None else None


def _agent(step: Step) -> Optional[Link]:
    """Return the launcher of a line that starts workers itself."""
    return next((link for link in step.links if link.name in AGENTS), None)


def _line(source: bytes, number: int) -> bytes:
    return source.split(b"\n")[number - 1]


def _feasible(world: World, group: Group, step: Step, given: Allocation) -> bool:
    """Return whether a world that is declared has room in what was asked for, as far as that is known."""
    if group.launcher not in AGENTS:
        return step.tasks is None or world.size == step.tasks
    most = _gpus(given)
    too_wide = world.nodes is not None and given.nodes is not None and world.nodes > given.nodes
    too_deep = world.workers is not None and most is not None and world.workers > most
    return not too_wide and not too_deep


def filling(given: Allocation) -> Optional[World]:
    """Return the world that has one rank for each GPU that was asked for."""
    gpus = _gpus(given)
    return World(given.nodes, gpus, given.nodes * gpus) if given.nodes and gpus else None


def _gpus(given: Allocation) -> Optional[int]:
    """Return the GPUs that the job has on a node: those it asked for, else those of the only kind of node."""
    if given.gpus_per_node is not None:
        return given.gpus_per_node
    total = given.gpus or given.gpus_asked
    if total and given.nodes and total % given.nodes == 0:
        return total // given.nodes
    counts = {kind.gpus for kind in given.node_kinds}
    return next(iter(counts)) if len(counts) == 1 else None


def pinned(before: Played, after: Played, made: Sequence[Edit]) -> Iterator[Tuple[Edit, ...]]:
    """Yield edits that write a count's old number where words stood whose value a fix changes: all, then each.

    *made*: the fix, which says why. Counts that it has written itself are its own.
    """
    ways: List[Tuple[Edit, ...]] = []
    for old, new in zip(before.steps, after.steps):
        ways += _pinned(old, new, before.source, made)
    if len(ways) > 1:
        yield tuple(edit for way in ways for edit in way)
    yield from ways


def _expansion(span: Optional[Span], source: bytes) -> Optional[Span]:
    """Return the place of a value: all of `${NAME:-4}` where it is the 4 in it."""
    if span is None:
        return None
    # Made here: few submissions need it, and all would pay for it.
    head = re.compile(rb"\$\{\w+:?[-=]\Z").search(source, max(0, span.start - 200), span.start)
    if head is None or source[span.end : span.end + 1] != b"}":
        return span
    return Span(head.start(), span.end + 1)


def _pinned(old: Step, new: Step, source: bytes, made: Sequence[Edit]) -> Iterator[Tuple[Edit, ...]]:
    old_agent, new_agent = _agent(old), _agent(new)
    if old_agent is None or new_agent is None:
        return
    for name in (*WORKERS, *NODES):
        was, now = old_agent.option(name), new_agent.option(name)
        number_was = number(was.value) if was is not None else None
        if was is None or number_was is None or (now is not None and number(now.value) == number_was):
            continue
        span = _expansion(was.value.written() if was.value is not None else None, source)
        if span is not None and not any(edit.span.start <= span.start < edit.span.end for edit in made):
            yield (Edit(span, b"%d" % number_was, made[0].because if made else ""),)
