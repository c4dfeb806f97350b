"""Reads a bash script: its words, commands and here-documents, as byte spans.

`parse` never raises on any bytes: what it cannot read becomes an `Unread` with the reason, and reading goes on where
that is possible. Spans count in the bytes that were given to `parse`.
"""

from __future__ import annotations

import gc
from typing import Optional

from ..types.edits import Span
from .commands import read
from .heredocs import attach
from .nodes import Item, Program, Unread


def parse(source: bytes, start: int = 0, end: Optional[int] = None) -> Program:
    """Return the commands in *source*[start:end]; spans count in *source*.

    Never raises: a construct that cannot be read is an `Unread` item. Time is linear in the length of the source.
    """
    stop = len(source) if end is None else min(max(end, 0), len(source))
    begin = min(max(start, 0), stop)
    collecting = gc.isenabled()
    gc.disable()  # a tree has no cycles, and looking for some in it again and again takes more time than reading
    try:
        program, reader = read(source, begin, stop)
        return attach(program, reader.documents)
    except RecursionError:  # only where the caller itself stands close to the limit
        whole = Span(begin, stop)
        return Program(whole, (Item(Unread(whole, "nested too deeply"), False),))
    finally:
        if collecting:
            gc.enable()
