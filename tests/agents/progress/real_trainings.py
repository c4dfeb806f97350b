"""Small trainings by real frameworks, run here: what is said of them at each share of their time.

A training's log is kept as it grew: its size at each moment. Afterwards it is cut to the size that it had, and read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.values import Announced, Place, Progress, Run

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "build" / "heavy-venv" / "bin" / "python"
PROGRAM = Path(__file__).with_name("small_training.py")
AT_ONCE = 8
PLANS: dict[str, dict[str, Any]] = {
    "steady": {"steps": 200, "seconds": 0.2},
    "evaluates": {"steps": 160, "seconds": 0.2, "evaluate": [20, 1.5]},
    "saves": {"steps": 160, "seconds": 0.2, "save": [40, 2.5]},
    "both": {"steps": 160, "seconds": 0.15, "evaluate": [16, 1.0], "save": [40, 3.0]},
    "resumed": {"steps": 300, "seconds": 0.2, "resumed": 100},
    "slower": {"steps": 140, "seconds": 0.2, "slower": 0.5},
}
QUICK = "quick"  # for a test
KINDS = ("plain", "bar", "trainer", "accelerate", "deepspeed", "lightning", "keras", "jax")
NOT_RESUMED = ("trainer", "deepspeed", "lightning", "keras")  # to resume these a checkpoint of theirs would be needed


class Recorded(NamedTuple):
    """A training that ran. *sizes*: seconds since its start, and how long the log was then."""

    kind: str
    plan: str
    log: Path
    sizes: list[tuple[float, int]]
    began: float

    def at(self, share: float, said: Optional[tuple[Announced, ...]] = None) -> "Seen":
        """Return what is said when that share of its training's time is over, and the seconds that were really left.

        The training begins with its first line of progress: that a framework takes half a minute to be imported on a
        busy machine is no time of it.
        """
        end, first_step = self.sizes[-1][0], self.first_step()
        moment = first_step + share * (end - first_step)
        size = max((size for at, size in self.sizes if at <= moment), default=0)
        first = min(at for at, grown in self.sizes if grown == size)
        cut = self.log.with_suffix(".cut")
        cut.write_bytes(self.log.read_bytes()[:size])
        os.utime(cut, (self.began + first, self.began + first))
        run = Run(job="1", state="running", started=self.began, limit=1e9)
        hints = self.said() if said is None else said
        return Seen(progress([str(cut)], formats(), self.began + moment, run, hints), end - moment)

    def said(self) -> tuple[Announced, ...]:
        """Return what the job's arguments say: of Lightning no line tells how many epochs there are."""
        plan = PLANS.get(self.plan, {})
        if self.kind != "lightning" or not plan:
            return ()
        epochs = plan["steps"] // (plan.get("evaluate", [0])[0] or 20)
        return (Announced("epochs", epochs, Place("job.sh", 4), "--max_epochs %d" % epochs),)

    def first_step(self) -> float:
        """Return when the first line of progress stood in the log."""
        text, cut = self.log.read_bytes(), self.log.with_suffix(".first")
        low, high = 0, len(self.sizes) - 1
        while low < high:
            middle = (low + high) // 2
            cut.write_bytes(text[: self.sizes[middle][1]])
            found = progress([str(cut)], formats(), self.began).course.last
            low, high = (low, middle) if found is not None else (middle + 1, high)
        return self.sizes[low][0]


class Seen(NamedTuple):
    """What is said at a moment, and the seconds that were left then."""

    told: Progress
    left: float

    @property
    def off(self) -> Optional[float]:
        """Return the error of the time left, None where none is told."""
        return self.told.estimate.left / self.left - 1 if self.told.estimate.left is not None else None


def chosen(kinds: Iterable[str] = KINDS) -> Iterator[tuple[str, str]]:
    """Yield kind and plan of each training."""
    for kind in kinds:
        for plan in PLANS:
            if plan != "resumed" or kind not in NOT_RESUMED:
                yield kind, plan


def recorded(folder: Path, wanted: Iterable[tuple[str, str]]) -> list[Recorded]:
    """Run the trainings, some at once, and return them."""
    waiting, going, done = list(wanted), list[_Going](), list[Recorded]()
    try:
        while waiting or going:
            while waiting and len(going) < AT_ONCE:
                going.append(_Going(folder, *waiting.pop(0)))
            time.sleep(0.05)
            for one in going:
                one.look()
            done += [one.over() for one in going if one.process.poll() is not None]
            going = [one for one in going if one.process.returncode is None]
    finally:
        for one in going:
            one.process.kill()
            one.process.wait()
    return done


class _Going:
    def __init__(self, folder: Path, kind: str, plan: str) -> None:
        self.kind, self.plan = kind, plan
        self.log = folder / ("%s-%s.log" % (kind, plan))
        out = folder / ("%s-%s" % (kind, plan))
        self.done = out.with_suffix(".done")
        environ = {
            **os.environ,
            "OUT": str(out),
            "PORT": str(29500 + hash((kind, plan)) % 2000),
            "CUDA_VISIBLE_DEVICES": "",
            # DeepSpeed builds a library there; the lock of one that was killed makes all others wait for ever.
            "TORCH_EXTENSIONS_DIR": str(folder / "extensions"),
        }
        python = str(PYTHON) if kind != "plain" else sys.executable
        with open(self.log, "wb") as file:
            self.process = subprocess.Popen(
                [python, str(PROGRAM), kind, json.dumps(PLANS.get(plan, {"steps": 60, "seconds": 0.1}))],
                stdout=file,
                stderr=file,
                env=environ,
                cwd=folder,
            )
        self.began, self.sizes = time.time(), [(0.0, 0)]

    def look(self) -> None:
        size = self.log.stat().st_size
        if size != self.sizes[-1][1]:
            self.sizes.append((time.time() - self.began, size))

    def over(self) -> Recorded:
        """Return the record; the training ends when its program says so, whatever it printed last."""
        self.look()
        ended = self.done.stat().st_mtime if self.done.exists() else time.time()
        self.sizes.append((ended - self.began, self.sizes[-1][1]))
        return Recorded(self.kind, self.plan, self.log, self.sizes, self.began)
