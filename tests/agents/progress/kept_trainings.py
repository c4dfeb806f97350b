"""Trainings that ran on a GPU, kept as their logs grew: what is said of them while their pace was steady.

They shared one GPU and went faster as others ended, so that the end of each tells nothing of the time that was left
before. The steady part is held against itself: of the time left that is told, what the steps up to its end would take.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from maple_agents.progress.values import Announced, Course, Place, Progress

from tests.agents.progress.real_trainings import Recorded

KEPT = Path(__file__).parents[2] / "cases" / "progress" / "trainings"
STEADY = 75.0  # seconds since the start
WAITED = 43.0  # of them, for each other: no part of any training, so that a job's start lies behind it
ALONE = ("numpyro",)  # that did not wait
ARGUMENTS = {"hf-notqdm": ("--num_train_epochs", 2)}  # what the script of the job says, where no line does


class Kept(NamedTuple):
    """What is said at a share of the steady part. *off*: the error of the time to its end, None where none is told."""

    told: Progress
    off: Optional[float]


def kept(folder: Path) -> Iterator[tuple[Recorded, tuple[Announced, ...]]]:
    """Yield each training, its log in *folder*, cut where its pace changed, and what its job's script says."""
    for path in sorted(KEPT.glob("*.json.xz")):
        case = json.loads(lzma.decompress(path.read_bytes()))
        name = path.name.removesuffix(".json.xz")
        log = folder / (name + ".log")
        log.write_bytes(case["log"].encode())
        waited = 0.0 if name in ALONE else WAITED
        grown = [(max(0.0, at - waited), size) for at, size in case["sizes"] if at <= STEADY]
        word, epochs = ARGUMENTS.get(name, ("", 0))
        said = (Announced("epochs", epochs, Place("job.sh", 4), "%s %d" % (word, epochs)),) if epochs else ()
        yield Recorded(name, "gpu", log, [(0.0, 0), *grown], case["began"] + waited), said


def seen(one: Recorded, said: tuple[Announced, ...], share: float) -> Kept:
    """Return what is said at that share of the steady part."""
    at, end = one.at(share, said), one.at(1.0, said)
    now, then = _counted(at.told.course), _counted(end.told.course)
    left = at.told.estimate.left
    if left is None or now is None or then is None or now.total is None or now.step is None or then.step is None:
        return Kept(at.told, None)
    ahead = (then.step - now.step) / (now.total.steps - now.step)
    return Kept(at.told, left * ahead / at.left - 1 if at.left > 0 else None)


def _counted(course: Course) -> Optional[Course]:
    return course if course.total is not None else course.epochs
