"""The shortest useful piece of a log where no cause is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .knowledge.entries import Entry
from .matching import Match
from .values import Digest, Event, Evidence, Severity

MOST = 12  # lines


def excerpt(digest: Digest, found: Sequence[Match], known: Mapping[str, Entry]) -> tuple[Evidence, ...]:
    """Return the first error that nothing explains, whole, else the last lines of the log that has any."""
    explained = {one.event.place for one in found if known[one.entry].role in ("follows", "harmless")}
    errors = [one for one in digest.events if one.severity >= Severity.ERROR and one.place not in explained]
    return _of_event(errors[0]) if errors else _tail(digest)


def _of_event(event: Event) -> tuple[Evidence, ...]:
    if not event.unit:
        return (Evidence(event.place.file, event.place.line, event.text),)
    rows = list(zip(event.unit_at, event.unit))
    telling = next((at for at, (_, line) in enumerate(rows) if line == event.text), len(rows) - 1)
    return tuple(Evidence(event.place.file, at, line) for at, line in rows[max(0, telling - MOST + 1) : telling + 1])


def _tail(digest: Digest) -> tuple[Evidence, ...]:
    read = [one for one in digest.streams if one.tail]
    if not read:
        return ()
    stream = max(read, key=lambda one: (one.file.role in ("stderr", "both"), one.lines))
    rows = [(stream.tail_from + at, line) for at, line in enumerate(stream.tail) if line.strip()]
    return tuple(Evidence(stream.file.path, at, line) for at, line in rows[-MOST:])
