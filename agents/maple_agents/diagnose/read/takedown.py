"""What complains behind the end of a training and is none of it: what its script takes down, what is only beside it.

A script that started a monitor, a server or a Ray cluster ends it once the work is done, and Slurm and the shell speak
of that as of any death. A tracker that can't send its last values says ERROR behind the trainer's own summary.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from ..values import Severity
from .progress import ended_well, is_stamp, is_sure_end
from .units.voices import Line, Unit

# A step or a child that was ended from outside. A limit, a lack of memory or a lost node says so ("DUE TO").
_TAKEN_DOWN = re.compile(
    r"srun: (?:Force Terminated job step|forcing job termination|Job step aborted: Waiting|interrupt)"
    r"|slurmstepd: error: \*\*\* STEP \S+ ON \S+ CANCELLED AT \S+ \*\*\*\s*$"
    r"|\S+: line \d+: +\d+ (?:Terminated|Killed|Hangup)\b"
)
_OF_STEPS = ("srun: ", "slurmstepd: ", "mpirun", "mpiexec")
_BY_A_LAUNCHER = re.compile(r"\S{0,40}(?:srun|slurmstepd|mpirun|mpiexec|prterun|torchrun|torch\S*distributed)\b")


_EXCEPTION = re.compile(r"(?:\w+\.)*\w+(?:Error|Exception|Interrupt)\b:")
# Who keeps values of a run elsewhere: what it can't send loses none of the work.
_TRACKER = re.compile(
    r"\W{0,2}(?:(?:ERROR|WARNING)\W+)?(?:wandb|comet\w*|neptune|mlflow|clearml|aim|tensorboard|swanlab)\b", re.I
)


def taken_down(units: Sequence[Unit], lines: Sequence[Line]) -> list[Unit]:
    """Return the units that tell of steps and children which the script ended itself.

    Before them a line says that all is done, and nothing went wrong since; behind them the script goes on.
    """
    asked = [unit for unit in units if _TAKEN_DOWN.match(unit.line.words)]
    if not asked:
        return []
    others = [unit.line.number for unit in units if unit not in asked and _is_bad(unit)]
    ends = [line.number for line in lines if _is_end(line)]
    return [unit for unit in asked if _before(ends, unit) > _before(others, unit) and _goes_on(unit, lines)]


def beside(units: Sequence[Unit], lines: Sequence[Line], last_progress: int = 0) -> list[Unit]:
    """Return the units of mere complaints behind the end, no training behind it, where the script goes on; a tracker's
    may be the last word. An exception, a death, and what a launcher says are none.
    """
    mere = [unit for unit in units if _is_mere(unit)]
    own = (line for line in lines if line.number >= last_progress or is_sure_end(line.words)) if mere else ()
    ends = [line.number for line in own if _is_end(line)]
    return [unit for unit in mere if _before(ends, unit) and (_of_tracker(unit) or _goes_on(unit, lines))]


def _is_end(line: Line) -> bool:
    return bool(ended_well([line.words])) and not is_stamp(line.words)


def _of_tracker(unit: Unit) -> bool:
    return _TRACKER.match(unit.line.words) is not None


def _is_bad(unit: Unit) -> bool:
    return unit.severity >= Severity.ERROR or unit.severity > Severity.NOTE and unit.line.words.startswith(_OF_STEPS)


def _is_mere(unit: Unit) -> bool:
    words = unit.line.words
    if unit.severity != Severity.ERROR or unit.traceback is not None:
        return False
    return not _BY_A_LAUNCHER.match(words) and not _EXCEPTION.match(words)


def _before(numbers: Sequence[int], unit: Unit) -> int:
    """Return the last of *numbers* before the line that tells of *unit*, 0 for none."""
    at = bisect_right(numbers, unit.line.number - 1)
    return numbers[at - 1] if at else 0


def _goes_on(unit: Unit, lines: Iterable[Line]) -> bool:
    """Return whether a line that is no complaint stands behind *unit*."""
    own = {line.number for line in unit.lines}
    behind = (line for line in lines if line.number > unit.line.number and line.number not in own)
    return any(line.sort is None and any(map(str.isalnum, line.words)) for line in behind)
