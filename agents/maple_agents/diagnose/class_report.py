"""Which class of failures a job had, told to the service: one name of a list, and nothing of a log."""

from __future__ import annotations

import contextlib

from .values import Diagnosis

SECONDS = 1.0  # that a service may take to hear it; nobody waits longer for figures


def tell(job: str, cause: str) -> None:
    """Let the service remember it for the caller's own *job*, and do nothing where none is there. Raises nothing."""
    from ..ask.memory.service import TELL, NoService, Refused, ask
    from ..templates.knowledge.entries import FAILURES

    if job and cause in FAILURES:
        with contextlib.suppress(NoService, Refused, OSError, ValueError):
            ask({"job": job, "cause": cause}, TELL, SECONDS)


def claimed(diagnosis: Diagnosis) -> str:
    """Return the class that a diagnosis stands by, "" where it is no more than likely or not known."""
    first = diagnosis.causes[0]
    return "" if first.likely else first.cause
