"""From a submission to what should be submitted: the one function that helper, daemon and `maple check` share."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from .findings import Finding
from .launch import LaunchPlan
from .site import Site
from .submission import Submission


class Rewritten(NamedTuple):
    """A script and argv to submit in place of the user's. *script* None: unchanged; *argv* is always whole."""

    script: Optional[bytes]
    argv: Tuple[bytes, ...]
    says: Tuple[str, ...]  # one line for each change
    because: Tuple[Tuple[int, str], ...]  # (line of the script, rule code or template revision)


class Decision(NamedTuple):
    """*verdict*: "clean", "repaired", "findings" or "unread". *repaired*: what SAFE fixes give, where they cure all.

    *offered*: what the ASK fixes would give as well. *held_back*: (code, why) of fixes not used.
    """

    verdict: str
    findings: Tuple[Finding, ...] = ()
    plan: Optional[LaunchPlan] = None
    repaired: Optional[Rewritten] = None
    offered: Optional[Rewritten] = None
    held_back: Tuple[Tuple[str, str], ...] = ()


def decide(submission: Submission, site: Site) -> Decision:
    """Return what is wrong with the submission and what would cure it. Pure: reads no file but those the plan names.

    The mode (off, observe, warn, repair) is not looked at here: it says what is done with the decision.
    """
    return Decision("clean")
