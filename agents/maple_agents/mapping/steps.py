"""The estimate step by step: a rank sends its part of a ring as soon as it has heard the one before.

Finer than `costs.seconds`, in which a group moves at one rate: two edges of one ring that share a link are seldom busy
at the same time, and a rank that waits leaves its link idle. It takes as long as there are messages, so it is for small
worlds and few rounds. What is sent waits in the buffers of the receiver: nobody waits for having sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from .costs import Capacity, Exchange, Link

Edge = tuple[int, int]
Step = tuple[tuple[tuple[int, float], ...], tuple[int, ...]]  # what is sent to whom, and from whom is heard
MOST = 20_000  # messages


def messages(programs: Sequence[Sequence[Exchange]]) -> int:
    """Return how many messages there are in all, at least."""
    return sum(2 * (len(exchange.members) - 1) * exchange.rounds for program in programs for exchange in program)


def seconds(programs: Sequence[Sequence[Exchange]], capacity: Capacity) -> float:
    """Return when the last rank is done, as `costs.seconds` has it; raises `ValueError` where ranks wait for ever."""
    world = _World(programs, capacity)
    while not world.done():
        world.go_on()
    return world.now


class _World:
    """Ranks at their steps, and the messages on each edge, one behind the other."""

    def __init__(self, programs: Sequence[Sequence[Exchange]], capacity: Capacity) -> None:
        self.capacity, self.now = capacity, 0.0
        self.left = [deque(_steps(rank, program)) for rank, program in enumerate(programs)]
        self.waits: list[dict[int, int]] = [{} for _ in programs]  # from whom, and how many messages are still to come
        self.heard: dict[Edge, int] = {}
        self.edges: dict[Edge, deque[float]] = {}
        self.crossed: dict[Edge, tuple[Link, ...]] = {}
        for rank in range(len(programs)):
            self._begin(rank)

    def done(self) -> bool:
        """Return whether every rank has done all of its steps."""
        return not any(self.waits) and not any(self.left)

    def go_on(self) -> None:
        """Let time go by until the next message is there, and everybody do what can be done then."""
        moving = [edge for edge, waiting in self.edges.items() if waiting]
        if not moving:
            raise ValueError("ranks wait for each other for ever")
        rates = self._rates(moving)
        step = min(self.edges[edge][0] / rates[edge] for edge in moving)
        self.now += step
        for edge in moving:
            self.edges[edge][0] -= rates[edge] * step
            if self.edges[edge][0] <= 1e-6:
                self.edges[edge].popleft()
                self.heard[edge] = self.heard.get(edge, 0) + 1
                self._hear(edge[1])

    def _begin(self, rank: int) -> None:
        """Send what the next step sends, and wait for what it wants to hear."""
        while self.left[rank] and not self.waits[rank]:
            sent, wanted = self.left[rank].popleft()
            for other, size in sent:
                self._send((rank, other), size)
            self.waits[rank] = dict.fromkeys(wanted, 1)
            self._take(rank)

    def _send(self, edge: Edge, size: float) -> None:
        if edge not in self.crossed:
            self.crossed[edge] = self.capacity.links(*edge)[0]
        late = self.capacity.links(*edge)[1]
        self.edges.setdefault(edge, deque()).append(size + late * min(map(self.capacity.of, self.crossed[edge])))

    def _hear(self, rank: int) -> None:
        self._take(rank)
        self._begin(rank)

    def _take(self, rank: int) -> None:
        """Take what has come and is waited for."""
        for other in list(self.waits[rank]):
            if self.heard.get((other, rank), 0):
                self.heard[other, rank] -= 1
                del self.waits[rank][other]

    def _rates(self, moving: Sequence[Edge]) -> dict[Edge, float]:
        """Return the bytes a second of each edge: all grow alike until a link of theirs is full."""
        rates: dict[Edge, float] = {}
        left, room = set(moving), {}
        for edge in moving:
            room.update({link: self.capacity.of(link) for link in self.crossed[edge]})
        while left:
            load: dict[Link, int] = {}
            for edge in left:
                for link in self.crossed[edge]:
                    load[link] = load.get(link, 0) + 1
            full = min(load, key=lambda link: room[link] / load[link])
            rate = room[full] / load[full]
            for edge in [edge for edge in left if full in self.crossed[edge]]:
                rates[edge] = max(rate, 1.0)
                left.discard(edge)
                for link in self.crossed[edge]:
                    room[link] -= rate
        return rates


def _steps(rank: int, program: Sequence[Exchange]) -> Iterator[Step]:
    for exchange in program:
        members, at = exchange.members, exchange.members.index(rank)
        count = len(members)
        for _ in range(exchange.rounds if count > 1 else 0):
            if exchange.kind == "allreduce":
                step: Step = (((members[(at + 1) % count], exchange.size / count),), (members[at - 1],))
                yield from [step] * (2 * (count - 1))
                continue
            near = [members[index] for index in (at - 1, at + 1) if 0 <= index < count]
            others = near if exchange.kind == "chain" else [other for other in members if other != rank]
            size = exchange.size if exchange.kind == "chain" else exchange.size / count
            yield tuple((other, size) for other in others), tuple(others)
