"""All logs of a job, read one after the other into one digest."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..values import Digest, Event, Evidence, LogFile, Place, Severity
from .clean_lines import shown_lines
from .limits import USUAL, Limits
from .literals import Search
from .progress import run_of
from .streams import Story, read_stream
from .templates import shape, template
from .units.tracebacks import own
from .units.voices import Line, Unit

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
        stories.append(_lean(story))
    events = merged.events()
    return Digest(
        tuple(part.stream for part in stories), events, merged.dropped, _ranks(stories),
        sum(part.ordinary for part in stories),
        sum(part.progress for part in stories), _last_progress(stories),
        next((part.ended_well for part in stories if part.ended_well), ""), _closed(stories),
        next((part.planned for part in stories if part.planned), ""), *_members(stories),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _search(anchors: tuple[bytes, ...]) -> Search:
    """Return the search for *anchors*: built in tens of milliseconds, and the same for every log."""
    return Search(anchors)


def _with_ranks(logs: Sequence[LogFile]) -> Iterator[LogFile]:
    """Yield *logs*; where several names differ by the number of a rank alone, each gets its rank."""
    alike = Counter(_OF_RANK.sub("rank", file.path) for file in logs if _OF_RANK.search(file.path))
    for file in logs:
        match = _OF_RANK.search(file.path)
        several = match is not None and alike[_OF_RANK.sub("rank", file.path)] > 1
        yield replace(file, rank=int(match[1])) if match and several and file.rank is None else file


def _lean(story: Story) -> Story:
    """Return *story* without what only its events needed."""
    story.units, story.more, story.moments = [], {}, []
    return story


def _ranks(stories: Sequence[Story]) -> dict[int, Place]:
    rows = {rank: Place(story.stream.file.path, number) for story in stories for rank, number in story.ranks.items()}
    return dict(sorted(rows.items()))


def _members(stories: Sequence[Story]) -> Iterator[tuple[Evidence, ...]]:
    """Yield the lines of the first file in which one member of the group speaks twice, those of absent ones, and those
    of a node rank that went to several nodes.
    """
    for name in ("doubled", "absent", "frozen"):
        rows = [(story, getattr(story, name)) for story in stories]
        path, lines = next(((story.stream.file.path, lines) for story, lines in rows if lines), ("", []))
        texts = shown_lines(line.text for line in lines)
        yield tuple(Evidence(path, line.number, text) for line, text in zip(lines, texts))


def _last_progress(stories: Sequence[Story]) -> Place | None:
    """Return where training is told of last, in the file that tells of it most."""
    most = max(stories, key=lambda story: story.progress if story.last_progress else 0, default=None)
    return Place(most.stream.file.path, most.last_progress) if most is not None and most.last_progress else None


def _closed(stories: Sequence[Story]) -> Place | None:
    """Return where the file that ended well says so first."""
    ended = next((story for story in stories if story.ended_well), None)
    return Place(ended.stream.file.path, ended.closed) if ended is not None and ended.closed else None


# What all files tell, as events: the same thing said by many ranks once, the first in time first.

Key = tuple[str, str, tuple[str, int] | None]
Order = tuple[bool, float, int, int]  # whether only an error file says it, time, file, line


@dataclass
class Message:
    """An event as it grows. *first*: where it was said first; *known*: the earliest time that was told for it."""

    unit: Unit
    path: str
    first: Order
    known: float | None = None
    count: int = 0
    files: int = 0  # error files that say it: mostly the same as what stands in a log
    ranks: set[int] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    last: Place = field(default_factory=lambda: Place("", 0))
    last_order: tuple[float, int, int] = (-1.0, 0, 0)
    behind: int = 0
    run: int = 0
    severity: Severity = Severity.NOTE
    counted: set[tuple[int, int]] = field(default_factory=set)
    order: tuple[float, int, int] = (float("inf"), 0, 0)


class Merged:
    """Takes the stories of all files, one by one, and gives the events."""

    def __init__(self, limits: Limits) -> None:
        self.dropped = 0
        self._limits = limits
        self._said: dict[Key, Message] = {}
        self._shapes: dict[tuple[str, str], int] = {}
        self._files: list[list[tuple[int, float, Key]]] = []  # of each: line, the last time told before it, what

    def add(self, story: Story) -> None:
        """Take the units of *story*."""
        numbers = [number for number, _ in story.moments]
        keys: list[tuple[int, float, Key]] = []
        self._files.append(keys)
        for unit in story.units:
            at = bisect_right(numbers, unit.line.number) - 1
            hint = story.moments[at][1] if at >= 0 else 0.0
            key = self._key(unit)
            keys.append((unit.line.number, hint, key))
            self._merge(self._said.get(key) or self._new(key, unit, story), unit, story, hint)

    def events(self) -> tuple[Event, ...]:
        """Return the events in order, the first ones and the last ones where there are too many."""
        self._set_orders()
        messages = sorted(self._said.values(), key=lambda message: message.order)
        if len(messages) > self._limits.events:
            self.dropped = len(messages) - self._limits.events
            messages = _worth(messages, self._limits.events)
        left, events = self._limits.units, []
        for message in messages:
            events.append(_event(message, min(self._limits.unit, max(1, left))))
            left -= len(events[-1].unit)
        return tuple(events)

    def _set_orders(self) -> None:
        """Order by time where one is known; what has none comes behind what stands before it in its file."""
        for number, keys in enumerate(self._files):
            carried = 0.0
            for line, hint, key in sorted(keys, key=lambda row: row[0]):
                message = self._said[key]
                carried = max(carried, hint, message.known or 0.0)
                at = carried if message.known is None else message.known
                message.order = min(message.order, (at, number, line))

    def _key(self, unit: Unit) -> Key:
        """Return what tells the event from others; names are put aside once too many differ by them alone."""
        exception = _exception(unit)
        key = (template(unit.line.words.strip()[:500]), exception, _frame(unit))
        if key in self._said:
            return key
        rough = (shape(key[0]), exception)
        self._shapes[rough] = self._shapes.get(rough, 0) + 1
        return key if self._shapes[rough] <= self._limits.variants else (rough[0], exception, None)

    def _new(self, key: Key, unit: Unit, story: Story) -> Message:
        message = self._said[key] = Message(unit, story.stream.file.path, (True, float("inf"), 0, 0))
        return message

    def _merge(self, message: Message, unit: Unit, story: Story, hint: float) -> None:
        known = _known(unit)
        order = (story.is_error_file, hint if known is None else known, len(self._files), unit.line.number)
        if order < message.first:
            message.unit, message.path, message.first = unit, story.stream.file.path, order
        if known is not None:
            message.known = known if message.known is None else min(known, message.known)
        message.severity = max(message.severity, unit.severity)
        self._last(message, unit, story, order, self._more(message, unit, story))
        message.ranks.update(_rank(unit))
        message.nodes.update({unit.node or unit.line.prefix.node} - {""})

    def _more(self, message: Message, unit: Unit, story: Story) -> int:
        """Count *unit*, and once the lines like it that were only counted; return where it was said last."""
        if story.is_error_file:
            message.files += 1
        else:
            message.count += 1
        name = (len(self._files), unit.line.key)
        more = story.more.get(unit.line.key)
        if more is None or more.count <= 0 or name in message.counted:
            return unit.line.number
        message.counted.add(name)
        message.count += more.count
        message.ranks.update(more.ranks)
        return max(more.last, unit.line.number)

    def _last(self, message: Message, unit: Unit, story: Story, order: Order, number: int) -> None:
        last = (order[1], order[2], number)
        if last >= message.last_order and not (story.is_error_file and message.last.line):
            message.last, message.last_order = Place(story.stream.file.path, number), last
            message.behind = story.behind(max(number, unit.lines[-1].number))
            message.run = run_of(story.runs, number)


def _worth(messages: Sequence[Message], most: int) -> list[Message]:
    """Return *most* of them in order: the worse ones, of these the first ones and the last ones.

    Where thousands of lines say error, a traceback among them tells more than any of these.
    """

    def rank(at: int) -> tuple[bool, int, int]:
        return messages[at].unit.traceback is None, -messages[at].severity, min(at, len(messages) - at)

    return [messages[at] for at in sorted(sorted(range(len(messages)), key=rank)[:most])]


def _known(unit: Unit) -> float | None:
    """Return when it was said, seconds since 1970, None where no day was told."""
    moment = unit.at or unit.line.prefix.moment or unit.lines[0].prefix.moment
    return moment[0] if moment and moment[1] else None


def _rank(unit: Unit) -> set[int]:
    rank = unit.rank if unit.rank is not None else unit.line.prefix.rank
    return set() if rank is None else {rank}


def _exception(unit: Unit) -> str:
    return unit.traceback.exception if unit.traceback else ""


def _frames(unit: Unit) -> list[tuple[str, int]]:
    """Return the frames, the innermost last."""
    return unit.traceback.frames if unit.traceback else unit.frames[::-1]


def _frame(unit: Unit) -> tuple[str, int] | None:
    return next((frame for frame in reversed(_frames(unit)) if own(frame[0])), None)


def _event(row: Message, most: int) -> Event:
    unit = row.unit
    lines = _shortened(unit, most)
    texts = tuple(shown_lines(line.text for line in lines))
    telling = next((at for at, line in enumerate(lines) if line is unit.line), 0)
    moment = unit.at or unit.line.prefix.moment or unit.lines[0].prefix.moment
    at = row.known if row.known is not None else moment[0] if moment else None
    frames = _frames(unit)
    return Event(
        Place(row.path, unit.line.number), texts[telling], row.severity, texts, tuple(line.number for line in lines),
        _exception(unit), _frame(unit), frames[-1] if frames else None, unit.chained,
        next(iter(_rank(unit) or (row.ranks if len(row.ranks) == 1 else ())), None),
        unit.node or unit.line.prefix.node, at, row.known is not None, max(row.count, row.files),
        frozenset(row.ranks), frozenset(row.nodes), row.last, row.behind, row.run,
    )  # fmt: skip


def _shortened(unit: Unit, most: int) -> list[Line]:
    """Return at most *most* lines of *unit*, the telling one among them."""
    lines: Iterable[Line] = unit.lines
    begun = max(0, min(unit.telling - most // 2, len(unit.lines) - most))
    return list(lines)[begun : begun + most]
