"""What other numbers of GPUs would bring, from the lineage's own speeds at those sizes: advice, and nothing is changed.

Speed is in samples a second, as Pollux's goodput has it before its efficiency: with the same batch each sample counts
the same, so their ratio is that of goodputs. With another batch nobody knows how much less one counts: that is said.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Version

from ..ask.memory.service import NoService, Refused
from ..ask.memory.versions import Job, jobs

FEWEST = 2  # sizes that were run
NEWEST = 3  # runs of a size that count
NOT_DATA_PARALLEL = ("tensor_parallel", "pipeline_parallel")  # then ranks do not each have a batch of their own


class Size(NamedTuple):
    """A number of GPUs that was run. *batch*: samples of a step, all ranks together. *step_seconds*: the median."""

    gpus: int
    batch: int
    step_seconds: float
    jobs: tuple[str, ...]

    @property
    def speed(self) -> float:
        """Samples a second."""
        return self.batch / self.step_seconds


def known_sizes(name: str) -> list[Size]:
    """Return the sizes at which one's own job of that name was run, as the service remembers; [] without it."""
    try:
        return next((sizes(job) for job in jobs(name, "")), [])
    except (NoService, Refused):
        return []


def sizes(job: Job) -> list[Size]:
    """Return the sizes at which a job was run and its speed is known, the fewest GPUs first.

    A version of another model, data, sequence length or program than the newest is another job here.
    """
    alike = [version for version in job.versions if _kind(version) == _kind(job.newest)]
    seen: dict[tuple[int, int], list[tuple[float, str]]] = {}
    for version in alike:
        values = _values(version)
        gpus, batch = _whole(values.get("world_size")), samples(values)
        for record in job.records.get(version.id, ()):
            if gpus and batch and record.reached is not None and record.reached.step_seconds:
                seen.setdefault((gpus, batch), []).append((record.reached.step_seconds, record.job))
    return [_size(gpus, batch, runs) for (gpus, batch), runs in sorted(seen.items())]


def compared(sizes: Sequence[Size]) -> list[str]:
    """Return a line for each size that is less than the largest one, [] where fewer than two were run."""
    if len({size.gpus for size in sizes}) < FEWEST:
        return []
    most = max(sizes, key=lambda size: (size.gpus, size.speed))
    return [_line(size, most) for size in sizes if size.gpus < most.gpus]


def samples(values: Mapping[str, str]) -> int | None:
    """Return the samples of a step over all ranks, None where the values do not say."""
    if any(_whole(values.get(name)) not in (None, 1) for name in NOT_DATA_PARALLEL):
        return _whole(values.get("batch_size_global"))
    every, ranks = _whole(values.get("batch_size_per_device")), _whole(values.get("world_size"))
    accumulated = _whole(values.get("gradient_accumulation")) or 1
    return _whole(values.get("batch_size_global")) or (every * ranks * accumulated if every and ranks else None)


def _line(size: Size, most: Size) -> str:
    share = 100 * size.speed / most.speed
    each = share * most.gpus / size.gpus / 100
    if size.batch == most.batch:
        steps = "%.3g and %.3g s" % (size.step_seconds, most.step_seconds)
        says = (
            "%d GPUs give %.0f %% of the goodput of %d: a GPU-hour trains %.2f times as much"
            " (steps of %d samples in %s)"
        )
        return says % (size.gpus, share, most.gpus, each, size.batch, steps)
    says = (
        "%d GPUs give %.0f %% of the samples a second of %d, in steps of %d in place of %d samples: how much less one"
        " sample counts in the larger step, these runs do not tell"
    )
    return says % (size.gpus, share, most.gpus, size.batch, most.batch)


def _size(gpus: int, batch: int, runs: Iterable[tuple[float, str]]) -> Size:
    newest = list(runs)[:NEWEST]
    return Size(gpus, batch, statistics.median(seconds for seconds, _ in newest), tuple(job for _, job in newest))


def _kind(version: Version) -> tuple[str, ...]:
    values = _values(version)
    return tuple(values.get(name, "") for name in ("program", "model", "data", "sequence_length", "precision"))


def _values(version: Version) -> dict[str, str]:
    return {value.name: value.value for value in version.values}


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and 0 < int(text) < 10**12 else None
