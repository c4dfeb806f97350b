"""Launch lines believed when they have run: a script with mini-apps in place of its programs, and the verdict on it."""

from __future__ import annotations

from .errors import CannotVerify, Interrupted
from .verdicts import Kind, Reason, Result, Verdict, Warning
from .verifying import Verified, Wanted, verify

__all__ = [
    "CannotVerify",
    "Interrupted",
    "Kind",
    "Reason",
    "Result",
    "Verdict",
    "Verified",
    "Wanted",
    "Warning",
    "verify",
]
