"""Bars and small curves of one line, for terminals that can draw them and for those that cannot."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import click

from ...progress.answers import thinned

STEPS, PLAIN_STEPS = "▁▂▃▄▅▆▇█", "_.,-~=*#"


def draws() -> bool:
    """Return whether standard output knows blocks."""
    try:
        "▁█░".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(share: float | None, width: int = 24) -> str:
    """Return a bar; of an unknown share one of dots."""
    full, empty = ("█", "░") if draws() else ("#", "-")
    if share is None:
        return "·" * width if draws() else "." * width
    done = min(width, int(share * width))
    return full * done + empty * (width - done)


def curve(values: Sequence[float], width: int = 40) -> str:
    """Return values as a line of blocks, low to high; what is not finite is an exclamation mark."""
    steps = STEPS if draws() else PLAIN_STEPS
    shown = thinned(list(values), width)
    known = [one for one in shown if math.isfinite(one)]
    if not known:
        return "!" * len(shown)
    low, high = min(known), max(known)
    size = (high - low) or 1.0
    return "".join(
        steps[min(len(steps) - 1, int((one - low) / size * len(steps)))] if math.isfinite(one) else "!" for one in shown
    )


def red(text: str) -> str:
    """Return a text that is bad news."""
    return click.style(text, fg="red", bold=True)


def bold(text: str) -> str:
    """Return a text that is read first."""
    return click.style(text, bold=True)
