"""What is shown while one waits: a line that moves, on a terminal only, and on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maple_agents.verify.watching import Watched


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


def words(job_id: str, seen: "Watched") -> str:
    """Return how far a job has come."""
    state = seen.job.state.value if seen.job else "submitted"
    facts = [fact for found in seen.facts.values() for fact in found]
    if not facts:
        return f"job {job_id}: {'running' if seen.began is not None else state}"
    ended = sum(fact.ok is not None for fact in facts)
    apps = ", ".join(dict.fromkeys(fact.miniapp for fact in facts))
    return f"job {job_id}: {apps}: {len(facts)} reports, {ended} at their end"
