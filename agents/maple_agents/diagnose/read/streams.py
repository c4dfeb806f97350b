"""One file, read: what it tells, unit by unit, and what stood between.

Prefixes that no table knows: what stands before a traceback's header stands before its other lines as well.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from ..values import LogFile, Severity, Stream
from .clean_lines import plain, shown_lines
from .limits import Limits
from .literals import Search, english
from .log_blocks import opened
from .members import absent, doubled, frozen
from .progress import bar, counting, ended_well, is_of_work, is_progress, is_stamp, planned, starts
from .selection import Chosen
from .severity import by_words
from .takedown import beside, taken_down
from .units.assembly import Assembler
from .units.clocks import Clock, Moment
from .units.prefixes import Labels, Prefix, labels, node_said, prefix
from .units.tracebacks import FRAME, HEADER
from .units.voices import ASIDE, LIGHT, Kept, Line, More, Unit, gaps

NEXT = 40  # lines behind a header in which a frame of it stands
LONGEST = 200  # letters of a prefix
MOST = 8  # prefixes of a log
_NUMBER = re.compile(r"\d+")
_PROCESS = re.compile(r"(?:\[|\bpid[ =:]{1,2})(\d+)")


def without_learned(lines: Sequence[Line]) -> None:
    """Take from the words of *lines* the prefixes that its tracebacks bear, numbers aside."""
    known = [re.compile(pattern) for pattern in _patterns(lines)]
    for line in lines if known else ():
        bearing = next((match for expression in known if (match := expression.match(line.words))), None)
        if bearing is not None:
            line.words = line.words[bearing.end() :]
            process = _PROCESS.search(bearing[0])
            line.prefix.pid = line.prefix.pid or (process[1] if process else "")


def _patterns(lines: Sequence[Line]) -> list[str]:
    patterns: dict[str, None] = {}
    for at, pattern in _headed(lines):
        frame = re.compile(pattern + FRAME.pattern)
        if pattern not in patterns and any(frame.match(line.words) for line in lines[at + 1 : at + 1 + NEXT]):
            patterns[pattern] = None
        if len(patterns) >= MOST:
            break
    return list(patterns)


def _headed(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Yield where a traceback begins behind something, and a pattern of that."""
    for at, line in enumerate(lines):
        header = HEADER.match(line.words) if "Traceback (most" in line.words else None
        before = header["before"] if header else ""
        if before.strip() and len(before) <= LONGEST:
            yield at, r"\d+".join(map(re.escape, _NUMBER.split(before)))


HEAD, TAIL = 20, 40
SUMMARY = 2  # lines in which a program tells last values
ALIKE = 12  # lines that differ by numbers alone; what says the same once more is no other sign of life
CLOSING = 400  # last lines among which a program tells its end
NOT_UNDERSTOOD = "could not be parsed, which is a bug in Maple"
_TRACED = re.compile(r"\++ \S")  # what the shell is about to do (set -x) tells nothing of how it went
BEHIND = 40  # lines behind a hit that may belong to its event
_TORCHRUN = re.compile(r"/attempt_\d+/(\d{1,4})/(?:std(?:out|err)\.log|error\.json)$")


@dataclass
class Story:
    """What one file tells. *moments*: lines that told a time, and these times, in the order of lines."""

    stream: Stream
    units: list[Unit] = field(default_factory=list)
    more: dict[int, More] = field(default_factory=dict)
    moments: list[tuple[int, float]] = field(default_factory=list)
    ordinary: int = 0
    progress: int = 0
    last_progress: int = 0
    ended_well: str = ""
    closed: int = 0
    planned: str = ""
    doubled: list[Line] = field(default_factory=list)
    absent: list[Line] = field(default_factory=list)
    frozen: list[Line] = field(default_factory=list)
    ranks: dict[int, int] = field(default_factory=dict)
    is_error_file: bool = False
    runs: list[int] = field(default_factory=list)  # where the second run of the file begins, the third, …
    _numbers: list[int] = field(default_factory=list)
    _lively: list[float] = field(default_factory=list)  # ordinary lines up to each of these, of like ones a few

    def behind(self, number: int) -> int:
        """Return how many ordinary lines follow line *number*, about so where not every line was looked at."""
        at = bisect_right(self._numbers, number) - 1
        return max(0, round((self._lively[-1] if self._lively else 0.0) - (self._lively[at] if at >= 0 else 0.0)))


