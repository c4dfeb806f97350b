"""A job as the rules see it: how it was submitted, its script, and the settings in force."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Tuple

from .script import JobScript
from .settings import Settings
from .submission import Submission

Read = Callable[[bytes], Optional[bytes]]  # a file's bytes by its path, None where it may not or cannot be read


class Job(NamedTuple):
    """*arguments* are the words behind the script on the command line, None where they are not known.

    *read* gives the files that the plan needs, *peruse* those that only advice comes from, such as the program's own:
    None on the way of a submission, whose answer would change with each edit of the program.
    """

    submission: Submission
    script: JobScript
    settings: Settings
    arguments: Optional[Tuple[bytes, ...]] = ()
    read: Optional[Read] = None
    peruse: Optional[Read] = None

    @property
    def source(self) -> bytes:
        """The script's bytes."""
        return self.script.source
