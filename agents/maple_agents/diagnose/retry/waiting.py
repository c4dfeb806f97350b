"""A line on the terminal while a round's job is waited for; where nobody looks there is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ask.schedulers import Job

Tell = Callable[[int, str, Job | None], None]


@contextmanager
def waiting() -> Iterator[Tell]:
    """Give a function that is told of a round, its job's id, and what the scheduler says of that job."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True, highlight=False).status("looking for a fix") as status:
        yield lambda number, job_id, job: status.update(Text(words(number, job_id, job)))


def words(number: int, job_id: str, job: Job | None) -> str:
    """Return how far a round has come; the time is that of the last change."""
    state = job.state.value if job is not None else "submitted"
    why = ", " + job.comment if job is not None and job.state.value in ("queued", "held") and job.comment else ""
    return "round %d: job %s: %s%s since %s (Ctrl-C cancels it)" % (
        number, job_id, state, why, time.strftime("%H:%M:%S"),
    )  # fmt: skip
