"""A queue of jobs of seconds on a lab's Slurm, ordered by the live path: what they waited, with and without forecasts.

    python -m tests.daemon.priority.compressed 200 0 1 2 3 4     # jobs, seeds: `make bench-priority`

Both ways go through the same process and the same bound. With forecasts the store has three runs of each of twelve
jobs, each near what the job takes; without, it has runs that all took the same time, so that only the size counts.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from maple_agents.forecast.runs import Asked, Run
from maple_daemon.store import open_store

from tests.lab.client import until
from tests.lab.lab import Lab
from tests.lab.shape import GPU4

KINDS = 12  # of jobs, each with a name of its own
SWING = 0.27  # of the log of a run's seconds around those of its kind: mean |log2| 0.4 between two, as on Eagle
SIZES = (1, 1, 1, 2, 2, 4)  # GPUs
RUNS = 3
GPUS = 16
HISTORY = 86_400.0  # seconds ago
PRIORITY = "PriorityType=priority/multifactor\nPriorityWeightPartition=10000\nPriorityWeightAge=100\n"


class PriorityLab(Lab):
    """The lab with the priorities that most sites have."""

    def _file(self, name: str, text: str, mode: int = 0o644) -> None:
        super()._file(name, text + PRIORITY if name == "etc/slurm.conf" else text, mode)


class Kind(NamedTuple):
    """A job that is run again and again. *seconds*: that it usually takes."""

    name: str
    seconds: float
    gpus: int


class Work(NamedTuple):
    """What is submitted: each job's kind and seconds. *kinds*: all there are."""

    kinds: tuple[Kind, ...]
    jobs: tuple[tuple[Kind, float], ...]


def work(seed: int, jobs: int) -> Work:
    """Return the same work for the same seed: kinds of 1.2 to 12 s, most of them short."""
    draw = random.Random(seed)
    kinds = tuple(Kind("train%d" % number, min(12.0, max(1.2, draw.lognormvariate(0.7, 1.0))), draw.choice(SIZES))
                  for number in range(KINDS))  # fmt: skip
    chosen = [draw.choice(kinds) for _ in range(jobs)]
    return Work(kinds, tuple((kind, kind.seconds * math.exp(draw.gauss(0, SWING))) for kind in chosen))


def remember(path: str, kinds: tuple[Kind, ...], folder: str, known: bool, seed: int, wrong: float = 1.0) -> None:
    """Make a store with runs of each kind; not *known*: all took the same. *wrong*: times that of the first kind."""
    draw = random.Random(seed + 1000)
    now = time.time()
    store = open_store(path)
    ends = []
    for place, kind in enumerate(kinds):
        for run in range(RUNS):
            seconds = kind.seconds * math.exp(draw.gauss(0, SWING)) if known else 2.0
            seconds = max(1.0, seconds * (wrong if place == 0 else 1.0))  # a shorter run foretells nothing
            ended = now - HISTORY + 1000 * run + place
            asked = Asked("", kind.name, folder, ended - seconds - 1)
            ends.append((os.getuid(), Run("%d" % (900_000 + place * RUNS + run), asked, ended, seconds, "completed")))
    store.keep_runs(ends)
    store.close()


@contextlib.contextmanager
def ordering(lab: Lab, folder: Path, every: float = 0.4) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the process of the live path, switched on, with the store in *folder*; end it."""
    settings = folder / "daemon.toml"
    settings.write_text('store = "%s/memory.db"\n' % folder)
    (folder / "priority.json").write_text(json.dumps({"on": True, "bound": 5000, "every": every,
                                                      "patience_hours": 0.5, "reference_seconds": 3.0}))  # fmt: skip
    program = os.path.join(os.path.dirname(sys.executable), "maple-daemon")
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen([program, "--role", "priority", "--foreground", "--config", str(settings)],
                                   env=lab.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True)  # fmt: skip
    try:
        until(
            lambda: b"a round" in (folder / "log").read_bytes() or process.poll() is not None, 60, "no round was made"
        )
        yield process
    finally:
        process.terminate()
        process.wait(30)


def submit(lab: Lab, folder: Path, jobs: tuple[tuple[Kind, float], ...]) -> list[int]:
    """Submit jobs of one GPU node's share each; return their ids."""
    ids = []
    for kind, seconds in jobs:
        made = lab.sbatch("--job-name", kind.name, "--chdir", str(folder), "--gpus-per-node=%d" % kind.gpus, "--output",
                          "/dev/null", "--wrap", "sleep %.2f" % seconds)  # fmt: skip
        assert made.id is not None, made.stderr
        ids.append(made.id)
    return ids


def waits(lab: Lab, folder: Path, made: Work) -> list[float]:
    """Return the seconds that each job waited: all are submitted while the cluster is full, then it is let go."""
    (blocker,) = [lab.sbatch("--nodes=4", "--exclusive", "--output", "/dev/null", "--wrap", "sleep 600").id]
    assert blocker is not None
    until(lambda: lab.show(blocker).get("JobState") == "RUNNING", 30, "the cluster is not full")
    ids = submit(lab, folder, made.jobs)
    time.sleep(2.0)
    began = time.time()
    lab.cancel(blocker)
    return [max(0.0, float(lab.wait(job, 600).facts["START"]) - began) for job in ids]


def mean_wait(seed: int, jobs: int, known: bool, base: Path) -> float:
    """Return the mean wait in seconds on a lab of its own."""
    folder = base / ("%d-%s" % (seed, "forecasts" if known else "sizes"))
    folder.mkdir()
    made = work(seed, jobs)
    remember(str(folder / "memory.db"), made.kinds, str(folder), known, seed)
    with PriorityLab(GPU4) as lab, ordering(lab, folder):
        return statistics.mean(waits(lab, folder, made))


def table(jobs: int, seeds: Iterable[int], base: Path) -> int:
    """Print the mean waits of each seed; return in how many forecasts were below sizes."""
    print("%d jobs of seconds on a lab's %d GPUs; mean wait in seconds" % (jobs, GPUS))
    print("%-6s %10s %10s %7s" % ("seed", "size only", "forecasts", "ratio"))
    below = 0
    for seed in seeds:
        size, known = (mean_wait(seed, jobs, with_them, base) for with_them in (False, True))
        below += known < size
        print("%-6d %10.2f %10.2f %7.3f" % (seed, size, known, known / size), flush=True)
    print("below in %d seeds" % below)
    return below


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        table(int(sys.argv[1]), map(int, sys.argv[2:]), Path(folder))
