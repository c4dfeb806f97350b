"""How much one user may ask, so that no user's flood is felt by another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Bounds(NamedTuple):
    """*rate*: requests a second of one uid in the long run; *burst*: at once. *open*: connections of one uid.

    *all*: connections of all; *held*: bytes of their unanswered requests.
    """

    rate: float = 200.0
    burst: float = 400.0
    open: int = 64
    all: int = 1024
    held: int = 256 << 20


class Busy(Exception):
    """The caller asks too much; its front goes to its own helper."""


class Limits:
    """Counts connections and requests by uid. Memory is bounded by the uids that are connected or lately were."""

    MOST_UIDS = 4096

    def __init__(self, bounds: Bounds, clock: Callable[[], float]) -> None:
        self._bounds, self._clock = bounds, clock
        self._open: dict[int, int] = {}
        self._held = 0
        self._tokens: dict[int, tuple[float, float]] = {}  # uid → what is left, and when that was

    def enter(self, uid: int) -> None:
        """Count a connection. Raises `Busy` when there are too many; then it is not counted."""
        mine = self._open.get(uid, 0)
        if mine >= self._bounds.open or sum(self._open.values()) >= self._bounds.all:
            raise Busy("connections")
        self._open[uid] = mine + 1

    def leave(self, uid: int) -> None:
        """Count a connection off that `enter` has counted."""
        left = self._open.get(uid, 1) - 1
        if left:
            self._open[uid] = left
        else:
            self._open.pop(uid, None)

    def ask(self, uid: int) -> None:
        """Count a request. Raises `Busy` when the uid has used up its share."""
        now = self._clock()
        left, when = self._tokens.pop(uid, (self._bounds.burst, now))
        left = min(self._bounds.burst, left + max(0.0, now - when) * self._bounds.rate)
        self._tokens[uid] = (max(0.0, left - 1), now)  # the last place: the first is who asked longest ago
        if len(self._tokens) > self.MOST_UIDS:
            del self._tokens[next(iter(self._tokens))]
        if left < 1:
            raise Busy("rate")

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """Count the bytes of a request while it is held. Raises `Busy` when there are too many."""
        if self._held + size > self._bounds.held:
            raise Busy("memory")
        self._held += size
        try:
            yield
        finally:
            self._held -= size

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return sum(self._open.values())
