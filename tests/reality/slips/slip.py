"""What a slip is. A module `of_IDEA.py` holds `SLIPS`, and is found by its name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Callable, Mapping, NamedTuple, Optional

from tests.reality import slips as package
from tests.reality.slips.script import Script

Change = Callable[[Script], Optional[bytes]]  # None: there is nothing to change in this script
Spellings = Mapping[str, Change]
SILENT: Spellings = {}


class Slip(NamedTuple):
    """One mistake. *where* says by the script's text alone that it breaks there; in the other scripts it is not made.

    A twin states its own precondition: it returns None where its words would do harm.
    """

    name: str
    codes: tuple[str, ...]  # rules that know it
    where: Callable[[Script], bool]
    spellings: Spellings
    twins: Spellings = SILENT
    dressed: bool = True  # whether the launch line may be written in other shapes afterwards


def every() -> list[Slip]:
    """Return all slips in the order of their rules: seeded samples stay when a slip goes into another module."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name.startswith("of_")]
    slips = [slip for name in names for slip in importlib.import_module(f"{package.__name__}.{name}").SLIPS]
    return sorted(slips, key=lambda slip: (slip.codes, slip.name))
