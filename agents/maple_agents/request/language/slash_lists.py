"""Lists that are written with slashes, "zero3/vista/4 nodes", told from paths, and from "gpus/node"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .words import CLOCK, NUMBER, WORD, Token

_PIECE = re.compile(r"[^\s,;()\[\]{}\"'`|§]+")
_NO_LIST = re.compile(r"[/~.$]|w/|\S*(?:://|//|\.\w{1,5}\Z|/\Z)")
_PATH_BEFORE = re.compile(
    r"\b(?:in|from|to|into|under|at|path|folder|directory|file|files|data|dir)[ \t]*[:=]?[ \t]*\Z"
)
_UNITS = ("node", "gpu", "hour", "minute", "day", "week", "rank", "task", "gb")
_KEYS = dict.fromkeys(_UNITS, "unit") | dict.fromkeys(
    ("account", "project", "partition", "queue", "qos", "walltime"), "key"
)
_SEPARATES = re.compile(r"/(?!(?:nodes?|gpus?|cards?|hosts?|hours?|days?)(?![\w-]))", re.I)  # "4 gpus/node" stays
_AMOUNT = "amount"

Known = Callable[[str], Sequence[Token]]
"""Gives the words of a piece of text, with every name that is known as one word (`SITE`, `PARADIGM` ...)."""


def with_commas(text: str, plain: str, known: Known) -> str:
    """Return *text* with commas for the slashes of its lists; no character moves. *plain*: the same in plain signs."""
    pieces = [piece for piece in _PIECE.finditer(plain) if "/" in piece.group() and not _NO_LIST.match(piece.group())]
    if not pieces:
        return text
    kinds = [list(_kinds(piece, plain, known)) for piece in pieces]
    if not any(_is_list(found) for found in kinds):
        return text
    for piece, found in zip(pieces, kinds, strict=True):
        if _is_list(found) or found[0]:  # where one list stands, "nodes/4h/abc123" goes on with it
            listed = _SEPARATES.sub(",", text[piece.start() : piece.end()])
            text = text[: piece.start()] + listed + text[piece.end() :]
    return text


def _is_list(kinds: Sequence[str]) -> bool:
    """Tell whether parts are values of more than one slot, a cluster, a strategy or a model among them."""
    return (
        all(kinds)
        and "unit" not in kinds[1:]
        and len(set(kinds)) > 1
        and bool({"SITE", "PARADIGM", "MODEL"} & {*kinds})
    )


def _kinds(piece: re.Match[str], plain: str, known: Known) -> Iterator[str]:
    """Yield of every part of a piece what it is, "" for what nobody knows."""
    parts = piece.group().split("/")
    unit = re.match(r"[ \t]+([a-z]+)", plain[piece.end() : piece.end() + 12])
    told_path = _PATH_BEFORE.search(plain[max(0, piece.start() - 20) : piece.start()])
    for at, part in enumerate(parts):
        words = known(part + unit.group() if unit and at == len(parts) - 1 and part.isdigit() else part)
        yield "" if told_path else _kind(words)


def _kind(words: Sequence[Token]) -> str:
    if len(words) == 1 and words[0].lex in ("SITE", "PARADIGM", "MODEL", "GPU", "LAUNCHER"):
        return "" if words[0].text.startswith("?") else words[0].lex
    if len(words) == 1:
        return _AMOUNT if words[0].kind == CLOCK else _KEYS.get(words[0].lex, "")
    whole = len(words) == 2 and words[0].kind == NUMBER and words[1].kind == WORD and words[1].lex in _UNITS
    return _AMOUNT if whole else ""
