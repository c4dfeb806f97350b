"""What the lines of a failure, and the scheduler, name of this very job: the port, versions, memory asked for and used.

Which words are looked for follows from the class alone, whoever named it, so that each answer speaks of its job.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...base.quantities import elapsed
from ...templates.knowledge import meanings
from ...templates.knowledge.entries_in_force import compiled
from ..values import Cause, Digest, Ended, Event, Evidence

LONGEST = 200  # characters of a value
MOST = 6  # values
MOST_TEXT = 2000  # characters of a line that are searched
_PROGRAMS = (".py", ".jl", ".R", ".lua", ".m", ".ipynb")
_FRAME = re.compile(r'.{0,40}\s*File "')
_OF_SCHEDULER = ("host_oom", "time_limit")


def particulars(cause: Cause, ended: Ended, digest: Digest) -> dict[str, str]:
    """Return what is named, by what each is, in the order of the class's expressions; the shown lines come first."""
    meaning = meanings().get(cause.cause)
    if meaning is None:
        return {}
    logs = {stream.file.path for stream in digest.streams}
    lines = [line for line in cause.evidence if line.file in logs]  # others are of the script
    events = [event for line in lines if (event := event_of(line, digest)) is not None]
    unit = [text for event in events for text in event.unit if not _FRAME.match(text)]
    values = {**_caught(unit, meaning.names), **_caught([line.text for line in lines], meaning.names)}
    values.update(_of_frame(events))
    if cause.cause in _OF_SCHEDULER:
        values.update(_of_ended(cause.cause, ended))
    rows = [row for row in values.items() if row[0] not in cause.values]
    return dict(rows[:MOST])


def event_of(line: Evidence, digest: Digest) -> Event | None:
    """Return the event that a shown line is of."""
    of = (event for event in digest.events if event.place.file == line.file)
    return next((event for event in of if line.line == event.place.line or line.line in event.unit_at), None)


def _caught(texts: Sequence[str], names: Iterable[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name in names:
        matches = (compiled(name).search(text[:MOST_TEXT]) for text in texts)
        match = next(filter(None, matches), None)
        groups = match.groupdict() if match is not None else {}
        for key, value in groups.items():
            if value:
                values.setdefault(key.replace("_", " "), value.strip()[:LONGEST])
    return values


def _of_frame(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Yield the line of the user's own program that the first exception with one was raised in."""
    framed = [event.frame for event in events if event.frame is not None and event.frame[0].endswith(_PROGRAMS)]
    for path, line in framed[:1]:
        yield "your line", "%s:%d" % (os.path.basename(path), line)


def _of_ended(cause: str, ended: Ended) -> Mapping[str, str]:
    """Return what was asked for and what was used, as the scheduler tells."""
    if cause == "time_limit":
        times = {"limit": ended.limit, "ran": ended.elapsed}
        return {name: elapsed(value) for name, value in times.items() if value}
    sizes = {"asked for": ended.memory, "used": ended.used_memory}
    return {name: _size(value) for name, value in sizes.items() if value}


def _size(count: int) -> str:
    return "%.3g GiB" % (count / 2**30) if count >= 2**30 else "%.3g MiB" % (count / 2**20)


def unsaid(cause: Cause) -> str:
    """Return the values that the cause's sentence does not hold, in words; "" for none."""
    return ", ".join("%s %s" % row for row in cause.named.items() if row[1] not in cause.says)
