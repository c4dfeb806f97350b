"""Jobs of one's own that are like a new one: for a line that names them, never as the ground of a forecast.

By meaning where MiniLM is installed, else by the words they share. What is compared is what is known of them: name,
program, model, data, framework. Vectors are kept in the user's own vector store, so that each job is embedded once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Version

from ..ask.memory.service import NoService, Refused
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
