"""`daemon.toml`: what the administrator settles about the service. Every key has a default; others are mistakes."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import tomllib
from maple_submit_filter import places
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .limits import Bounds

Role = Literal["submissions", "events"]


class Table(BaseModel):
    """Only the keys named here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PerUser(Table):
    """What one user may ask, so that a flood of one is not felt by another."""

    rate: Annotated[float, Field(gt=0)] = Bounds().rate
    burst: Annotated[float, Field(ge=1)] = Bounds().burst
    connections: Annotated[int, Field(ge=1)] = Bounds().open


class Settings(Table):
    """*conf*: the front's own file, which names site, policy and modes. *metrics*: a socket's path, or a loopback port.

    *store*: the file of the memory that outlives the service, "" for none.
    *memory_mib*: for decisions that are known. *workers*: processes that decide; 0: one for each two cores.
    """

    socket: str = "/run/maple/daemon.sock"
    conf: str = ""
    roles: list[Role] = ["submissions"]
    workers: Annotated[int, Field(ge=0, le=64)] = 0
    memory_mib: Annotated[int, Field(ge=1, le=65536)] = 64
    connections: Annotated[int, Field(ge=1, le=65536)] = Bounds().all
    per_user: PerUser = PerUser()
    store: str = "/var/lib/maple/memory.db"
    metrics: str = ""
    log: Literal["json", "text"] = "json"

    @property
    def bounds(self) -> Bounds:
        """What the server holds callers to."""
        user = self.per_user
        return Bounds(user.rate, user.burst, user.connections, self.connections)

    @property
    def worker_count(self) -> int:
        """How many processes decide."""
        return self.workers or max(1, (os.cpu_count() or 2) // 2)


class Wrong(Exception):
    """The settings cannot be used; a line for each mistake."""


def load(path: str = "") -> Settings:
    """Return the settings in *path*, or in `daemon.toml` of /etc/maple, or the defaults. Raises `Wrong`."""
    name = path or os.path.join(places.etc(), "daemon.toml")
    try:
        with open(name, "rb") as file:
            told = tomllib.load(file)
        return Settings.model_validate(told)
    except FileNotFoundError:
        if path:
            raise Wrong("%s: no such file" % path) from None
        return Settings()
    except ValidationError as error:
        lines = [
            "%s: %s: %s" % (name, ".".join(str(part) for part in one["loc"]) or "file", one["msg"].lower())
            for one in error.errors(include_url=False)
        ]
        raise Wrong("\n".join(lines)) from None
    except tomllib.TOMLDecodeError as error:
        raise Wrong("%s: not TOML: %s" % (name, error)) from None
    except OSError as error:
        raise Wrong("%s: %s" % (name, (error.strerror or str(error)).lower())) from None
