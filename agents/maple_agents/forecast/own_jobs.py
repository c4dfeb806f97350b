"""What one's own jobs tell besides a forecast: those like a new one, and what other numbers of GPUs would bring.

By meaning where MiniLM is installed, else by the words they share. What is compared is what is known of them: name,
program, model, data, framework. Vectors are kept in the user's own vector store, so that each job is embedded once.

Speed is in samples a second, as Pollux's goodput has it before its efficiency: with the same batch each sample counts
the same, so their ratio is that of goodputs. With another batch nobody knows how much less one counts: that is said.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Version

from ..ask.memory.service import NoService, Refused
from ..ask.memory.versions import Job
from ..ask.memory.versions import jobs as remembered_jobs
from ..base.quantities import elapsed
from ..templates.retrieval.minilm import configured
from ..templates.retrieval.passages import Embedder, Unavailable
from ..templates.retrieval.vectors import Kept, path_of
from .asked_job import about
from .runs import Asked, Run

MOST, SHOWN = 60, 3  # jobs that are compared, and that are named
LIKE = 0.5  # of likeness, 1 for the same


class Similar(NamedTuple):
    """A job of one's own: *name*, how like it is, and how long its last whole run took."""

    name: str
    likeness: float
    seconds: float


def similar(text: str, others: Sequence[tuple[str, str, float]], embedder: Embedder | None) -> list[Similar]:
    """Return the *others* (name, text, seconds) that are most like a job, the likest first."""
    if not others:
        return []
    texts = [text, *(other for _, other, _ in others)]
    try:
        alike = _by_meaning(texts, embedder) if embedder is not None else _by_words(texts)
    except Unavailable:
        alike = _by_words(texts)
    jobs = [Similar(name, likeness, seconds) for (name, _, seconds), likeness in zip(others, alike)]
    return sorted((job for job in jobs if job.likeness >= LIKE), key=lambda job: -job.likeness)[:SHOWN]


def line(asked: Asked, runs: Sequence[Run]) -> str:
    """Return what to say of one's own jobs that are like this one, "" for nothing. *runs*: one's own, of all names."""
    try:
        versions = [lineage.newest for lineage in remembered_jobs("", "")[:MOST]]
    except (NoService, Refused):
        return ""
    jobs = similar(asked.about, list(_others(asked, versions, runs)), _embedder())
    likest = ", ".join("%s took %s" % (job.name, elapsed(job.seconds)) for job in jobs)
    return "similar jobs of yours: %s; nothing is forecast from them" % likest if likest else ""


def _others(asked: Asked, versions: Sequence[Version], runs: Sequence[Run]) -> Iterable[tuple[str, str, float]]:
    for version in versions:
        own = [run for run in runs if run.asked.name == version.name and run.shows_time]
        if own and version.name != asked.name:
            yield version.name, about(version.name, version.values), max(own, key=lambda run: run.ended).seconds


def _embedder() -> Embedder | None:
    try:
        embedder = configured()
    except Unavailable:
        return None
    return Kept(embedder, path_of(embedder))


def _by_meaning(texts: Sequence[str], embedder: Embedder) -> list[float]:
    vectors = embedder.vectors(texts)
    return [float(vectors[0] @ vector) for vector in vectors[1:]]


def _by_words(texts: Sequence[str]) -> list[float]:
    """Return the cosine of the words that the first shares with each other one; a word counts once."""
    bags = [Counter(set(re.findall(r"[a-z]+|\d+", text.lower()))) for text in texts]
    first = bags[0]
    return [len(first & other) / ((len(first) * len(other)) ** 0.5) if first and other else 0.0 for other in bags[1:]]


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
        return next((sizes(job) for job in remembered_jobs(name, "")), [])
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
