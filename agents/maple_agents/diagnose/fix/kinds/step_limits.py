"""Limits that a step has of its own on srun's line: they end it long before the job's would."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from maple_submit_filter.answer.decision import examined
from maple_submit_filter.cures import launch_edits
from maple_submit_filter.types.edits import Edit, Fix, Safety
from maple_submit_filter.types.launch_plan import LaunchPlan, Link, Step

from ..registry import Given, concerned

_STEP = re.compile(r"\b(?:StepId=|STEP )\d+\.(?:\d|x)")
_JOB = re.compile(r"\bJOB \d+ ON \S+ CANCELLED\b|StepId=\d+\.(?:batch|extern)\b")


class Limit(NamedTuple):
    """An option of srun's that limits a step. *read*: its value as a number; *most*: the job's, None unknown.

    *raised*: the new value, from the number that there was and the most.
    """

    names: tuple[str, ...]
    read: Callable[[bytes], float | None]
    most: Callable[[str], float | None]
    raised: Callable[[float, float], str]


def of_step(given: Given) -> bool:
    """Return whether the log tells of a step that was ended, and not of the whole job."""
    event = given.event()
    near = [other for other in given.digest.events if event is None or other.place.file == event.place.file]
    texts = [*(evidence.text for evidence in given.cause.evidence), *(other.text for other in near)]
    return any(_STEP.search(text) for text in texts) and not any(_JOB.search(text) for text in texts)


def own(given: Given, limit: Limit) -> list[tuple[Step, Link, str]]:
    """Return the steps that the log can be of and that have such a limit, each with the option's name."""
    return [
        (step, link, name)
        for step in concerned(given)
        for link in step.links
        for name in limit.names
        if link.name == "srun" and link.option(name) is not None
    ]


def raised(given: Given, limit: Limit) -> Fix | None:
    """Raise the limit of the one step that can be meant, up to the job's.

    None where several steps may be meant of which some have none, or where the job's own limit is no higher.
    """
    owners = own(given, limit)
    if len({step.span for step, _, _ in owners}) != len([step for step in concerned(given) if _by_srun(step)]):
        return None
    changes = [change for step, link, name in owners for change in _of_option(given, limit, step, link, name)]
    edits = [edit for _, made in changes for edit in made]
    says = "the step's own limit is raised: srun %s" % " ".join(dict.fromkeys(words for words, _ in changes))
    return Fix(tuple(edits), Safety.ASK, says) if edits else None


def _by_srun(step: Step) -> bool:
    return any(link.name == "srun" for link in step.links)


def _of_option(given: Given, limit: Limit, step: Step, link: Link, name: str) -> Iterator[tuple[str, list[Edit]]]:
    """Yield what the option is to say, with its edits; from what it said as it was submitted."""
    had, now, most = _value(_first(given), step, name, limit), _value(given.plan, step, name, limit), limit.most(name)
    if not had or not now or not most or had >= most:
        return
    new = limit.raised(had, most)
    reached = limit.read(new.encode())
    if reached is None or reached <= now:
        return
    made = launch_edits.change(link.option(name), new.encode(), "raise-limit")
    if made:
        yield "--%s=%s" % (name, new), made


def _value(plan: LaunchPlan, step: Step, name: str, limit: Limit) -> float | None:
    """Return the number that a step's option says in *plan*: the step in the same line."""
    for later in plan.steps:
        for link in later.links if later.line == step.line else ():
            option = link.option(name)
            if link.name == "srun" and option is not None and option.value is not None:
                return limit.read(option.value.raw)
    return None


def _first(given: Given) -> LaunchPlan:
    return examined(given.first, given.site).plan
