"""The line that a call of `maple` on a terminal ends with: which jobs of the user's failed since he was last told."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Optional

SECONDS = 0.1  # that the service has for its answer


def told(words: list[str], environ: Mapping[str, str] = os.environ) -> None:
    """Say it on stderr, where both outputs are a terminal. Raises nothing; who does not answer in time says nothing."""
    if not _is_read(words, environ):
        return
    try:
        line = _line(words)
    except Exception:  # what was asked for is done; this was not asked for
        return
    if line:
        print(line, file=sys.stderr, flush=True)


def _is_read(words: list[str], environ: Mapping[str, str]) -> bool:
    if "off" in environ.get("MAPLE", "").split(",") or "--json" in words:
        return False
    try:
        return sys.stdout.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):  # they are closed
        return False


def _line(words: list[str]) -> str:
    from ..ask.memory.failed_jobs import read, said
    from ..ask.memory.service import ask

    return said(read(ask({"ask": "failures", "seen": _looked_at(words) or ""}, seconds=SECONDS)), _cause)


def _looked_at(words: list[str]) -> Optional[str]:
    """Return the job that this very call was about: it need not be told of again."""
    if words[:1] not in (["fix"], ["show"]):
        return None
    pairs = zip(words, words[1:])
    named = (word for before, word in pairs if word[:1].isdigit() and before not in ("--exit-code", "--rounds"))
    return next(named, None) or _taken()


def _taken() -> Optional[str]:
    """Return the job that `maple-fix` took where none was named."""
    from .fix.argument import taken

    return taken()


def _cause(job: str) -> str:
    """Return the cause that was found at the job's end, "" where nobody looked."""
    import time

    from ..diagnose.at_end import says

    return says(job, time.time())
