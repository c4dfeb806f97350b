"""The shortest useful piece of a log where no cause is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..templates.knowledge.entries import Entry
from .read.templates import template
from .recognise.matching import Match
from .values import Digest, Event, Evidence, Severity, Stream

MOST = 8  # lines
BEFORE = 3  # lines before one that stands alone
BEHIND = 4  # lines behind one that announces them
# Rows of a table that hold no fact, and rules between them.
_EMPTY = re.compile(r"(?i)^[\W\d_]*$|<N/A>|<NO_OTHER_FAILURES>|: *(?:none|n/?a|null|-)$|To enable traceback see")
_ANNOUNCES = re.compile(r":\s*$")

Rows = dict[int, str]


def excerpt(digest: Digest, found: Sequence[Match], known: Mapping[str, Entry]) -> tuple[Evidence, ...]:
    """Return the first error that nothing explains, whole, else the last lines of the log that has any.

    An error of one line comes with the lines around it, as far as they were kept.
    """
    explained = {one.event.place for one in found if known[one.entry].role in ("follows", "harmless")}
    errors = [one for one in digest.events if one.severity >= Severity.ERROR and one.place not in explained]
    return _of_event(errors[0], digest.streams) if errors else _tail(digest)


def _of_event(event: Event, streams: Iterable[Stream]) -> tuple[Evidence, ...]:
    rows = dict(zip(event.unit_at, event.unit)) or {event.place.line: event.text}
    telling = max((at for at, line in rows.items() if line == event.text), default=max(rows))
    around = next((_kept(one) for one in streams if one.file.path == event.place.file), {})
    whole = {**around, **rows}
    first = min(rows) if len(rows) > 1 else telling - BEFORE
    last = telling + (BEHIND if _ANNOUNCES.search(rows[telling]) else 0)
    said = {at: line for at, line in sorted(whole.items()) if first <= at <= last}
    return _shown(event.place.file, _short(said, telling))


def _kept(stream: Stream) -> Rows:
    """Return the lines of a file that were kept, by their numbers."""
    head = dict(enumerate(stream.head, 1))
    return {**head, **dict(enumerate(stream.tail, stream.tail_from))} if stream.tail else head


def _tail(digest: Digest) -> tuple[Evidence, ...]:
    read = [one for one in digest.streams if one.tail]
    if not read:
        return ()
    stream = max(read, key=lambda one: (one.file.role in ("stderr", "both"), one.lines))
    return _shown(stream.file.path, _short(dict(enumerate(stream.tail, stream.tail_from))))


def _short(rows: Rows, telling: int = 0) -> Rows:
    """Return the last of *rows* that say something; of lines that say the same but for numbers the last one.

    The *telling* one stays whatever it is.
    """
    hollow = {at for at, line in rows.items() if _EMPTY.search(line)}
    hollow |= {at for at, line in rows.items() if _ANNOUNCES.search(line) and at + 1 in hollow}
    said = {at: line for at, line in rows.items() if at == telling or at not in hollow}
    once = {template(line): at for at, line in said.items()}
    kept = [at for at, line in said.items() if at == telling or once[template(line)] == at]
    if telling:
        behind = [at for at in kept if at > telling]
        kept = [*[at for at in kept if at <= telling][-(MOST - len(behind)) :], *behind]
    return {at: said[at] for at in kept[-MOST:]} or dict(list(rows.items())[-1:])


def _shown(file: str, rows: Rows) -> tuple[Evidence, ...]:
    return tuple(Evidence(file, at, line) for at, line in rows.items() if line.strip())