def read_stream(file: LogFile, search: Search, limits: Limits) -> Story:
    """Return what *file* tells. What cannot be read is said in `Stream.wrong`; nothing is raised."""
    source = opened(file.path)
    chosen, first = Chosen(search, limits), b""
    for block in source.blocks(limits):
        first = first or block.data[: limits.error_file + 1]
        chosen.block(block.data, block.skipped)
    story = Story(Stream(file, source.bytes, chosen.total, wrong=source.wrong), more=chosen.more)
    clock = Clock(source.modified)
    try:
        if source.bytes <= limits.error_file and (stack := callstack(first)) is not None:
            _read_error_file(story, stack[0], stack[1], search, clock)
        else:
            _read_lines(story, chosen, clock)
    except Exception as error:  # one log that is not understood must not hide the others
        wrong = "%s: %s" % (NOT_UNDERSTOOD, type(error).__name__)
        return Story(Stream(file, source.bytes, chosen.total, wrong=wrong))
    return story


def _read_lines(story: Story, chosen: Chosen, clock: Clock) -> None:
    kept = chosen.lines()
    texts = [plain(row.raw) for row in kept]
    used = labels(texts)
    near = _near(kept)
    lines = [
        _line(row, text, used, clock) if close else _ordinary(row, text, used)
        for row, text, close in zip(kept, texts, near, strict=True)
    ]
    numbered = used.numbered and not any(": [rank" in text[:24] for text in texts)  # else these are tasks
    story.ranks = {**chosen.ranked, **(chosen.numbered if numbered else {})}
    _file_labels(story, lines)
    close_lines = [line for line, close in zip(lines, near, strict=True) if close]
    without_learned(close_lines)
    story.units = Assembler(clock).read(close_lines)
    for unit in taken_down(story.units, lines):
        unit.severity = Severity.NOTE
    story.moments = _moments(lines)
    story.runs = starts(lines)
    story.doubled = doubled(lines, [unit.lines[0].number for unit in story.units if unit.severity >= Severity.ERROR])
    _count(story, kept, lines, chosen)
    story.absent, story.frozen = absent(lines), frozen(lines)
    story.ended_well = _last_words(story, lines, chosen.total)
    story.closed = _closed(story, lines) if story.ended_well else 0
    story.planned = planned([line.words for line in _tail(lines, chosen.total)])
    _ends(story, lines, chosen.total)


def _read_error_file(story: Story, texts: list[str], at: float | None, search: Search, clock: Clock) -> None:
    """Read the traceback that stands in an error file: all of it on line 1."""
    story.is_error_file = True
    kept = [Kept(number, text.encode(), search.sort(text.lower().encode()), 0) for number, text in enumerate(texts, 1)]
    lines = [_line(row, plain(row.raw), Labels(), clock) for row in kept]
    _file_labels(story, lines)
    for line in lines:
        line.prefix.moment = line.prefix.moment or (Moment(at) if at is not None else None)
    story.units = Assembler(clock).read(lines)
    _ends(story, lines, len(lines))
    for line in lines:
        line.number = 1
    story.ranks = dict.fromkeys(story.ranks, 1)


def _moments(lines: list[Line]) -> list[tuple[int, float]]:
    """Return the latest time told up to each line that told one: what has no time of its own was said after that."""
    timed = [(line.number, line.prefix.moment.at) for line in lines if line.prefix.moment and line.prefix.moment.dated]
    latest = accumulate((at for _, at in timed), max)
    return [(number, at) for (number, _), at in zip(timed, latest, strict=True)]


def _near(kept: list[Kept]) -> list[bool]:
    """Return which lines may belong to an event: those near a hit, and the last ones."""
    near = [False] * len(kept)
    until = 0
    for at, row in enumerate(kept):
        if row.sort is not None:
            until = row.number + BEHIND
            near[max(0, at - 2) : at] = [True] * min(at, 2)
        near[at] = row.number <= until
    near[-TAIL:] = [True] * len(near[-TAIL:])
    return near


