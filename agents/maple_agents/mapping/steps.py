"""The estimate step by step: a rank sends its part of a ring as soon as it has heard the one before.

Finer than `costs.seconds`, in which a group moves at one rate: a port serves what has come to it first, piece by piece,
and stands idle while those wait for each other that would use it. Sharing a port evenly, as flows are mostly thought to
do, takes unlike placements for alike. It takes as long as there are messages, so it is for small worlds and few rounds.
What is sent waits in the buffers of the receiver: nobody waits for having sent.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import costs
from .costs import Capacity, Exchange, Link

Edge = tuple[int, int]
Step = tuple[tuple[tuple[int, float], ...], tuple[int, ...]]  # what is sent to whom, and from whom is heard
Said = tuple[Sequence[Sequence[Exchange]], Capacity]  # what each rank exchanges, over which links
MOST = 20_000  # messages
_PIECES, _AHEAD = 16, 8  # of a message; how many of them a sender puts into its port's queue before the first is out


def messages(programs: Sequence[Sequence[Exchange]]) -> int:
    """Return how many messages there are in all, at least."""
    return sum(2 * (len(exchange.members) - 1) * exchange.rounds for program in programs for exchange in program)


def seconds(programs: Sequence[Sequence[Exchange]], capacity: Capacity) -> float:
    """Return when the last rank is done, as `costs.seconds` has it; raises `ValueError` where ranks wait for ever."""
    world = _World(programs, capacity)
    while not world.done():
        world.go_on()
    return world.now


TOLD = 1_500  # messages of an estimate that somebody waits for
_ROUNDS = 2


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


def ratio(here: Said, there: Said) -> float | None:
    """Return how long this one takes in times of the other, by steps where these are few, else by groups."""
    both = [(merged(programs), programs, capacity) for programs, capacity in (here, there)]
    few = max(messages(short) for short, _, _ in both) <= TOLD
    this, other = (
        seconds(short, capacity) if few else costs.seconds(programs, capacity) for short, programs, capacity in both
    )
    return this / other if this and other else None


class _Piece(NamedTuple):
    """A part of a message on its way. *on*: how many links are behind it; *until*: when the one before lets it go."""

    edge: Edge
    size: float
    last: bool
    on: int = 0
    until: float = 0.0


class _World:
    """Ranks at their steps, and the pieces of messages that wait before each link, in the order they came."""

    def __init__(self, programs: Sequence[Sequence[Exchange]], capacity: Capacity) -> None:
        self.capacity, self.now, self.events = capacity, 0.0, 0
        self.left = [deque(_steps(rank, program)) for rank, program in enumerate(programs)]
        self.waits: list[dict[int, int]] = [{} for _ in programs]  # from whom, and how many messages are still to come
        self.heard: dict[Edge, int] = {}
        self.unsent: dict[Edge, deque[_Piece]] = {}
        self.ahead: dict[Edge, int] = {}
        self.queues: dict[Link, deque[_Piece]] = {}  # of links that are busy
        self.coming: list[tuple[float, int, Link | None, _Piece]] = []  # a link is free again, or a piece is there
        for rank in range(len(programs)):
            self._begin(rank)

    def done(self) -> bool:
        """Return whether every rank has done all of its steps."""
        return not any(self.waits) and not any(self.left)

    def go_on(self) -> None:
        """Let time go by until a link is free or a piece is there, and everybody do what can be done then."""
        if not self.coming:
            raise ValueError("ranks wait for each other for ever")
        self.now, _, link, piece = heapq.heappop(self.coming)
        if link is None:
            self.heard[piece.edge] = self.heard.get(piece.edge, 0) + 1
            self._take(piece.edge[1])
            self._begin(piece.edge[1])
            return
        if piece.on == 0:
            self.ahead[piece.edge] -= 1
            self._send(piece.edge)
        waiting = self.queues[link]
        if waiting:
            self._serve(link, waiting.popleft())
        else:
            del self.queues[link]

    def _begin(self, rank: int) -> None:
        """Send what the next step sends, and wait for what it wants to hear."""
        while self.left[rank] and not self.waits[rank]:
            sent, wanted = self.left[rank].popleft()
            for other, size in sent:
                pieces = self.unsent.setdefault((rank, other), deque())
                pieces += [_Piece((rank, other), size / _PIECES, at == _PIECES - 1) for at in range(_PIECES)]
                self._send((rank, other))
            self.waits[rank] = dict.fromkeys(wanted, 1)
            self._take(rank)

    def _send(self, edge: Edge) -> None:
        """Put pieces into the queue of the first link, as far as the sender may be ahead of it."""
        links = self.capacity.links(*edge)[0]
        while self.unsent[edge] and (not links or self.ahead.get(edge, 0) < _AHEAD):
            piece = self.unsent[edge].popleft()
            if links:
                self.ahead[edge] = self.ahead.get(edge, 0) + 1
            self._queue(piece)

    def _queue(self, piece: _Piece) -> None:
        """Let a piece wait before its next link; behind the last one it is there."""
        links, late = self.capacity.links(*piece.edge)
        if piece.on == len(links):
            if piece.last:
                self._expect(max(piece.until, self.now) + late, None, piece)
        elif links[piece.on] in self.queues:
            self.queues[links[piece.on]].append(piece)
        else:
            self.queues[links[piece.on]] = deque()
            self._serve(links[piece.on], piece)

    def _serve(self, link: Link, piece: _Piece) -> None:
        """Let a piece through a link; its first bytes are at the next one at once, its last when they are here."""
        until = max(self.now + piece.size / self.capacity.of(link), piece.until)
        self._expect(until, link, piece)
        self._queue(piece._replace(on=piece.on + 1, until=until))

    def _expect(self, when: float, link: Link | None, piece: _Piece) -> None:
        self.events += 1
        heapq.heappush(self.coming, (when, self.events, link, piece))

    def _take(self, rank: int) -> None:
        """Take what has come and is waited for."""
        for other in list(self.waits[rank]):
            if self.heard.get((other, rank), 0):
                self.heard[other, rank] -= 1
                del self.waits[rank][other]


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
