"""Launch lines as links: a launcher's words read, and what is doubtful about them carried along."""

from __future__ import annotations

import re
from typing import Optional, Sequence, Tuple

from ..play.scene import Trail
from ..types.edits import Span
from ..types.launch_plan import Link
from ..types.text import Text, number
from .grammar import Reading, place

_WANTS = re.compile(r"option -*(\S+) wants a value")


def link(name: str, argv: Sequence[Text], reading: Reading, words: int = 1) -> Link:
    """Return the link of a launcher whose own name takes the first *words* words of *argv*."""
    first, last = place(argv[0]), place(argv[words - 1])
    span = Span(first.start, last.end) if first is not None and last is not None and first.start <= last.end else None
    return Link(
        name,
        tuple(argv[: reading.program]),
        reading.options,
        span,
        span.end if span else None,
        reading.open and not reading.split_only,
    )


def followed(trail: Trail, one: Link, reading: Reading) -> Trail:
    """Return the trail one link further, with what was doubtful about it."""
    doubts = trail.doubts
    if one.open:
        doubts += ("unknown words stand among the options of " + one.name,)
    if reading.problem and not lost_value(reading, trail):
        doubts += (one.name + ": " + reading.problem,)
    return trail._replace(links=trail.links + (one._replace(around=trail.around),), doubts=doubts)


def lost_value(reading: Reading, trail: Trail) -> Tuple[str, ...]:
    """Return the option whose value, an unquoted variable, came out empty: the next option stands there."""
    found = _WANTS.match(reading.problem) if trail.vanished else None
    return (found.group(1).replace("_", "-"),) if found else ()


def option_number(one: Link, *names: str) -> Tuple[bool, Optional[int]]:
    """Return whether an option was given, and its number (None unknown)."""
    found = one.option(*names)
    return (False, None) if found is None else (True, number(found.value))
