"""How fast the link from each rank to the next is, one by one: what a ring over all ranks cannot tell.

In a ring every rank waits for the slowest link, so all are slow alike. Here a rank and its next one talk alone, in
turns: ranks with even numbers first, then those with odd ones, and in an odd world the last rank by itself. So no rank
is on two links at once.
"""

import time
from typing import Any, Dict, List, NamedTuple, Tuple

WORDS = 64  # bytes of a short message; Linux allows a host's name no more
SMALLEST = 1 << 16  # bytes of the first round; each size is four times the one before
ROUNDS = 10  # at the largest size: a busy host spoils some of them
PATIENCE = 0.5  # seconds after which a link gets no further round


class Wire:
    """The way to one neighbour. Each call ends when its data are sent, or have come."""

    def say(self, words: bytes) -> None:
        """Send a short message of at most `WORDS` bytes."""
        raise NotImplementedError

    def hear(self) -> bytes:
        """Return the short message that comes."""
        raise NotImplementedError

    def push(self, nbytes: int) -> None:
        """Send so many bytes of anything."""
        raise NotImplementedError

    def pull(self, nbytes: int) -> None:
        """Take in so many bytes, and forget them."""
        raise NotImplementedError


class Place(NamedTuple):
    """This rank among those that came together, and what its host calls itself."""

    rank: int
    size: int
    host: str


def measured(place: Place, onward: Wire, back: Wire, most: int, timeout: float) -> List[Dict[str, Any]]:
    """Return the facts of this rank's link to the next rank; none in a world of one.

    *onward* leads to the next rank, *back* to the one before. *most* is the largest size in bytes. A slow link ends
    long before *timeout*, the seconds of a phase, is over: it only loses rounds.
    """
    if place.size == 1:
        return []
    facts: List[Dict[str, Any]] = []
    before = (place.rank - 1) % place.size
    patience = min(PATIENCE, timeout / 20)  # three turns, in which a last round of four times the patience may follow
    for turn in range(2 + place.size % 2):
        if turn_of(place.rank, place.size) == turn:
            host, nbytes, seconds = _timed(onward, most, patience)
            facts.append({
                "to": (place.rank + 1) % place.size, "to_host": host, "bytes": nbytes, "seconds": round(seconds, 6),
                "bytes_per_second": round(nbytes / seconds),
            })  # fmt: skip
        elif turn_of(before, place.size) == turn:
            _answer(back, place.host)
    return facts


def turn_of(rank: int, size: int) -> int:
    """Return in which turn a rank measures its link to the next one."""
    return 2 if size % 2 and rank == size - 1 else rank % 2


def sizes(most: int) -> List[int]:
    """Return the bytes of each round: rising, so that a slow link is known before much is sent over it."""
    rising = [SMALLEST]
    while rising[-1] * 4 < most:
        rising.append(rising[-1] * 4)
    return rising + [most] * ROUNDS


def _timed(wire: Wire, most: int, patience: float) -> Tuple[str, int, float]:
    """Return the neighbour's host, and bytes and seconds of the best round among those of the largest size reached.

    The best one, because a busy host makes a round slower and never faster. The time runs until the neighbour has
    answered, for what was sent may still lie in this host's own memory.
    """
    wire.say(b"ready")  # the neighbour may still be busy, and some backends connect at the first message
    host = wire.hear().decode("ascii", "replace")
    best = (0, 0.0)
    started = time.perf_counter()
    for nbytes in sizes(most):
        wire.say(b"%d" % nbytes)
        began = time.perf_counter()
        wire.push(nbytes)
        wire.hear()
        ended = time.perf_counter()
        if nbytes > best[0] or ended - began < best[1]:
            best = (nbytes, max(1e-6, ended - began))
        if ended - started > patience:
            break
    wire.say(b"0")
    return host, best[0], best[1]


def _answer(wire: Wire, host: str) -> None:
    wire.hear()
    wire.say(host.encode("ascii", "replace")[:WORDS])
    while True:
        nbytes = int(wire.hear())
        if nbytes == 0:
            return
        wire.pull(nbytes)
        wire.say(b"done")
