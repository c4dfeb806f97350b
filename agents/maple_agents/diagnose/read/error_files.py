"""The error files that torchrun's workers leave: one JSON object with the exception, its traceback and its time."""

from __future__ import annotations

import json
import math
from typing import Any


def callstack(data: bytes) -> tuple[list[str], float | None] | None:
    """Return the lines of the traceback that an error file holds, and when it was raised; None: it is no error file.

    Form: {"message": {"message": "…", "extraInfo": {"py_callstack": "Traceback …", "timestamp": "1763700000"}}}, or
    {"message": "…"}.
    """
    if not data.lstrip().startswith(b'{"message"'):
        return None
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return _read(said)


def _read(said: Any) -> tuple[list[str], float | None] | None:
    message = said.get("message") if isinstance(said, dict) else None
    if isinstance(message, str):
        return message.splitlines(), None
    if not isinstance(message, dict):
        return None
    extra = message.get("extraInfo")
    extra = extra if isinstance(extra, dict) else {}
    stack, text = extra.get("py_callstack"), message.get("message")
    told = stack if isinstance(stack, str) and stack.strip() else text
    return (told.splitlines(), _time(extra.get("timestamp"))) if isinstance(told, str) else None


def _time(said: Any) -> float | None:
    try:
        at = float(said)
    except (TypeError, ValueError):
        return None
    return at if math.isfinite(at) and 0 < at < 1e11 else None
