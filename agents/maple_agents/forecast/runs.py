"""A run of a job as an accounting tells it, and what ended by lineage: all that a forecast rests on.

A lineage is what its user takes for the same job: the same version where versions are kept, else the same name in the
same folder, else the versions of the same script under another name, else the same name alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

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


Basis = Literal["version", "folder", "lineage", "name"]
Key = tuple[Basis, str, str, str]
MOST_RUNS = 50  # of one lineage
MOST_CHANGES = 5_000  # of all lineages, the newest
OWN_CHANGES = 5  # of one lineage


class Lineage(NamedTuple):
    """The ended runs of a job that tell how long it takes, the newest end first, and what makes them one job."""

    basis: Basis
    runs: tuple[Run, ...]


class Lineages:
    """Learns runs in the order of their ends; what it says of a job rests on those that ended before that job came."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs: dict[Key, deque[Run]] = defaultdict(lambda: deque(maxlen=MOST_RUNS))
        self._own: dict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=OWN_CHANGES))
        self._newest: deque[float] = deque()
        self._sorted: list[float] = []
        for run in sorted(runs, key=lambda run: run.ended):
            self.ended(run)

    def ended(self, run: Run) -> None:
        """Learn a run. Whoever ended before belongs before it: none may have ended after the last one learnt."""
        if not run.tells:
            return
        before = self.before(run.asked, times=True)
        if before is not None and run.shows_time:
            self._changed(run, math.log(run.seconds / before.runs[0].seconds))
        for key in _keys(run.asked):
            self._runs[key].append(run)

    def before(self, asked: Asked, times: bool = False) -> Lineage | None:
        """Return what had ended of the job when it was submitted, None where nothing had.

        *times*: only what shows how long it takes: one that was ended for its memory shows how much it wants.
        """
        for key in _keys(asked):
            runs = tuple(
                run
                for run in reversed(self._runs.get(key, ()))
                if run.ended <= asked.submitted and (run.shows_time or not times)
            )
            if runs:
                return Lineage(key[0], runs)
        return None

    def bounds(self, asked: Asked, share: float, fewest: int = 20) -> tuple[float, float] | None:
        """Return the logs of two factors: *share* of runs stay above the first times the run before, below the second.

        Split conformal over the changes of all lineages; a lineage that has swung further itself has the furthest of
        its last swings, each way, as the measure. None where fewer than *fewest* changes are known, and of it three.
        """
        own = self._own.get((asked.user, asked.name), ())
        known = len(self._sorted)
        if known >= fewest:
            rank = min(known, math.ceil(share * (known + 1)))
            return min([self._sorted[known - rank], *own]), max([self._sorted[rank - 1], *own])
        furthest = max((abs(change) for change in own), default=0.0)  # of so few, either way
        return (-furthest, furthest) if len(own) >= 3 else None

    def _changed(self, run: Run, change: float) -> None:
        self._own[(run.asked.user, run.asked.name)].append(change)
        insort(self._sorted, change)
        self._newest.append(change)
        if len(self._newest) > MOST_CHANGES:
            del self._sorted[bisect_left(self._sorted, self._newest.popleft())]


def _keys(asked: Asked) -> Iterator[Key]:
    """Yield what a job is known by, the narrowest first: basis, user, folder, and version or name."""
    if asked.version:
        yield "version", asked.user, "", asked.version
    if asked.name and asked.folder:
        yield "folder", asked.user, asked.folder, asked.name
    if asked.lineage:
        yield "lineage", asked.user, "", asked.lineage
    if asked.name:
        yield "name", asked.user, "", asked.name


def same_work(work: Work, other: Work) -> bool:
    """Return whether nothing that is known of both differs: as much to do, on as many nodes and GPUs."""
    return not differences(work, other)


def differences(work: Work, other: Work) -> dict[str, tuple[str, str]]:
    """Return by name what is known of both and differs: here, there."""
    here, there = dict(work.values), dict(other.values)
    changed = {name: (here[name], there[name]) for name in here if name in there and here[name] != there[name]}
    for name, mine, its in (("nodes", work.nodes, other.nodes), ("GPUs", work.gpus, other.gpus)):
        if mine is not None and its is not None and mine != its:
            changed[name] = (str(mine), str(its))
    return changed
