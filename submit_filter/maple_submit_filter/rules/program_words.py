"""What the words of a user's own program say, as far as their names leave no doubt."""

from __future__ import annotations

from typing import Sequence, Tuple


def value_of(program: Sequence[bytes], ending: str) -> Tuple[int, bytes]:
    """Return (index of the word, value) of `--NAME=VALUE` or `--NAME VALUE` where NAME ends with *ending*.

    (-1, b"") where there is none.
    """
    for index, word in enumerate(program):
        name, equals, value = word.partition(b"=")
        if not name.startswith(b"--") or not _named(name, ending):
            continue
        if equals:
            return index, value
        if index + 1 < len(program):
            return index + 1, program[index + 1]
    return -1, b""


def _named(name: bytes, ending: str) -> bool:
    words = name[2:].decode("utf-8", "replace").replace("-", "_").replace(".", "_")
    return words == ending or words.endswith("_" + ending)