def _ordinary(kept: Kept, text: str, used: Labels) -> Line:
    """Return a line that is part of no event: only who says it is looked at, where its beginning may tell that."""
    beginning = prefix(text, used, None) if text.startswith(("[", "(")) or used.any else Prefix()
    return Line(kept.number, text, text[beginning.start :], beginning, kept.sort, kept.key)


def _line(kept: Kept, text: str, used: Labels, clock: Clock) -> Line:
    beginning = prefix(text, used, clock)
    if kept.sort is not None:
        beginning.node = beginning.node or node_said(text)
    beginning.moment = beginning.moment or (clock.in_words(text) if "CANCELLED AT" in text else None)
    words = text[beginning.start :]
    return Line(kept.number, text, words if kept.sort is None else english(words), beginning, kept.sort, kept.key)


def _file_labels(story: Story, lines: list[Line]) -> None:
    """Give all lines the rank and node of a file that is of one process."""
    file = story.stream.file
    rank, local = file.rank, None
    if rank is None and (match := _TORCHRUN.search(file.path)):
        local = int(match[1])
    for line in lines:
        _fill(line.prefix, rank, local, file.node)
    known = _global_ranks(lines)
    for line in lines:
        if line.prefix.rank is None and line.prefix.local is not None:
            line.prefix.rank = known.get(line.prefix.local)
        if line.prefix.rank is not None:
            story.ranks[line.prefix.rank] = max(line.number, story.ranks.get(line.prefix.rank, 0))


def _global_ranks(lines: list[Line]) -> dict[int, int]:
    """Return the rank of each local rank, where lines tell both and there is but one."""
    pairs = {(line.prefix.local, line.prefix.rank) for line in lines if line.prefix.rank is not None}
    seen = Counter(local for local, _ in pairs)
    return {local: rank for local, rank in pairs if local is not None and rank is not None and seen[local] == 1}


def _fill(prefix: Prefix, rank: int | None, local: int | None, node: str) -> None:
    prefix.rank = rank if prefix.rank is None else prefix.rank
    prefix.local = local if prefix.local is None else prefix.local
    prefix.node = prefix.node or node


def _count(story: Story, kept: list[Kept], lines: list[Line], chosen: Chosen) -> None:
    """Count ordinary lines and those of progress; what was not kept is judged by samples and by what was counted."""
    taken = {line.number for unit in story.units if unit.severity for line in unit.lines}
    unseen = chosen.total - len(kept)
    bad = {unit.line.key for unit in story.units if unit.severity}
    counted = min(unseen, sum(more.count for key, more in chosen.more.items() if key in bad))
    counted += round((unseen - counted) * _worn_share(chosen))
    share = (unseen - counted) / unseen if unseen else 0.0
    new = _new_share(kept, chosen) if unseen else 0.0
    before, lively, progress, drawn = 0.0, 0.0, 0, ""
    alike: Counter[int] = Counter()
    for (row, gap), line in zip(gaps(kept), lines, strict=True):
        before, lively = before + gap * share, lively + gap * share * new
        if row.number not in taken and any(map(str.isalnum, line.words)) and not _TRACED.match(line.words):
            before += 1 + row.drawn
            alike[row.key] += 1
            if is_progress(line.words) and (not (now := bar(line.words)) or now != drawn):
                progress, story.last_progress = progress + 1, row.number
                lively += 1 + row.drawn
            elif alike[row.key] <= ALIKE:
                lively += 1 + row.drawn
        drawn = bar(line.text) or drawn
        story._numbers.append(row.number)
        story._lively.append(lively)
    story.ordinary = round(before)
    story.progress = progress + _sampled(story, chosen, unseen - counted)
    if not story.progress and (steps := counting([line for line in lines if line.number not in taken])):
        story.progress, story.last_progress = len(steps), max(steps)


def _new_share(kept: Sequence[Kept], chosen: Chosen) -> float:
    """Return the share of the lines that were not looked at which tell of training, or of what few others say."""
    alike = Counter(row.raw.translate(None, LIGHT) for row in kept)
    new = [
        row for row in chosen.samples if alike[row.raw.translate(None, LIGHT)] <= ALIKE or is_progress(plain(row.raw))
    ]
    return len(new) / len(chosen.samples) if chosen.samples else 1.0


