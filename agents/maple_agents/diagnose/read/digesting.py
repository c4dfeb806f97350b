"""All logs of a job, read one after the other into one digest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ..values import Digest, LogFile, Place
from .limits import USUAL, Limits
from .literals import Search
from .streams import Story, read_stream
from .units.merging import Merged

FEW = 8  # files
_OF_RANK = re.compile(r"(?<![A-Za-z])rank[._-]?(\d{1,6})(?=[._-][^/]*$|$)", re.I)


def read(logs: Sequence[LogFile], anchors: Sequence[bytes] = (), limits: Limits = USUAL) -> Digest:
    """Return what *logs* tell. *anchors*: literals; lines that hold one are events too, however harmless they sound.

    Nothing is raised for what a file holds or is: see `Stream.wrong`. Files are read once, from beginning to end.
    """
    search = _search(tuple(anchors))
    if len(logs) > FEW:  # of very many files the ends may be shorter
        limits = limits._replace(
            head=max(60, limits.head * FEW // len(logs)), tail=max(200, limits.tail * FEW // len(logs))
        )
    merged = Merged(limits)
    stories = []
    for file in _with_ranks(logs):
        story = read_stream(file, search, limits)
        merged.add(story)
        stories.append(_told(story))
    events = merged.events()
    return Digest(
        tuple(one.stream for one in stories), events, merged.dropped, _ranks(stories),
        sum(one.ordinary for one in stories),
        sum(one.progress for one in stories), _last_progress(stories),
        next((one.ended_well for one in stories if one.ended_well), ""),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _search(anchors: tuple[bytes, ...]) -> Search:
    """Return the search for *anchors*: built in tens of milliseconds, and the same for every log."""
    return Search(anchors)


def _with_ranks(logs: Sequence[LogFile]) -> Iterator[LogFile]:
    """Yield *logs*; where several names differ by the number of a rank alone, each gets its rank."""
    alike = Counter(_OF_RANK.sub("rank", file.path) for file in logs if _OF_RANK.search(file.path))
    for file in logs:
        found = _OF_RANK.search(file.path)
        several = found is not None and alike[_OF_RANK.sub("rank", file.path)] > 1
        yield replace(file, rank=int(found[1])) if found and several and file.rank is None else file


def _told(story: Story) -> Story:
    """Return *story* without what only its events needed."""
    story.units, story.more, story.moments = [], {}, []
    return story


def _ranks(stories: Sequence[Story]) -> dict[int, Place]:
    found = {rank: Place(one.stream.file.path, number) for one in stories for rank, number in one.ranks.items()}
    return dict(sorted(found.items()))


def _last_progress(stories: Sequence[Story]) -> Place | None:
    """Return where training is told of last, in the file that tells of it most."""
    most = max(stories, key=lambda one: one.progress if one.last_progress else 0, default=None)
    return Place(most.stream.file.path, most.last_progress) if most is not None and most.last_progress else None
