"""How much one user may ask, so that no user's flood is felt by another.

How many callers there are descriptors for: too many callers cost themselves an answer, not the service its own.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from maple_submit_filter.types.submission import Submission

OWN = 64  # of the service: store, log, metrics and whoever reads them, sockets that wait to be refused
OF_WORKER = 4
LEAST = 8

BYTES_OF_REQUEST = 64 << 10  # and so many more of them count as another request
_OF_SUBMISSION, _OF_TEXT = 4096, 40  # bytes that Python takes besides
SHARE = 8  # of the bytes that are held, one of so many is a uid's at most


class Bounds(NamedTuple):
    """*rate*: requests a second of one uid in the long run; *burst*: at once. *open*: connections of one uid.

    *all*: connections of all; *held*: bytes of their unanswered requests, of which one uid has an eighth at most.
    """

    rate: float = 200.0
    burst: float = 400.0
    open: int = 64
    all: int = 1024
    held: int = 256 << 20


def bytes_of(submission: Submission) -> int:
    """Return the bytes that a submission takes while it is held: a long environment as well as a long script."""
    texts = (submission.script or b"", submission.path, submission.cwd, *submission.argv)
    variables = (*submission.environment, *submission.environment.values())
    return _OF_SUBMISSION + sum(len(text) + _OF_TEXT for text in (*texts, *variables))


class Busy(Exception):
    """The caller asks too much; its front goes to its own helper."""


class Limits:
    """Counts connections and requests by uid. Memory is bounded by the uids that are connected or lately were."""

    MOST_UIDS = 4096

    def __init__(self, bounds: Bounds, clock: Callable[[], float]) -> None:
        self._bounds, self._clock = bounds, clock
        self._open: dict[int, int] = {}
        self._all = 0
        self._held = 0
        self._held_of: dict[int, int] = {}
        self._tokens: dict[int, tuple[float, float]] = {}  # uid → what is left, and when that was

    def enter(self, uid: int) -> None:
        """Count a connection and its request. Raises `Busy` when there are too many; then it is no connection."""
        mine = self._open.get(uid, 0)
        if mine >= self._bounds.open or self._all >= self._bounds.all:
            raise Busy("connections")
        self.ask(uid)
        self._open[uid] = mine + 1
        self._all += 1

    def leave(self, uid: int) -> None:
        """Count a connection off that `enter` has counted."""
        left = self._open.get(uid, 1) - 1
        self._all -= 1
        if left:
            self._open[uid] = left
        else:
            self._open.pop(uid, None)

    def ask(self, uid: int) -> None:
        """Count a request. Raises `Busy` when the uid has used up its share."""
        left = self._left(uid)
        self._keep(uid, left - 1 if left >= 1 else left)
        if left < 1:
            raise Busy("rate")

    def spend(self, uid: int, size: int) -> None:
        """Count what is longer than usual of what is read or written for the uid: long requests use up its share.

        It may come to owe some, but not more than one burst.
        """
        more = max(0, size - BYTES_OF_REQUEST) / BYTES_OF_REQUEST
        if more:
            self._keep(uid, max(-self._bounds.burst, self._left(uid) - more))

    def _left(self, uid: int) -> float:
        now = self._clock()
        left, when = self._tokens.pop(uid, (self._bounds.burst, now))
        return min(self._bounds.burst, left + max(0.0, now - when) * self._bounds.rate)

    def _keep(self, uid: int, left: float) -> None:
        self._tokens[uid] = (left, self._clock())  # the last place: the first is who asked longest ago
        if len(self._tokens) > self.MOST_UIDS:
            del self._tokens[next(iter(self._tokens))]

    @contextmanager
    def holding(self, size: int, uid: int) -> Iterator[None]:
        """Count the bytes of a request of the uid while it is held. Raises `Busy` when there are too many."""
        mine = self._held_of.get(uid, 0)
        if self._held + size > self._bounds.held or (mine and mine + size > self._bounds.held // SHARE):
            raise Busy("memory")
        self._held += size
        self._held_of[uid] = mine + size
        try:
            yield
        finally:
            self._held -= size
            left = self._held_of.get(uid, 0) - size
            if left > 0:
                self._held_of[uid] = left
            else:
                self._held_of.pop(uid, None)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return self._all


def callers_served(wanted: int, workers: int) -> int:
    """Raise the soft limit as far as *wanted* callers need and the hard one lets; return how many there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    own = OWN + OF_WORKER * workers
    if soft != resource.RLIM_INFINITY and soft < wanted + own:
        soft = wanted + own if hard == resource.RLIM_INFINITY else min(hard, wanted + own)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(LEAST, min(wanted, soft - own))
