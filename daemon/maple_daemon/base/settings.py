"""`daemon.toml`: what the administrator settles about the service, and how much one user may ask of it.

No user's flood is felt by another; and too many callers cost themselves an answer, not the service its own.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, NamedTuple

import tomllib
from maple_submit_filter.host import places
from maple_submit_filter.types.submission import Submission
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..store.protocol import LEAST_USERS, Caps

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


MOST_WORKERS = 8  # unless more are asked for: what the units grant in memory and tasks is for so many
Role = Literal["submissions", "events"]


class Table(BaseModel):
    """Only the keys named here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PerUser(Table):
    """What one user may ask, so that a flood of one is not felt by another."""

    rate: Annotated[float, Field(gt=0)] = Bounds().rate
    burst: Annotated[float, Field(ge=1)] = Bounds().burst
    connections: Annotated[int, Field(ge=1)] = Bounds().open


class Keep(Table):
    """What the store keeps at most. *days*: since a version was last submitted; *mib*: of the whole store."""

    days: Annotated[int, Field(ge=1)] = Caps().days
    versions_of_user: Annotated[int, Field(ge=1)] = Caps().versions_of_user
    records_of_user: Annotated[int, Field(ge=1)] = Caps().records_of_user
    decisions_of_user: Annotated[int, Field(ge=1)] = Caps().decisions_of_user
    mib: Annotated[int, Field(ge=1)] = Caps().bytes >> 20


class Admission(Table):
    """*read_files*: whether a user's own process may read his program and its configs, where front.conf names it.

    *not_groups*: ids of Unix groups whose members' files are not read.
    """

    read_files: bool = True
    not_groups: list[int] = []


class Corrections(Table):
    """Sums over users are shown where so many users, at least, have something in common."""

    users: Annotated[int, Field(ge=LEAST_USERS)] = LEAST_USERS


def _port_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Settings(Table):
    """*conf*: the front's own file, which names site, policy and modes. *metrics*: a socket's path, or a loopback port
    (9100, or 127.0.0.1:9100).

    *store*: the file of the memory that outlives the service, or `postgresql://USER@HOST/DATABASE?passfile=FILE` where
    several login nodes share one; "" for none.
    *spool*: the folder (mode 1733) in which the scheduler's hooks leave events; *events_socket*: where role `events`
    listens for them; *events_users*: whose word about the end of a job counts, besides root's and the service's own.
    *polling_seconds*: between two questions to the scheduler where no hook tells; 0: it is never asked.
    *memory_mib*: for decisions that are known. *workers*: processes that decide; 0: one for each two cores, eight at
    most.
    """

    socket: str = "/run/maple/daemon.sock"
    conf: str = ""
    roles: list[Role] = ["submissions"]
    workers: Annotated[int, Field(ge=0, le=64)] = 0
    memory_mib: Annotated[int, Field(ge=1, le=65536)] = 64
    connections: Annotated[int, Field(ge=1, le=65536)] = Bounds().all
    per_user: PerUser = PerUser()
    store: str = "/var/lib/maple/memory.db"
    keep: Keep = Keep()
    corrections: Corrections = Corrections()
    admission: Admission = Admission()
    metrics: Annotated[str, BeforeValidator(_port_as_text)] = ""
    spool: str = ""
    events_socket: str = ""
    events_users: list[str] = ["slurm"]
    polling_seconds: Annotated[float, Field(ge=0)] = 0
    log: Literal["json", "text"] = "json"

    @property
    def bounds(self) -> Bounds:
        """What the server holds callers to."""
        user = self.per_user
        return Bounds(user.rate, user.burst, user.connections, self.connections)

    @property
    def caps(self) -> Caps:
        """What a purge leaves."""
        keep = self.keep
        return Caps(keep.days, keep.versions_of_user, keep.records_of_user, keep.mib << 20, keep.decisions_of_user)

    @property
    def worker_count(self) -> int:
        """How many processes decide."""
        return self.workers or min(MOST_WORKERS, max(1, (os.cpu_count() or 2) // 2))


class Wrong(Exception):
    """The settings cannot be used; a line for each mistake."""


def load(path: str = "") -> Settings:
    """Return the settings in *path*, or in `daemon.toml` of /etc/maple, or the defaults. Raises `Wrong`."""
    settings, wrong = examined(path)
    if wrong:
        raise Wrong("\n".join(wrong))
    return settings


def examined(path: str = "") -> tuple[Settings, list[str]]:
    """Return what can be used of the settings, and a line for each mistake: a wrong key leaves its default."""
    name = path or os.path.join(places.etc(), "daemon.toml")
    try:
        with open(name, "rb") as file:
            table = tomllib.load(file)
        return Settings.model_validate(table), []
    except FileNotFoundError:
        return Settings(), ["%s: no such file" % path] if path else []
    except ValidationError as error:
        errors = error.errors(include_url=False)
        wrong = {mistake["loc"][0] for mistake in errors if mistake["loc"]}
        lines = [
            "%s: %s: %s" % (name, ".".join(str(part) for part in mistake["loc"]) or "file", mistake["msg"].lower())
            for mistake in errors
        ]
        return Settings.model_validate({key: value for key, value in table.items() if key not in wrong}), lines
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return Settings(), ["%s: not TOML: %s" % (name, error)]
    except OSError as error:
        return Settings(), ["%s: %s" % (name, (error.strerror or str(error)).lower())]
