"""What a job asked for and used, from the words of the hook that tells its end; and asked for, where no hook tells.

Slurm's controller knows no memory: the accounting has it, some seconds after the end. PBS tells it to its hooks.
"""

from __future__ import annotations

import pwd
import threading
from collections.abc import Callable, Iterable, Sequence

from maple_agents.ask.schedulers import SchedulerError
from maple_agents.base import quantities
from maple_agents.forecast.accounting import NoAccounting, whole
from maple_agents.forecast.runs import Asked, Run, Work
from maple_submit_filter.types.job_records import Outcome

from ..base.telemetry import log
from . import scheduler_words
from .events import Ended

REST = 120.0  # seconds between two questions
MOST = 1000  # jobs of one question, and that wait for one
Of = tuple[int, Run]  # whose, and what


def of_events(events: Iterable[Ended]) -> list[Of]:
    """Return the runs of ended jobs; one that never started, or goes on, is none."""
    return [(event.uid, run) for event in events if event.uid >= 0 and (run := of_event(event)) is not None]


def of_event(event: Ended) -> Run | None:
    """Return the run of a job as its hook tells it, None where it tells no start or no end."""
    outcome = scheduler_words.of_event(event)
    if not outcome.started or not outcome.ended or outcome.ended < outcome.started:
        return None
    nodes, memory = whole(event.node_count), quantities.size(event.asked_memory)
    asked = Asked(
        "", outcome.name, outcome.workdir, outcome.submitted or outcome.started, _limit(event),
        memory // (nodes or 1) if memory else None, outcome.script_hash, Work((), nodes, whole(event.gpus)),
    )  # fmt: skip
    seconds = _seconds(event.used_time) or outcome.ended - outcome.started
    return Run(outcome.job, asked, outcome.ended, seconds, outcome.state, quantities.size(event.used_memory))


def _limit(event: Ended) -> float | None:
    """Return seconds of H:MM:SS; a number alone is minutes of Slurm's, and seconds of PBS's."""
    minutes = whole(event.limit) if event.scheduler == "slurm" else None
    return minutes * 60.0 if minutes else _seconds(event.limit)


def _seconds(text: str) -> float | None:
    return whole(text) or quantities.printed(text)


def _from_scheduler(ids: Sequence[str]) -> Sequence[Run]:
    """Return what the scheduler tells; what asks it is loaded only then."""
    from maple_agents.forecast.sources import of_jobs

    return of_jobs(ids)


class Figures:
    """Jobs that have ended and whose memory nobody told, until the scheduler is asked. *ask*: of jobs, by their ids."""

    def __init__(self, ask: Callable[[Sequence[str]], Sequence[Run]] = _from_scheduler) -> None:
        self._ask, self._said = ask, ""
        self._waiting: dict[tuple[str, int], None] = {}
        self._lock = threading.Lock()

    def wanted(self, runs: Iterable[Of]) -> None:
        """Ask for those runs that have no memory yet."""
        self._add((run.job, uid) for uid, run in runs if run.memory is None)

    def ended(self, outcomes: Iterable[Outcome]) -> None:
        """Ask for jobs that no hook told of."""
        self._add((outcome.job, outcome.uid) for outcome in outcomes if outcome.ended)

    def forget(self) -> None:
        """Ask for nothing more."""
        with self._lock:
            self._waiting.clear()

    def ask(self) -> list[Of]:
        """Return the runs that the scheduler tells of, each of the user it was asked for; raises nothing."""
        with self._lock:
            waiting, self._waiting = dict(self._waiting), {}
        if not waiting:
            return []
        try:
            runs = self._ask([job for job, _ in waiting])
        except (SchedulerError, NoAccounting, OSError, ValueError) as error:
            self._say(str(error))
            return []
        self._say("")
        owned = [(_uid(run.asked.user), run) for run in runs]
        return [(uid, run) for uid, run in owned if (run.job, uid) in waiting]

    def _add(self, jobs: Iterable[tuple[str, int]]) -> None:
        with self._lock:
            for job in jobs:
                if len(self._waiting) < MOST:
                    self._waiting[job] = None

    def _say(self, why: str) -> None:
        if why and why != self._said:
            log().warning("nobody tells what jobs used", why=why)
        self._said = why


def _uid(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return -1
