"""Alarms of running jobs that their owners' own processes saw: held by uid until the next submission says them.

The service looks at no job itself. What it holds a restart forgets: the owner's folder has it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maple_agents.progress.notices import Waiting, line
from maple_submit_filter.answer import terminal
from maple_submit_filter.types.job_records import Outcome

from ..base.log import cause, log

MOST_USERS, MOST_OF_USER = 10_000, 20


class Held(NamedTuple):
    """A user's alarms that wait, and those that he was told of since he handed them over."""

    waiting: tuple[Waiting, ...] = ()
    told: tuple[tuple[str, str], ...] = ()


class Alarms:
    """What users are to be told of."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}

    def hold(self, uid: int, alarms: Sequence[Waiting]) -> tuple[tuple[str, str], ...]:
        """Hold exactly these of a user; return job and kind of those that he was told of since the last time."""
        before = self._held.pop(uid, Held())
        rest = tuple(alarm for alarm in alarms if (alarm.job, alarm.kind) not in before.told)
        if rest and len(self._held) < MOST_USERS:
            self._held[uid] = Held(rest[:MOST_OF_USER])
        return before.told

    def waits(self, uid: int) -> bool:
        """Return whether a user is to be told of an alarm."""
        return bool(self._held.get(uid, Held()).waiting)

    def line(self, uid: int) -> bytes:
        """Return the line that tells a user of his alarms, b"" for none; he will not be told of them again."""
        held = self._held.get(uid, Held())
        try:
            found = line(held.waiting)
        except Exception as error:  # an answer does not depend on what else there is to tell
            log().error("not told of alarms", why=cause(error))
            return b""
        if held.waiting:
            self._held[uid] = Held((), (*held.told, *((alarm.job, alarm.kind) for alarm in held.waiting)))
        return terminal.of_jobs(found.removeprefix("maple: ")) if found else b""

    def heard(self, ends: Iterable[Outcome]) -> None:
        """Jobs have ended: what was odd of them is odd no more."""
        for outcome in ends:
            held = self._held.get(outcome.uid)
            if held is not None:
                rest = tuple(alarm for alarm in held.waiting if alarm.job != outcome.job)
                self._held[outcome.uid] = held._replace(waiting=rest)

    def forget(self) -> None:
        """Hold nothing of anybody: somebody was purged."""
        self._held.clear()
