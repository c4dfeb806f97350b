"""Lines between two rulers: a launcher's report of a death, and torchrun's list of failures, whole by its fields."""

from __future__ import annotations

import re

from ...values import Severity
from ..literals import Sort
from ..progress import is_progress
from ..severity import severity
from .clocks import Clock
from .prefixes import node_said, rank_said
from .voices import AT_MOST, Line, Unit, Voice

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
            if voice.box is None or len(voice.box) >= LONGEST or line.told.moment or is_progress(line.words):
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
        heard = severity(line.words, line.told.level)
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
            heard = severity(line.words, line.told.level)
            if heard >= Severity.ERROR:
                unit.severity, unit.telling = heard, len(unit.lines) - 1

    def field(self, voice: Voice, line: Line) -> None:
        """Read torchrun's list of failures: when the traceback's line is there, the failure is whole."""
        found = _FIELD.match(line.words)
        if found is None:
            return
        if found[1] == "time":
            voice.fields = {}
        voice.fields[found[1]] = found[2]
        if found[1] == "traceback" and "exitcode" in voice.fields:
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
        moment = self._clock.said("time: " + fields.get("time", ""))
        unit.at = (moment.at + 0.999, moment.dated) if moment else None  # told in whole seconds
