"""Conditions on what is known of a job: `{ "job.state" = ["timeout", "failed"], "plan.nodes" = ">1" }`.

Each key is a fact, each value what it must be: a word or number (equal; of a fact with several values, one of them), a
list (one of these), a string ">1", "<=4", "!=x" (compared), "~pattern" (a regular expression is found in it), true or
false. All keys must hold. A fact that is not known makes a condition neither true nor false: it then confirms nothing,
excludes nothing and does not fulfil a need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Union

Fact = Union[str, int, float, bool, tuple[str, ...], None]
Wanted = Union[bool, int, float, str, list[Union[str, int]]]

NAMES = {
    "job.state": "how it ended: a word of `job_records.STATES`",
    "job.exit_code": "0 to 255",
    "job.signal": "the signal that ended it",
    "job.reason": "the scheduler's own words",
    "job.elapsed": "seconds it ran",
    "job.left": "seconds between its end and its time limit",
    "job.memory": "bytes asked for on a node",
    "job.memory_share": "the most that was used, as a share of what was asked for",
    "job.restarts": "how often it was started anew",
    "log.events": "how many events stand in the logs",
    "log.errors": "events that sound like an error",
    "log.lines": "lines in all logs",
    "log.ordinary": "lines that are no part of an event",
    "log.progress": "lines that tell of training going on",
    "log.ended_well": "true: near its end the log says that all is done",
    "log.silent": "true: logs were read, and say next to nothing (no error, no progress)",
    "log.ranks": "how many ranks said anything",
    "log.world": "how many ranks there must have been, by the highest that said anything",
    "log.doubled": "true: two processes say that they are the same rank, and another rank says nothing",
    "log.absent": "true: a log tells of fewer tasks than its processes say that they are",
    "log.frozen": "true: a log shows one node rank that was put in before it went to several nodes",
    "log.missing": "true: no log could be read",
    "signs": "ids of the entries whose words were found, and their classes",
    "findings": "codes of the rules that find the script contradicted (proven ones)",
    "advice": "codes of the rules that only advise",
    "plan.nodes": "nodes of the allocation",
    "plan.world": "processes of the greatest world that would start",
    "plan.launchers": "names of the launchers in the script",
    "plan.backend": "the backend that the script names",
    "site.id": "the site",
    "site.scheduler": "slurm or pbs",
    "site.vendor": "nvidia, amd or intel: of the GPUs where the job ran",
    "script.text": "the whole script, for ~patterns",
    "script.endings": "dos where lines end with carriage returns",
    "job.set": "environment variables that the script, what it was submitted with, or the log gives a value",
    "event.frame": "the file of the innermost frame of the user's own code",
    "event.innermost": "the file of the innermost frame, whoever's it is",
    "event.behind": "ordinary lines of the same file after the event",
    "event.count": "how often it was said",
    "event.ranks": "by how many ranks it was said",
}

_COMPARED = re.compile(r"(>=|<=|>|<|!=)\s*(.+)\Z", re.S)
_BY: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def checked(condition: dict[str, Wanted]) -> dict[str, Wanted]:
    """Return *condition*. Raises `ValueError` where it names a fact that there is not, or holds no expression."""
    for name, wanted in condition.items():
        if name not in NAMES:
            raise ValueError("no such fact: %s" % name)
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(value, str) and value.startswith("~"):
                try:
                    re.compile(value[1:])
                except re.error as error:
                    raise ValueError("%s: %r is no regular expression: %s" % (name, value, error)) from None
    return condition


def holds(condition: Mapping[str, Wanted], facts: Mapping[str, Fact]) -> bool | None:
    """Return whether all of *condition* holds: False where one fact says no; else None where one is not known."""
    answers = [_one(wanted, facts.get(name)) for name, wanted in condition.items()]
    if False in answers:
        return False
    return None if None in answers else True


def _one(wanted: Wanted, fact: Fact) -> bool | None:
    if fact is None:
        return None
    if isinstance(wanted, list):
        return any(_one(value, fact) for value in wanted)
    if isinstance(fact, tuple):
        return _among(wanted, fact)
    if isinstance(wanted, bool) or isinstance(fact, bool):
        return wanted is fact
    if isinstance(wanted, str):
        return _text(wanted, fact)
    return wanted == fact


def _among(wanted: Wanted, fact: tuple[str, ...]) -> bool:
    """`!=x` holds where no value is x; all else where one value is as wanted."""
    if isinstance(wanted, str) and wanted.startswith("!="):
        return wanted[2:].strip() not in fact
    return any(_one(wanted, value) for value in fact)


def _text(wanted: str, fact: str | int | float) -> bool:
    if wanted.startswith("~"):
        return re.search(wanted[1:], str(fact)) is not None
    compared = _COMPARED.match(wanted)
    if compared is None:
        return wanted == str(fact)
    if compared[1] == "!=":
        return compared[2] != str(fact)
    try:
        return _BY[compared[1]](float(fact), float(compared[2]))
    except ValueError:
        return False
