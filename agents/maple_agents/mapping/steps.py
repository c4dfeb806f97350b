"""The estimate step by step: a rank sends its part of a ring as soon as it has heard the one before.

Finer than `costs.seconds`, in which a group moves at one rate: a port serves what has come to it first, piece by piece,
and stands idle while those wait for each other that would use it. Sharing a port evenly, as flows are mostly thought to
do, takes unlike placements for alike. It takes as long as there are messages, so it is for small worlds and few rounds.
What is sent waits in the buffers of the receiver: nobody waits for having sent.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from . import costs
from .costs import Capacity, Exchange, Link

Edge = tuple[int, int]
Step = tuple[tuple[tuple[int, float], ...], tuple[int, ...]]  # what is sent to whom, and from whom is heard
Said = tuple[Sequence[Sequence[Exchange]], Capacity]  # what each rank exchanges, over which links
_PIECES = 16  # of a message; a sender puts half of them into its port's queue before the first is out


def messages(programs: Sequence[Sequence[Exchange]]) -> int:
    """Return how many messages there are in all, at least."""
    return sum(2 * (len(exchange.members) - 1) * exchange.rounds for program in programs for exchange in program)


def seconds(programs: Sequence[Sequence[Exchange]], capacity: Capacity, pieces: int = _PIECES) -> float:
    """Return when the last rank is done, as `costs.seconds` has it; raises `ValueError` where ranks wait for ever."""
    return played([_steps(rank, program) for rank, program in enumerate(programs)], capacity, pieces)


def played(ranks: Sequence[Iterable[Step]], capacity: Capacity, pieces: int = _PIECES) -> float:
    """Return the same for ranks of any program, each with what it sends and hears, step by step."""
    world = _World(ranks, capacity, pieces)
    while world.coming:
        world.go_on()
    if any(world.waits) or any(world.left):
        raise ValueError("ranks wait for each other for ever")
    return world.end


TOLD = 3_000  # messages of an estimate that somebody waits for: some hundredths of a second
_ROUNDS, FEW = 2, 4  # of each exchange then, and pieces of each message: they follow the lab as well as all of them do


def merged(programs: Sequence[Sequence[Exchange]]) -> list[list[Exchange]]:
    """Return the same bytes in fewer and larger exchanges, which take as long but for the delays of each."""
    made = []
    for program in programs:
        rounds = [min(exchange.rounds, _ROUNDS) for exchange in program]
        made.append([
            exchange._replace(size=exchange.size * exchange.rounds / count, rounds=count)
            for exchange, count in zip(program, rounds)
        ])  # fmt: skip
    return made


def estimate(programs: Sequence[Sequence[Exchange]], capacity: Capacity, most: int = TOLD) -> float:
    """Return how long all take in seconds, by steps where there are no more messages than *most*, else by groups.

    Which it is depends on the sizes of groups alone, so that all orders of the same axes are estimated alike.
    """
    short = merged(programs)
    return seconds(short, capacity, FEW) if messages(short) <= most else costs.seconds(programs, capacity)


def ratio(here: Said, there: Said) -> float | None:
    """Return how long this one takes in times of the other, both by steps or both by groups."""
    most = TOLD if max(messages(merged(programs)) for programs, _ in (here, there)) <= TOLD else 0
    this, other = (estimate(*programs, most) for programs in (here, there))
    return this / other if this and other else None


class _Port:
    """A link: the bytes a second that it lets through, whether a piece is in it, and those that wait for it in turn."""

    __slots__ = ("busy", "rate", "waiting")

    def __init__(self, rate: float) -> None:
        self.rate, self.busy, self.waiting = rate, False, deque[_Piece]()


class _Way:
    """From one rank to another: its ports, and what is not yet sent, how much is sent ahead, and how much heard."""

    __slots__ = ("ahead", "heard", "late", "ports", "source", "target", "unsent")

    def __init__(self, source: int, target: int, ports: Sequence[_Port], late: float) -> None:
        self.source, self.target, self.ports, self.late = source, target, ports, late
        self.unsent, self.ahead, self.heard = deque[_Piece](), 0, 0


class _Piece:
    """A part of a message. *on*: how many ports are behind it; *until*: when the one before lets it go."""

    __slots__ = ("last", "on", "size", "until", "way")

    def __init__(self, way: _Way, size: float, last: bool) -> None:
        self.way, self.size, self.last, self.on, self.until = way, size, last, 0, 0.0


class _World:
    """Ranks at their steps, and the pieces of messages that wait before each port, in the order they came."""

    def __init__(self, ranks: Sequence[Iterable[Step]], capacity: Capacity, pieces: int) -> None:
        self.capacity, self.pieces, self.now, self.end, self.events = capacity, pieces, 0.0, 0.0, 0
        self.left = [deque(steps) for steps in ranks]
        self.waits: list[set[int]] = [set() for _ in ranks]  # from whom a message is still to come
        self.ways: dict[Edge, _Way] = {}
        self.ports: dict[Link, _Port] = {}
        self.coming: list[tuple[float, int, _Port | None, _Way]] = []  # a port is free again, or a message is there
        for rank in range(len(ranks)):
            self._begin(rank)

    def go_on(self) -> None:
        """Let time go by until a port is free or a message is there, and everybody do what can be done then."""
        self.now, _, port, way = heapq.heappop(self.coming)
        if port is None:
            way.heard += 1
            self.end = self.now
            self._take(way.target)
            self._begin(way.target)
            return
        if port is way.ports[0]:
            way.ahead -= 1
            self._send(way)
        port.busy = False
        if port.waiting:
            self._serve(port, port.waiting.popleft())

    def _way(self, source: int, target: int) -> _Way:
        way = self.ways.get((source, target))
        if way is None:
            links, late = self.capacity.links(source, target)
            ports = [self.ports.setdefault(link, _Port(self.capacity.of(link))) for link in links]
            way = self.ways[source, target] = _Way(source, target, ports, late)
        return way

    def _begin(self, rank: int) -> None:
        """Send what the next step sends, and wait for what it wants to hear."""
        while self.left[rank] and not self.waits[rank]:
            sent, wanted = self.left[rank].popleft()
            for other, size in sent:
                way = self._way(rank, other)
                way.unsent += [_Piece(way, size / self.pieces, at == self.pieces - 1) for at in range(self.pieces)]
                self._send(way)
            self.waits[rank] = set(wanted)
            self._take(rank)

    def _send(self, way: _Way) -> None:
        """Put pieces into the queue of the first port, as far as the sender may be ahead of it."""
        most = max(self.pieces // 2, 1)
        while way.unsent and (not way.ports or way.ahead < most):
            way.ahead += 1
            self._queue(way.unsent.popleft())

    def _queue(self, piece: _Piece) -> None:
        """Let a piece wait before its next port; behind the last one it is there."""
        way = piece.way
        if piece.on == len(way.ports):
            if piece.last:
                self._expect(max(piece.until, self.now) + way.late, None, way)
            return
        port = way.ports[piece.on]
        if port.busy:
            port.waiting.append(piece)
        else:
            self._serve(port, piece)

    def _serve(self, port: _Port, piece: _Piece) -> None:
        """Let a piece through a port; its first bytes are at the next one at once, its last when they are here."""
        port.busy = True
        until = max(self.now + piece.size / port.rate, piece.until)
        self._expect(until, port, piece.way)
        piece.on, piece.until = piece.on + 1, until
        self._queue(piece)

    def _expect(self, when: float, port: _Port | None, way: _Way) -> None:
        self.events += 1
        heapq.heappush(self.coming, (when, self.events, port, way))

    def _take(self, rank: int) -> None:
        """Take what has come and is waited for."""
        for other in tuple(self.waits[rank]):
            way = self._way(other, rank)
            if way.heard:
                way.heard -= 1
                self.waits[rank].discard(other)


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
