"""What carrying a script gives."""

from __future__ import annotations

from typing import NamedTuple

from ..values import Plan


class Carried(NamedTuple):
    """*script*: for the new cluster; it passes `maple check`. *plan*: what its parts were made of; None where the
    script stays, but for small repairs, and something that it does not say could not be decided.

    *advice*: what was left out, and what to look at, a sentence each with the line of the old script. *unchanged*: the
    script was right as it stood.
    """

    script: bytes
    plan: Plan | None
    advice: tuple[str, ...] = ()
    unchanged: bool = False
