"""Fix, run, read again: up to five rounds."""

from __future__ import annotations

from .values import Diagnosis


def run(diagnosis: Diagnosis, rounds: int, model: str | None) -> int:
    """Return the exit code of `maple-fix --rounds`."""
    from ..cli.complaint import Complaint

    raise Complaint("--rounds is not built yet", "use --submit, and maple-fix again")
