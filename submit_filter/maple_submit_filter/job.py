"""A job as the rules see it: how it was submitted, its script, and the settings in force."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from .scene import Read
from .script import JobScript
from .settings import Settings
from .submission import Submission


class Job(NamedTuple):
    """*arguments* are the words behind the script on the command line, None where they are not known."""

    submission: Submission
    script: JobScript
    settings: Settings
    arguments: Optional[Tuple[bytes, ...]] = ()
    read: Optional[Read] = None

    @property
    def source(self) -> bytes:
        """The script's bytes."""
        return self.script.source