def _worn_share(chosen: Chosen) -> float:
    """Return the share of the lines that were not looked at, and sound bad, where words of many lines were worn."""
    if not chosen.worn or not chosen.samples:
        return 0.0
    return sum(kept.sort is not None and bool(by_words(plain(kept.raw))) for kept in chosen.samples) / len(
        chosen.samples
    )


def _sampled(story: Story, chosen: Chosen, unseen: int) -> int:
    """Return about how many of the lines that were not kept tell of progress."""
    telling = [kept.number for kept in chosen.samples if is_progress(plain(kept.raw))]
    if not telling or not unseen:
        return 0
    story.last_progress = max(story.last_progress, telling[-1])
    return round(unseen * len(telling) / len(chosen.samples))


def _ends(story: Story, lines: list[Line], total: int) -> None:
    stream = story.stream
    head = shown_lines(line.text for line in lines[:HEAD] if line.number <= HEAD)
    tail = _tail(lines, total)
    story.stream = Stream(
        stream.file, stream.bytes, stream.lines, tuple(head), tuple(shown_lines(line.text for line in tail)),
        tail[0].number if tail else 0, stream.wrong,
    )  # fmt: skip


def _tail(lines: Sequence[Line], total: int) -> list[Line]:
    return [line for line in lines[-TAIL:] if line.number > total - TAIL]


def _last_words(story: Story, lines: list[Line], total: int) -> str:
    """Return the line among the last 15 that says that all is done, if no error stands behind it; "" for none.

    What a thread beside the main one raised is none: Python's exit status does not know of it.
    """
    late = beside(story.units, lines, story.last_progress)
    bad = [unit for unit in story.units if unit.severity >= Severity.ERROR and not unit.aside and unit not in late]
    heard = {line.number for unit in bad for line in unit.lines}
    quiet = {line.number for unit in story.units if unit not in bad for line in unit.lines[1:]} - heard
    last = [line for line in _tail(lines, total) if line.words.strip() and line.number not in quiet][-15:]
    worst = max((unit.lines[-1].number for unit in bad if not unit.line.words.startswith(ASIDE)), default=0)
    ending = ended_well([line.words for line in last if line.number > worst])
    return next(shown_lines([ending])) if ending else ""


def _closed(story: Story, lines: Sequence[Line]) -> int:
    """Return the number of the first line that says that all is done, no training behind it; 0 for none.

    Behind a program's own word a few lines may still tell the last values.
    """
    ends = (line for line in lines[-CLOSING:] if ended_well([line.words]) and not is_stamp(line.words))
    few = ((line.number, SUMMARY if is_of_work(line.words) else 0) for line in ends)
    return next((number for number, more in few if number + more >= story.last_progress), 0)


# The error files that torchrun's workers leave: one JSON object with the exception, its traceback and its time.


def callstack(data: bytes) -> tuple[list[str], float | None] | None:
    """Return the lines of the traceback that an error file holds, and when it was raised; None: it is no error file.

    Form: {"message": {"message": "…", "extraInfo": {"py_callstack": "Traceback …", "timestamp": "1763700000"}}}, or
    {"message": "…"}.
    """
    if not data.lstrip().startswith(b'{"message"'):
        return None
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return _read(table)


def _read(table: Any) -> tuple[list[str], float | None] | None:
    message = table.get("message") if isinstance(table, dict) else None
    if isinstance(message, str):
        return message.splitlines(), None
    if not isinstance(message, dict):
        return None
    extra = message.get("extraInfo")
    extra = extra if isinstance(extra, dict) else {}
    stack, text = extra.get("py_callstack"), message.get("message")
    trace = stack if isinstance(stack, str) and stack.strip() else text
    return (trace.splitlines(), _time(extra.get("timestamp"))) if isinstance(trace, str) else None


def _time(value: Any) -> float | None:
    try:
        at = float(value)
    except (TypeError, ValueError):
        return None
    return at if math.isfinite(at) and 0 < at < 1e11 else None
