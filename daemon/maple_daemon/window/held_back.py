"""Repairs that were held back: which rules' changes were not made, and for what reason, without a word of a script."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator

from .shapes import HeldBack

MOST = 1 << 20  # bytes of one decision
_NUMBER = re.compile(r"\d+")


def held_back(decisions: Iterable[tuple[int, bytes]]) -> list[HeldBack]:
    """Return the reasons by rule, the most frequent first. *decisions*: uid, and what the store keeps to be shown.

    Of a reason the numbers and what stands behind its colon are left out: those are of one script.
    """
    scripts: dict[tuple[str, str], list[int]] = {}
    for uid, kept in decisions:
        for reason in dict.fromkeys(_reasons(kept)):
            scripts.setdefault(reason, []).append(uid)
    rows = (
        HeldBack(code=code, why=why, scripts=len(uids), users=len(set(uids)))
        for (code, why), uids in scripts.items()
    )  # fmt: skip
    return sorted(rows, key=lambda row: (-row["scripts"], row["code"], row["why"]))


def _reasons(kept: bytes) -> Iterator[tuple[str, str]]:
    """Yield rule and reason of a decision; what is kept for the front alone is in another form, and passed over."""
    try:
        told = json.loads(zlib.decompressobj().decompress(kept, MOST))
        for row in told["held_back"]:
            yield str(row["code"]), _NUMBER.sub("N", str(row["why"]).partition(": ")[0])[:100]
    except (zlib.error, ValueError, KeyError, TypeError):
        return
