"""What of a model's answer is believed: quotes that stand in the log, sentences that can do no harm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from maple_submit_filter.answer.report import printable

from ...base.secrets.masking import masked
from ..values import Evidence
from .asked import SAYS
from .evidence import Shown

SENTENCES = 2
_END = re.compile(r"(?<=[.!?])\s+(?=\S)")
# A user who trusts Maple would type it in: no addresses, and nothing that a shell would obey.
_HARMFUL = re.compile(
    r"[a-z][a-z0-9+.-]*://|\bwww\.|[`|<>$\\;]|&&|\b(?:curl|wget|sudo|su|eval|bash|sh|zsh|chmod|chown|rm|dd|mkfs|nc|ssh|scp|"
    r"pip3?|conda|python3?|perl|base64|kill(?:all)?|scancel|qdel)\s+-|\brm\s+\S|\b(?:curl|wget|sudo|eval)\b|"
    r"\b(?:pip3?|conda|mamba|npm|spack|apt(?:-get)?|dnf|yum) install\b",
    re.IGNORECASE,
)


def quoted(quotes: Sequence[Mapping[str, Any]], lines: Shown) -> tuple[Evidence, ...]:
    """Return the lines that the quotes stand in; () as soon as one stands nowhere, for then none is trusted."""
    found = [lines.line(one["file"], int(one["line"]), one["text"]) for one in quotes]
    proven = [one for one in found if one is not None]
    return tuple(dict.fromkeys(proven)) if len(proven) == len(found) else ()


def sentences(says: str) -> str:
    """Return at most two sentences that may be shown, "" where they hold what nobody should follow."""
    text = printable(masked(" ".join(says.split())))[:SAYS]
    kept = " ".join(_END.split(text)[:SENTENCES]).strip()
    return "" if _HARMFUL.search(kept) else kept
