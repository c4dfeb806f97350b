"""How much of a log is held, looked at and handed on: reading stays bounded whatever a file holds."""

from __future__ import annotations

from typing import NamedTuple

KIB, MIB = 1 << 10, 1 << 20


class Limits(NamedTuple):
    """Bytes, lines and counts. A log within *searched* bytes is searched whole; of a longer one only both ends are."""

    searched: int = 4 << 30
    block: int = MIB
    line: int = 256 * KIB  # of a longer line both ends are read
    raw: int = 8 * KIB  # bytes of a line that are cleaned
    shown: int = 2000  # characters of a line that are shown
    head: int = 300  # lines read in full at the beginning of a file
    tail: int = 1200  # and at its end
    ends: int = 256 * KIB  # bytes that these two may have
    kept: int = 16000  # lines looked at between them
    bytes: int = 24 * MIB  # all lines of a file that are held at once
    copies: int = 40  # of lines that differ by numbers alone
    events: int = 2000
    variants: int = 40  # of events whose texts differ by names alone
    unit: int = 400  # lines of an event
    units: int = 20000  # lines of all events
    error_file: int = MIB


USUAL = Limits()
