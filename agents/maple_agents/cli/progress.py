"""What is shown while one waits: a line that moves, on a terminal only, and on standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

LARGE = 32 << 20  # bytes of logs that are worth a word while they are read

if TYPE_CHECKING:
    from maple_agents.diagnose.values import Case
    from maple_agents.verify.run.watch import Watched


@contextmanager
def progress() -> Iterator[Callable[[str, "Watched"], None]]:
    """Give a function that is told of a job and what was seen of it; where nobody looks it does nothing."""
    if not (sys.stderr.isatty() and sys.stdout.isatty()):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True, highlight=False).status("reading the script") as status:
        yield lambda job_id, seen: status.update(Text(words(job_id, seen)))


@contextmanager
def reading(case: "Case") -> Iterator[None]:
    """Say on a terminal what is being read, where it is much."""
    size = sum(_size(log_file.path) for log_file in case.logs)
    if size < LARGE or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    files = "1 log" if len(case.logs) == 1 else "%d logs" % len(case.logs)
    with Console(stderr=True, highlight=False).status("reading %s, %d MiB" % (files, size >> 20)):
        yield


def _size(path: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        return os.stat(path).st_size
    return 0


def words(job_id: str, seen: "Watched") -> str:
    """Return how far a job has come."""
    state = seen.job.state.value if seen.job else "submitted"
    facts = [fact for line in seen.facts.values() for fact in line]
    if not facts:
        return f"job {job_id}: {'running' if seen.began is not None else state}"
    ended = sum(fact.ok is not None for fact in facts)
    apps = ", ".join(dict.fromkeys(fact.miniapp for fact in facts))
    return f"job {job_id}: {apps}: {len(facts)} reports, {ended} at their end"
