"""Lines put together that tell one thing: a traceback, C++ frames, a box, an error with what is indented below it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...values import Severity
from ..literals import Sort
from ..progress import is_progress
from ..severity import severity
from . import tracebacks
from .clocks import Clock
from .prefixes import node_said, rank_said
from .tracebacks import Traceback, announces
from .voices import ASIDE, AT_MOST, Line, Unit, Voice

_GOES_ON = re.compile(
    r"\s+\S|frame #\d|#\d+ |Stacktrace:|Caused by:|Exception raised from|C\+\+ CapturedTraceback|Suppressed:"
    r"|\.\.\. \d+ more"
    r"|\[\s?\d+\] \S|Signal(?: code)?: |Failing at address|\*\*\* End of error|Current thread 0x|Thread 0x"
)
_OF_CPP = re.compile(r"frame #\d|Exception raised from|C\+\+ CapturedTraceback")
_TELLS = re.compile(r"^\s*what\(\): |^Signal: |^\S+: error: ")
_FAULT = re.compile(r'\s+File "(?P<file>[^"]*)", line (?P<line>\d+) in ')
PLAIN, LOOSE, FAR, OPEN = 30, 4, 400, 64


class Assembler:
    """Takes lines in order, and gives units. *clock* reads the times that boxes tell."""

    def __init__(self, clock: Clock) -> None:
        self.units: list[Unit] = []
        self._voices: dict[tuple[int | None, int | None, str], Voice] = {}
        self._boxes = Boxes(self.units, clock)
        self._latest: Unit | None = None

    def read(self, lines: Iterable[Line]) -> list[Unit]:
        """Return the units of *lines*, ordered by their first lines."""
        for line in lines:
            self._feed(line)
        for voice in self._voices.values():
            self._cut_short(voice, None)
        self.units.sort(key=lambda unit: unit.lines[0].number)
        return self.units

    def _feed(self, line: Line) -> None:
        voice = self._voices.setdefault(line.prefix.voice, Voice())
        self._cut_short(voice, line.number)
        next_to = line.number - voice.seen == 1 or (
            line.prefix.voice != (None, None, "") and line.number - voice.seen < FAR
        )
        if not (
            self._in_traceback(voice, line, next_to)
            or self._boxes.takes(voice, line)
            or self._more(voice, line, next_to)
        ):
            self._plain(voice, line)
        voice.seen, voice.before = line.number, line

    def _cut_short(self, voice: Voice, number: int | None) -> None:
        """End tracebacks that nothing went on with for long."""
        for unit in list(voice.open):
            if number is None or number - unit.lines[-1].number > FAR or len(voice.open) > OPEN:
                voice.open.remove(unit)
                unit.telling = len(unit.lines) - 1
                self.units.append(unit)

    def _in_traceback(self, voice: Voice, line: Line, next_to: bool) -> bool:
        words = line.words
        if tracebacks.DURING in words or tracebacks.DIRECT in words:
            voice.chains, voice.connector, voice.current = True, line, None
            return True
        if "Traceback (most" in words and (header := tracebacks.HEADER.match(words)):
            if voice.box is not None:
                voice.box.append(line)
                self._boxes.field(voice, line)
            self._open(voice, line, bool(header["group"]))
            return True
        if voice.open and self._taken(voice, line, words, next_to):
            return True
        if words.startswith(" ") and tracebacks.FRAME.match(words):  # its header was cut off
            self._open(voice, line, False)
            self._taken(voice, line, words, True, again=True)
            return True
        return False

    def _open(self, voice: Voice, line: Line, group: bool) -> None:
        unit = Unit([line], self._caught(voice, line), traceback=Traceback())
        unit.aside = voice.before is not None and voice.before.words.startswith(ASIDE)
        if voice.chains and voice.last is not None:
            unit.chained = voice.last.chained + 1
            if voice.connector is not None:
                unit.lines.insert(0, voice.connector)
        if group:
            unit.chained = 1  # what stands in the group came before it
        if voice.box is not None:
            self._boxes.place(unit, voice.fields)
        voice.chains, voice.connector, voice.current = False, None, None
        voice.open.append(unit)

    def _caught(self, voice: Voice, line: Line) -> Severity:
        """A traceback is an error, unless its own lines say that it is less."""
        if line.prefix.level:
            return min(Severity.ERROR, max(Severity.WARNING, severity("", line.prefix.level)))
        return Severity.WARNING if voice.ignored else Severity.ERROR

    def _taken(self, voice: Voice, line: Line, words: str, next_to: bool, again: bool = False) -> bool:
        """Give *line* to the open traceback that it goes on with: one that wants it, the last touched, the oldest."""

        def order(unit: Unit) -> tuple[bool, bool]:
            assert unit.traceback is not None
            return not unit.traceback.wants(words), line.number - unit.lines[-1].number > 1

        for unit in sorted(voice.open, key=order):
            traceback = unit.traceback
            assert traceback is not None
            near = next_to and unit.lines[-1].number == voice.seen or again
            if traceback.takes(words, near):
                if unit.lines[-1] is not line and len(unit.lines) < AT_MOST:
                    unit.lines.append(line)
                if traceback.done:
                    unit.telling = len(unit.lines) - 1
                    voice.open.remove(unit)
                    voice.last = voice.current = self._latest = unit
                    self.units.append(unit)
                return True
        return False

    def _more(self, voice: Voice, line: Line, next_to: bool) -> bool:
        """Add a line to the unit that it goes on with."""
        unit = voice.current
        at_once = self._latest is not None and self._latest.lines[-1].number == line.number - 1
        if at_once and self._latest is not None and (_OF_CPP.match(line.words) or self._announced(self._latest, line)):
            unit, next_to = self._latest, True  # whoever said it, its frames follow at once, or the words it announced
        if unit is None or not next_to or len(unit.lines) >= AT_MOST:
            return False
        words = line.words
        if re.match(r"\s*\+[-+]", words):  # the next one of a group
            voice.current = None
            return False
        if not words.strip():
            return unit.traceback is None and (bool(unit.frames) or "Fatal Python error" in unit.line.words)
        if _GOES_ON.match(words):
            if not words.startswith("frame #") and len(unit.lines) > PLAIN and not unit.frames or is_progress(words):
                return False
        elif not self._loosely(unit, line):
            voice.current = None
            return False
        unit.lines.append(line)
        self._tells(unit, line)
        voice.current = self._latest = unit
        return True

    @staticmethod
    def _announced(unit: Unit, line: Line) -> bool:
        """Return whether an exception announced words, and *line*, which bears no label of its own, is the next."""
        return unit.traceback is not None and line.prefix.voice == (None, None, "") and announces(unit.line.words)

    def _loosely(self, unit: Unit, line: Line) -> bool:
        """A message may have more lines that are not indented; few are taken, and none that begins something else."""
        prefix, before = line.prefix, unit.lines[-1].prefix
        if (
            unit.traceback is None
            and "terminate called" not in unit.lines[0].words
            or unit.loose >= LOOSE
            or prefix.moment
            or prefix.level
            and prefix.level != before.level
        ):
            return False
        if (
            severity(line.words, prefix.level) == Severity.FATAL
            or is_progress(line.words)
            or re.match(r"[\w./-]+: (?:\w+: )?(?:error|warning|fatal)|\S+: line \d+:|\w+: task", line.words)
        ):
            return False
        unit.loose += 1
        return True

    def _tells(self, unit: Unit, line: Line) -> None:
        if unit.traceback is None and _TELLS.match(line.words):
            unit.telling = len(unit.lines) - 1
            unit.severity = max(unit.severity, severity(line.words, line.prefix.level))
        fault = _FAULT.match(line.words)
        if fault is not None and unit.frames is not None:
            unit.frames.append((fault["file"], int(fault["line"])))

    def _plain(self, voice: Voice, line: Line) -> None:
        voice.current = None
        if not line.words.strip():
            return
        if line.sort is not None and line.sort != Sort.FRAME:
            heard = severity(line.words, line.prefix.level)
            heard = min(heard, Severity.WARNING) if voice.ignored else heard
            if heard >= Severity.WARNING or line.sort == Sort.ANCHOR and not is_progress(line.words):
                unit = Unit([line], heard, rank=rank_said(line.words) if line.prefix.rank is None else None)
                self.units.append(unit)
                voice.current = self._latest = unit


# Lines between two rulers: a launcher's report of a death, and torchrun's list of failures, whole by its fields.

_RULER = re.compile(r"\s*([-=*#~_!])\1{19,}\s*$")
_FIELD = re.compile(r"\s+(time|host|rank|exitcode|error_file|traceback)\s*: (.*)$")
LONGEST = 60  # lines


class Boxes:
    """Puts lines of boxes together, and appends their units to *units*. *clock* reads the times that they tell."""

    def __init__(self, units: list[Unit], clock: Clock) -> None:
        self._units = units
        self._clock = clock

    def takes(self, voice: Voice, line: Line) -> bool:
        """Lines between two rulers belong together, once one of them sounds bad."""
        ruler = _RULER.match(line.words)
        if ruler is None:
            if voice.box is None or len(voice.box) >= LONGEST or line.prefix.moment or is_progress(line.words):
                voice.box, voice.fields = None, {}
                return False
            voice.box.append(line)
            self.field(voice, line)
            return self._boxed(voice, line)
        after = voice.current
        if voice.box is not None and ruler[1] == voice.ruler:
            voice.box, voice.fields = None, {}
            if after is not None and after.loose < 0:
                after.lines.append(line)
                voice.current = None
        elif voice.box is None:
            voice.box, voice.ruler, voice.fields = [line], ruler[1], {}
            if after is not None and after.traceback is not None and line.number - after.lines[-1].number <= 2:
                after.lines.append(line)
                after.loose = -1
        elif after is not None and after.loose < 0:
            after.lines.append(line)
        return True

    def _boxed(self, voice: Voice, line: Line) -> bool:
        unit = voice.current
        if unit is not None and unit.loose < 0:
            if len(unit.lines) < AT_MOST:
                unit.lines.append(line)
                if unit.traceback is None:
                    unit.rank = rank_said(line.words) if unit.rank is None else unit.rank
                    unit.node = unit.node or node_said(line.words)
                    self._worse(unit, line)
            return True
        if line.sort is None:
            return True
        heard = severity(line.words, line.prefix.level)
        if heard < Severity.ERROR and line.sort != Sort.ANCHOR:  # words of a signature may sound harmless
            return True
        assert voice.box is not None
        unit = Unit(list(voice.box), heard, telling=len(voice.box) - 1, loose=-1)
        self._units.append(unit)
        voice.current = unit
        return True

    def _worse(self, unit: Unit, line: Line) -> None:
        """Of a box the first line that sounds bad tells it, and only where none does the one that is known."""
        if unit.severity < Severity.ERROR and line.sort is not None:
            heard = severity(line.words, line.prefix.level)
            if heard >= Severity.ERROR:
                unit.severity, unit.telling = heard, len(unit.lines) - 1

    def field(self, voice: Voice, line: Line) -> None:
        """Read torchrun's list of failures: when the traceback's line is there, the failure is whole."""
        match = _FIELD.match(line.words)
        if match is None:
            return
        if match[1] == "time":
            voice.fields = {}
        voice.fields[match[1]] = match[2]
        if match[1] == "traceback" and "exitcode" in voice.fields:
            self._failure(voice)

    def _failure(self, voice: Voice) -> None:
        assert voice.box is not None
        begun = max((at for at, line in enumerate(voice.box) if line.words.lstrip().startswith("time")), default=0)
        lines = voice.box[begun:]
        signal = "Signal " in voice.fields["traceback"]
        telling = [
            at for at, line in enumerate(lines) if line.words.lstrip().startswith("traceback" if signal else "exitcode")
        ]
        unit = Unit(lines, Severity.FATAL, telling=telling[0] if telling else 0)
        self.place(unit, voice.fields)
        if unit.at and any(line.words.startswith("Root Cause (first") for line in voice.box[:begun][-2:]):
            unit.at = (unit.at[0] - 0.001, unit.at[1])  # the launcher saw it first
        self._units.append(unit)

    def place(self, unit: Unit, fields: dict[str, str]) -> None:
        rank = re.match(r"\d+", fields.get("rank", ""))
        unit.rank = int(rank[0]) if rank else None
        unit.node = fields.get("host", "").strip()
        moment = self._clock.in_words("time: " + fields.get("time", ""))
        unit.at = (moment.at + 0.999, moment.dated) if moment else None  # told in whole seconds
