"""What a launcher takes for the script that it is to start, and cannot be one.

What such a step says of ranks and masters counts for nothing, for half of its words are not among its options.
"""

from __future__ import annotations

import re
from typing import Optional, Sequence, Tuple

from ..play.outputs import NODE_LIST
from ..play.scene import Start
from ..types.launch_plan import Breach
from ..types.text import EMPTY

# U+2010 to U+2015 and U+2212: what word processors and web pages put in place of the hyphens that options begin with.
_DASH = rb"-?(?:\xe2\x80[\x90-\x95]|\xe2\x88\x92)(?:-|\xe2\x80[\x90-\x95])?(?=[A-Za-z])"
_NODE = rb"(?:\0(?:host|name|addr):\d+\0|%s)(?::\d{1,5})?" % NODE_LIST


def dash(word: bytes) -> int:
    """Return how many bytes of another dash an option begins with, 0 where it is none."""
    found = re.match(_DASH, word) if b"\xe2" in word[:2] else None
    return found.end() if found is not None else 0


def flaws(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return one breach where one of these is given no script to start; *numbers* say where its command stands."""
    found = ((start, _flaw(start)) for start in starts)
    return next((_breach(start, kind) for start, kind in found if kind), ())


def _breach(start: Start, kind: str) -> Tuple[Breach, ...]:
    where = {"start": start.trail.span.start, "end": start.trail.span.end} if start.trail.span else {}
    word = start.program[0] if start.program else EMPTY
    return (Breach("no-script", where, {"word": word}, (kind.encode(),)),)


def _flaw(start: Start) -> Optional[str]:
    """Return "none", "blank", "node" or "dash"; None where it may be a script, or is not known."""
    link = start.trail.links[-1] if start.trail.links else None
    if link is None or link.open or start.trail.maybe or start.trail.doubts:
        return None
    if not start.program:
        return "none" if start.agent is not None and link.option("help") is None else None
    word = start.program[0]
    if word.open:
        return None
    if dash(word.raw):
        return "dash"
    if start.agent is None:
        return None
    if word.raw[:1] == b"\0" and re.fullmatch(_NODE, word.raw):
        return "node"
    return "blank" if word.literal and not word.raw.strip() else None
