"""Whether waiting jobs are ordered by forecasts, and how far: a file beside daemon.toml, read anew in each round.

So that `maple admin priority off` holds within a round, and nothing has to be restarted. No file: off.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..base.settings import Settings
from .factor import Bounds

NAME = "priority.json"
WRITTEN = "priority-written.json"
HOME = "/var/lib/maple"  # where a store on a server leaves no folder of its own


class Switch(BaseModel):
    """*bound*: points, either way. *every*: seconds between two rounds. *patience_hours*: as `Bounds` has it.

    *table*: the file that PBS's hook reads, "" on Slurm. *reference_seconds*: work on one GPU or node that is put
    neither forward nor back.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    on: bool = False
    table: str = ""
    bound: Annotated[int, Field(ge=1, le=100_000_000)] = 1000
    every: Annotated[float, Field(ge=0.2, le=3600)] = 30.0
    patience_hours: Annotated[float, Field(gt=0, le=24 * 90)] = 24.0
    reference_seconds: Annotated[float, Field(gt=0)] = 3600.0

    @property
    def bounds(self) -> Bounds:
        """How far a job is put."""
        return Bounds(self.bound, self.patience_hours * 3600, self.reference_seconds)


class Status(Switch):
    """What `maple admin priority status` prints: *jobs* that have points, and what keeps these without effect."""

    model_config = ConfigDict(extra="ignore", json_schema_serialization_defaults_required=True)

    jobs: int
    hindered: str


def read(path: Path) -> Switch:
    """Return what the file says, off where there is none. Raises `ValueError` in one line, and `OSError`."""
    try:
        return Switch.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Switch()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError("%s: %s" % (path, ": ".join(filter(None, (where, first["msg"].lower()))))) from None


def place(settings_file: str) -> Path:
    """Return the file that belongs to these settings."""
    return Path(settings_file).with_name(NAME)


def written_place(settings: Settings) -> Path:
    """Return the file that keeps which jobs have points of ours: beside the store, which is ours to write."""
    folder = os.path.dirname(settings.store) if settings.store.startswith("/") else HOME
    return Path(folder) / WRITTEN
