"""The one of several choices that words of the request single out: "4 V100s (the 32GB ones)" of v100-16 and v100-32."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...base.slots import Missing, Origin, Slot, Unread

_PART = re.compile(r"[a-z]{3,}|\d+")
_SAID = re.compile(r"[a-z]{3,}|\d+(?= ?gi?b?\b)")  # a number without its unit may count anything


def picked(missing: Missing, unread: Sequence[Unread]) -> tuple[Slot, Unread] | None:
    """Return the slot that is *missing*, and the word that nobody read and that is true of one choice alone."""
    parts = {choice: set(_PART.findall(choice.lower())) for choice in missing.choices}
    for word in unread:
        said = set(_SAID.findall(word.text.lower()))
        fitting = [
            choice
            for choice, own in parts.items()
            if said & own.difference(*(other for name, other in parts.items() if name != choice))
        ]
        if len(fitting) == 1 and not word.text.startswith("not "):
            return Slot(missing.slot, fitting[0], Origin("request", word.text)), word
    return None
