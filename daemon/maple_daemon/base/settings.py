"""`daemon.toml`: what the administrator settles about the service. Every key has a default; others are mistakes."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import tomllib
from maple_submit_filter.host import places
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..store.protocol import LEAST_USERS, Caps
from .limits import Bounds

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
