"""A request cut into the pieces that the tagger labels, each with the characters it stands on.

A number and its unit are two pieces (`4`, `nodes`), an option and its value too; a path, an address, a time and a name
with digits in it (`gpu-a100-40`) are one; of Chinese each sign is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_WIDE = "\u3040-\u30ff\u3400-\u9fff"
_CHUNK = re.compile(r"\n|[%s]|[^\s,;()\[\]{}\"'`|，。；：！？、（）「」《》“”„«»‚‘’…%s]+|[^\s]" % (_WIDE, _WIDE))
_WHOLE = re.compile(
    r"(?:[a-z]+://\S+|[\w.+-]+@[\w.-]+\w|(?:~|\.{1,2}|\$\{?\w+\}?|/)[\w.~${}-]*/[\w.~/${}%+:-]*|/[\w.~/${}%+:-]+"
    r"|\d+-\d{1,2}(?::\d\d){1,2}|\d{1,3}:\d\d(?::\d\d)?|\d+(?:[.,]\d+)+|\d+-\d+(?::\d+)?(?:%\d+)?|\d+%\d+)\Z",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(\d+(?:[.,]\d+)?)(-?)([^\W\d_]{1,12})\Z")
_UNITS = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+")
_RUN = re.compile(r"(?:\d+(?:[.,]\d+)?[^\W\d_]{1,4}){2,4}\d*\Z")  # 2h30m, 4n8g
_TIMES = re.compile(r"(\d{1,5})([xX×*])(.+)\Z")
_TIMES_BEHIND = re.compile(r"([a-zA-Z]{1,2}\d{1,3}[a-zA-Z]?)([xX×*])(\d{1,4})\Z")
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*?)(\d*)\Z")
_SHORT = re.compile(r"(-[A-Za-z])(\d.*|)\Z")
_DASHED = re.compile(
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|single|half)-[^\W\d_]+(?:-[^\W\d_]+)?\Z",
    re.I,
)
_PATH = re.compile(r"[\w.+-]+(?:/[\w.+-]+)+\Z")  # conf/a.yaml, cuda/12.4, src/run
_RATE = re.compile(r"(?:\d+|[^\W\d_]+)(?:/[^\W\d_]+)+\Z")  # 4/node, GPUs/node, home/eagle
_JOINT = re.compile(r"([=:/@+&<>#*~]|-(?=\Z)|--+)")
_ENDS = ".!?:;=*_~#<>-"


class Piece(NamedTuple):
    """*glued*: no blank stands before it."""

    text: str
    start: int
    end: int
    glued: bool = False


def pieces(text: str) -> list[Piece]:
    """Return the pieces of *text* in their order; every character but blanks stands in one of them."""
    parts: list[Piece] = []
    for chunk in _CHUNK.finditer(text):
        at = chunk.start()
        for part in _parts(chunk.group()):
            parts.append(Piece(part, at, at + len(part), bool(parts) and parts[-1].end == at))
            at += len(part)
    return parts


@cache
def _parts(chunk: str) -> tuple[str, ...]:
    """Return the pieces of what stands between blanks and brackets."""
    if len(chunk) == 1 or len(chunk) > 200:
        return (chunk,)
    core = chunk.rstrip(_ENDS) if not chunk.startswith("--") or chunk.strip("-=") else chunk
    if not core:
        return tuple(chunk)
    lead = len(core) - len(core.lstrip("*_<>=#:!?+&"))
    return (*core[:lead], *_core(core[lead:]), *chunk[len(core) :]) if core[lead:] else tuple(chunk)


def _core(core: str) -> Iterator[str]:
    times, behind, unit = _TIMES.match(core), _TIMES_BEHIND.match(core), _UNIT.match(core)
    if _WHOLE.match(core) or core.isalnum() and not core[0].isdigit() and not behind:
        yield core
    elif times and not core.startswith("0x"):
        yield from (times[1], times[2], *_core(times[3]))
    elif behind:
        yield from behind.groups()
    elif unit:
        yield from filter(None, unit.groups())
    elif _RUN.match(core):
        yield from _UNITS.findall(core)
    elif core.startswith("-"):
        yield from _option(core)
    else:
        yield from _mixture(core)


def _option(core: str) -> Iterator[str]:
    name, equals, value = core.partition("=")
    short = _SHORT.match(name)
    if equals:
        yield from (name, "=", *(_core(value) if value else ()))
    elif short and short[2]:
        yield from (short[1], *_core(short[2]))
    else:
        yield core


def _mixture(core: str) -> Iterator[str]:
    if _PATH.match(core) and not _RATE.match(core):
        yield core
        return
    joints = [part for part in _JOINT.split(core) if part]
    if len(joints) > 1:
        for part in joints:
            yield from _core(part) if not _JOINT.fullmatch(part) else (part,)
    elif _DASHED.match(core):
        yield from (part for part in re.split("(-)", core) if part)
    else:
        yield core
