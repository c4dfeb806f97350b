"""Slurm's short form of many hosts: `gpu[01-03,7],login1` is gpu01, gpu02, gpu03, gpu7 and login1."""

from __future__ import annotations

import itertools
import re

_AT_MOST = 100_000  # hosts; a longer list is a mistake, not a cluster
_PART = re.compile(r"((?:[^,\[\]]|\[[^\]]*\])+)(?:,|$)")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts that *text* names, in its order. Raises `ValueError` where it is no host list, or a huge one."""
    hosts: list[str] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise ValueError("%r is no list of hosts" % text[:80])
        at = part.end()
        hosts += _one(part[1])
        if len(hosts) > _AT_MOST:
            raise ValueError("%r names more than %d hosts" % (text[:80], _AT_MOST))
    return tuple(hosts)


def _one(part: str) -> list[str]:
    """Return the hosts of one name, which may have several brackets."""
    pieces = re.split(r"\[([^\]]*)\]", part)
    choices = [[piece] if index % 2 == 0 else _numbers(piece) for index, piece in enumerate(pieces)]
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > _AT_MOST:
        raise ValueError("%r names more than %d hosts" % (part[:80], _AT_MOST))
    return ["".join(words) for words in itertools.product(*choices)]


def _numbers(text: str) -> list[str]:
    """Return the numbers of `01-03,7`, as wide as they are written."""
    found: list[str] = []
    for piece in text.split(","):
        ends = _RANGE.fullmatch(piece)
        if ends is None and not piece.isdigit():
            raise ValueError("%r is no range of hosts" % piece[:80])
        first, last = (int(ends[1]), int(ends[2])) if ends else (int(piece), int(piece))
        if last - first >= _AT_MOST:
            raise ValueError("%r names more than %d hosts" % (piece, _AT_MOST))
        width = len(ends[1] if ends else piece)
        found += ["%0*d" % (width, number) for number in range(first, last + 1)]
    return found
