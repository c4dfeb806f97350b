"""The line that a submission leaves of which there is something to say: who, what, why; no script."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Callable, List, NamedTuple, Optional, Tuple


class AuditLine(NamedTuple):
    """One submission.

    *verdict*: "repaired" (SAFE fixes were submitted), "accepted" (the user said yes to an offer), "known-good" (he had
    said yes before, and a job ran with it), "taken-back" (a job failed at once with it, so it was left out),
    "would-repair" (mode observe or warn), "rule-mode" (the site repairs, but not by one of these rules), "findings",
    "unread" (what it would start could not be read), or "late" (nobody answered in time, so it went as written; *late*
    says who was asked and waited for: "daemon", "helper"). *job* and *change* are hashes: of the script as written, and
    of old and new together. *ms* is what the front measured from its start to the hand-over, without the time of a
    question to the user.
    """

    time: str
    host: str
    uid: int
    record: str
    job: str
    verdict: str
    mode: str
    codes: Tuple[str, ...]
    site: str
    revision: str
    came: str
    change: str = ""
    ms: Optional[int] = None
    late: Tuple[str, ...] = ()


def audit_line(line: AuditLine) -> bytes:
    """Return the line as one JSON object without its newline; the front puts "ms" before the closing brace."""
    data = line._asdict()
    if line.ms is None:
        del data["ms"]
    if not line.late:
        del data["late"]
    return json.dumps(data, separators=(",", ":")).encode()


def read_audit(text: bytes) -> AuditLine:
    """Return the line that *text* holds; fields that a later Maple added are skipped. Raises `ValueError`."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not an audit line")
    known = {name: data[name] for name in AuditLine._fields if name in data}
    try:
        return AuditLine(**known)._replace(codes=tuple(known["codes"]), late=tuple(known.get("late", ())))
    except (TypeError, KeyError) as error:
        raise ValueError("an audit line lacks a field") from error


def now() -> str:
    """Return the time as audit lines have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def host() -> str:
    """Return this host's name."""
    return os.uname().nodename


def sha256(data: bytes) -> str:
    """Return the SHA-256 of *data*, in hex digits.

    `hashlib` loads OpenSSL for it, which takes longer than to play a script through; Python brings the same function.
    """
    _function[:] = _function or [_found()]  # a module that is not there is looked for in every folder, each time
    digest: str = _function[0](data).hexdigest()
    return digest


_function: List[Callable[[bytes], Any]] = []


def _found() -> Callable[[bytes], Any]:
    try:
        from _sha2 import sha256 as function  # type: ignore[import-not-found]  # 3.12
    except ImportError:
        try:
            from _sha256 import sha256 as function  # type: ignore[import-not-found]
        except ImportError:  # built without
            from hashlib import sha256 as function
    digest: Callable[[bytes], Any] = function
    return digest
