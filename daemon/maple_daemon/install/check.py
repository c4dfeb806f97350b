"""What the doctor says of one thing."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """*state*: "ok", "wrong" or "note" (works, but look at it). *todo* is "" where nothing is to be done."""

    name: str
    state: str
    says: str
    todo: str = ""
