"""A request cut into the pieces that the tagger labels, each with the characters it stands on and what is seen of it.

A number and its unit are two pieces (`4`, `nodes`), an option and its value too; a path, an address, a time and a name
with digits in it (`gpu-a100-40`) are one; of Chinese each sign is one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple
from zlib import crc32

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


ROWS = 1 << 16
_MASK = ROWS - 1
_MIX = 0x9E3779B1  # odd, so that no two of a piece's features fall together by their place
_NEAR = (-3, -2, -1, 1, 2, 3)
_FAR, _REACH = 8, 14  # pieces before, and on both sides inside the sentence
_STOPS = frozenset((".", "\n", ";", "!", "?", "。", "；", "！", "？"))
_EDGE = Piece("\x02", 0, 0)


def features(pieces: Sequence[Piece]) -> list[list[int]]:
    """Return the rows of the weights that each piece looks at."""
    own = [_own(piece.text) for piece in pieces]
    heads = [_head(piece.text) for piece in pieces]
    return [_of(pieces, own, heads, at, sentence) for at, sentence in enumerate(_sentences(pieces))]


def _of(
    pieces: Sequence[Piece], own: Sequence[tuple[int, ...]], heads: Sequence[int], at: int, sentence: tuple[int, int]
) -> list[int]:
    edge, last = _head(_EDGE.text), len(pieces)
    rows = [feature & _MASK for feature in own[at]]
    for place, offset in enumerate(_NEAR, 1):
        beside = at + offset
        inside = 0 <= beside < last
        salt = place * _MIX
        if not inside:
            rows.append((edge ^ salt) & _MASK)
        elif abs(offset) == 1:
            rows += [((feature ^ salt) * _MIX >> 7) & _MASK for feature in own[beside]]
        else:
            rows += [((feature ^ salt) * _MIX >> 7) & _MASK for feature in own[beside][:2]]
    left, right = heads[at - 1] if at else edge, heads[at + 1] if at + 1 < last else edge
    before = heads[at - 2] if at > 1 else edge
    behind = heads[at + 2] if at + 2 < last else edge
    shape = own[at][1]
    rows += [
        ((left * 31 + right * 17 + shape) * _MIX >> 9) & _MASK,
        ((left * 13 + shape * 7 + 5) * _MIX >> 9) & _MASK,
        ((right * 19 + shape * 11 + 3) * _MIX >> 9) & _MASK,
        ((before * 23 + left * 29 + shape) * _MIX >> 9) & _MASK,
        ((right * 37 + behind * 41 + shape) * _MIX >> 9) & _MASK,
        (0x51ED + pieces[at].glued * 977 + shape * 3) & _MASK,
    ]
    rows += [((heads[place] ^ 0x77777777) * _MIX >> 8) & _MASK for place in range(max(0, at - _FAR), max(0, at - 3))]
    first, end = sentence
    rows += [
        ((heads[place] ^ 0x33333333) * _MIX >> 8) & _MASK
        for place in range(max(first, at - _REACH), max(first, at - 3))
    ]
    rows += [((heads[place] ^ 0x55555555) * _MIX >> 8) & _MASK for place in range(at + 4, min(end, at + _REACH))]
    return rows


def _sentences(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return for each piece where its sentence begins and ends; a line, and what a semicolon parts, is one too."""
    ends = [at for at, piece in enumerate(pieces) if piece.text in _STOPS]
    bounds: list[tuple[int, int]] = []
    first = 0
    for end in [*ends, len(pieces) - 1]:
        bounds += [(first, end + 1)] * (end + 1 - len(bounds))
        first = end + 1
    return bounds


@cache
def _head(text: str) -> int:
    return _hash("w", _folded(text)) if not any(sign.isdigit() for sign in text) else _hash("w", _shape(text))


@cache
def _own(text: str) -> tuple[int, ...]:
    """Return the hashes of a piece by itself: the word, its shape, and its runs of one to four letters."""
    word = _folded(text)
    framed = "<%s>" % word[:24]
    runs = {framed[at : at + size] for size in (2, 3, 4) for at in range(len(framed) - size + 1)}
    long = "L%d" % min(len(text), 9)
    return (_hash("w", word), _hash("s", _shape(text)), _hash("z", _bare_shape(text)), _hash("l", long),
            *(_hash("n", run) for run in sorted(runs)[:40]))  # fmt: skip


@cache
def _folded(text: str) -> str:
    """Return *text* in lower case, without the marks on its letters."""
    plain = text.lower() if text.isascii() else unicodedata.normalize("NFKD", text.lower())
    return plain if plain.isascii() else "".join(sign for sign in plain if not unicodedata.combining(sign))


_SHAPES = ((re.compile(r"[A-ZÄÖÜÉÈ]"), "A"), (re.compile(r"[^\W\d_A]"), "a"), (re.compile(r"\d"), "9"))


@cache
def _shape(text: str) -> str:
    """Return the form of a piece: `A100` is A999, `gpu-a100` aaa-a999; at most twelve signs of it."""
    for pattern, sign in _SHAPES:
        text = pattern.sub(sign, text)
    return text[:12]


@cache
def _bare_shape(text: str) -> str:
    return re.sub(r"(.)\1+", r"\1", _shape(text))


def _hash(kind: str, text: str) -> int:
    return crc32((kind + text).encode("utf-8", "surrogatepass"))
