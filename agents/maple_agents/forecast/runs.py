"""A run of a job as an accounting tells it, sums of runs, and the job that a forecast is asked for."""

from __future__ import annotations

from typing import NamedTuple

SCALING = (
    "epochs", "steps", "batch_size", "batch_size_global", "batch_size_per_device", "gradient_accumulation",
    "sequence_length", "model", "data",
)  # fmt: skip
RAN = ("completed", "timeout", "out-of-memory")  # ends that tell how long a job takes, or how much it wants


class Work(NamedTuple):
    """What decides how much there is to do: values that were read of the job, by name, and its size.

    *values*: of `SCALING`, in the order of their names. *nodes*, *gpus*: None where nobody knows.
    """

    values: tuple[tuple[str, str], ...] = ()
    nodes: int | None = None
    gpus: int | None = None


class Asked(NamedTuple):
    """A job that is about to be submitted, or was. *limit*: seconds; *memory*: bytes on a node; None: not asked for.

    *version*: hash of the script, "" where nobody keeps it. *submitted*: seconds since 1970. *about*: what it trains,
    in words, "" for a job that was. *lineage*: the path of the script that it is a version of, "" where nobody knows.
    """

    user: str
    name: str
    folder: str = ""
    submitted: float = 0.0
    limit: float | None = None
    memory: int | None = None
    version: str = ""
    work: Work = Work()
    about: str = ""
    lineage: str = ""


class Run(NamedTuple):
    """A job that ended. *seconds*: from its start to its end. *state*: a word of `job_records.STATES`.

    *memory*: bytes, the most that one of its tasks held when Slurm looked (every 30 s by default), or all that PBS
    counted on its nodes: a lower bound of what it needed. *gpu_memory*: bytes, the most on one GPU; *gpu_use*: percent,
    the most; where the scheduler tells them.
    """

    job: str
    asked: Asked
    ended: float
    seconds: float
    state: str
    memory: int | None = None
    gpu_memory: int | None = None
    gpu_use: float | None = None

    @property
    def is_cut(self) -> bool:
        """Return whether its limit ended it: it would have run longer."""
        return self.state == "timeout"

    @property
    def shows_time(self) -> bool:
        """Return whether it shows how long such a job takes: one that was ended for its memory might have run on."""
        return self.tells and self.state != "out-of-memory"

    @property
    def tells(self) -> bool:
        """Return whether it shows what such a job needs: one that failed or was cancelled shows nothing."""
        return self.state in RAN and self.seconds >= 1


class RunSum(NamedTuple):
    """What jobs that ended in one way came to, over all users; no user is in it. Hours of nodes: asked for, and run."""

    state: str
    users: int
    jobs: int
    asked_hours: float
    hours: float
