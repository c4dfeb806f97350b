"""The service's log: one event, one line, on standard error, which is the journal under systemd. Never script text."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import structlog


def configure(form: str) -> None:
    """Write JSON lines, or lines for people, with times in UTC."""
    last: Any = structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            last,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    _configured[:] = [structlog.get_logger()]


_configured: list[Any] = []  # what is made anew for each line costs more than the line


def log() -> Any:
    """Return the log."""
    return _configured[0] if _configured else structlog.get_logger()


def cause(error: BaseException) -> str:
    """Return what was raised and where, without its words: they may be a user's."""
    places = traceback.extract_tb(error.__traceback__)
    where = " at %s:%d" % (os.path.basename(places[-1].filename), places[-1].lineno or 0) if places else ""
    return type(error).__name__ + where
