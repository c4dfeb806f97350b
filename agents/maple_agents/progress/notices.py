"""Alarms that a user was not told of yet: kept in his own folder by whoever looks, said once, each kind of a job.

With the service they are handed to it, so that the next sbatch or qsub on a terminal may say them as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from maple_submit_filter.answer.report import printable

from ..base import new_file

if TYPE_CHECKING:
    from .values import Alarm, Progress  # every command on a terminal asks what waits, and reads no log for it

FOLDER = "notices"
MOST_KEPT = 200  # jobs
MOST_HANDED = 20  # alarms that the service holds of a user
MOST_BYTES = 16 << 10  # of one job
MOST_SAID = 300  # characters
DAY = 86400.0  # seconds in which an alarm is worth a word
BETWEEN = 300.0  # seconds between two looks that nobody asked for
STAMP = "looked"


class Waiting(NamedTuple):
    """An alarm that waits to be said."""

    job: str
    name: str
    kind: str
    says: str


def fresh(progress: Progress) -> list[Alarm]:
    """Return the alarms of a job that no look has seen before, and remember them. Raises nothing."""
    if not progress.run.job:
        return []
    from .answers import shown

    unseen: list[Alarm] = []

    def noted(table: dict[str, Any]) -> None:
        alarms = table["alarms"]
        unseen.extend(alarm for alarm in progress.alarms if alarm.kind not in alarms)
        now = {alarm.kind: shown(alarm.says)[:MOST_SAID] for alarm in progress.alarms}
        for kind, row in alarms.items():
            row["says"] = now.get(kind, "")  # it is over
        for alarm in unseen:
            alarms[alarm.kind] = {"says": now[alarm.kind], "told": False}
        table.update(at=progress.now, name=shown(progress.run.name)[:60])

    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        _changed(progress.run.job, noted)
    return unseen


def seen(progress: Progress) -> None:
    """Hold all alarms of a job for told: its owner looks at them. Raises nothing."""
    fresh(progress)
    mark_told([(progress.run.job, alarm.kind) for alarm in progress.alarms])


def waiting(now: float) -> list[Waiting]:
    """Return what was not told yet, the newest jobs first. Raises nothing."""
    try:
        with new_file.opened(FOLDER, make=False) as folder:
            names = sorted(_jobs(folder), key=lambda name: -new_file.age(folder, name))
            tables = [(name, _table(new_file.read(folder, name, MOST_BYTES))) for name in names]
    except OSError:
        return []
    out: list[Waiting] = []
    for name, table in tables:
        if 0 <= now - float(table["at"]) <= DAY:
            rows = table["alarms"].items()
            job, called = name.removesuffix(".json"), str(table.get("name", ""))
            out += [Waiting(job, called, kind, row["says"]) for kind, row in rows if row["says"] and not row["told"]]
    return out


def mark_told(alarms: Sequence[tuple[str, str]]) -> None:
    """Hold these for told, each by job and kind. Raises nothing."""
    for job in {job for job, _ in alarms if job}:
        kinds = {kind for of, kind in alarms if of == job}

        def mark(table: dict[str, Any], kinds: set[str] = kinds) -> None:
            for kind in kinds & table["alarms"].keys():
                table["alarms"][kind]["told"] = True

        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            _changed(job, mark)


def handed(alarms: Sequence[Waiting], seconds: float = 5.0) -> bool:
    """Let the service hold exactly these, and hold for told what it told of; return whether it knows of running jobs.

    Raises nothing: without a service the alarms wait here.
    """
    from ..ask.memory.service import TELL, NoService, Refused, ask

    with contextlib.suppress(NoService, Refused, KeyError, TypeError, ValueError):
        answer = ask({"alarms": [list(alarm) for alarm in alarms[:MOST_HANDED]]}, TELL, seconds)
        mark_told([(str(job), str(kind)) for job, kind in answer["told"]])
        return bool(answer["running"])
    return False


def line(alarms: Sequence[Waiting]) -> str:
    """Return one line about alarms, "" for none."""
    if not alarms:
        return ""
    first, others = alarms[0], len({alarm.job for alarm in alarms}) - 1
    name = " (%s)" % first.name if first.name else ""
    more = "; %d more of your jobs %s an alarm" % (others, "has" if others == 1 else "have") if others else ""
    return printable("maple: job %s%s: %s; maple progress %s%s" % (first.job, name, first.says, first.job, more))


def due(now: float) -> bool:
    """Return whether a look that nobody asked for may be made, and hold it for made. Raises nothing."""
    with contextlib.suppress(OSError), new_file.opened(FOLDER) as folder:
        if now - new_file.age(folder, STAMP) < BETWEEN:
            return False
        new_file.write(folder, STAMP, b"")
        return True
    return False


def _changed(job: str, change: Callable[[dict[str, Any]], None]) -> None:
    with new_file.opened(FOLDER) as folder:
        name = job.replace("/", "_")[:100] + ".json"
        table = _table(new_file.read(folder, name, MOST_BYTES))
        before = json.dumps(table)
        change(table)
        if not table["alarms"] or json.dumps(table) == before:
            return
        new_file.leave(folder, MOST_KEPT - 1)
        new_file.write(folder, name, json.dumps(table).encode())


def _jobs(folder: int) -> Iterator[str]:
    return (name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))


def _table(data: bytes | None) -> dict[str, Any]:
    """Return what is known of a job's alarms; of what cannot be read nothing is."""
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
        table: dict[str, Any] = json.loads(data or b"{}")
        if table["v"] == 1 and all(isinstance(row["says"], str) and "told" in row for row in table["alarms"].values()):
            return {**table, "at": float(table["at"])}
    return {"v": 1, "at": time.time(), "name": "", "alarms": {}}
