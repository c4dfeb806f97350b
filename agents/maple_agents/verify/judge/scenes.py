"""What a judgement looks at: a run, what is known beside it, and which of its facts failed in which way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ask.schedulers import Job as Submitted
from ..run.facts import Fact
from ..run.runs import Run
from ..run.watching import Until
from . import advice
from .comparing import Names
from .symptoms import kind_of
from .verdicts import Kind, Reason


@dataclass(frozen=True)
class Scene:
    """What is known beside the facts. *seconds*: how long was waited for them; *findings*: what the rules say."""

    until: Until
    job: Submitted | None
    names: Names
    output: str
    seconds: float
    findings: tuple[tuple[int, str], ...] = ()  # line of the script, words
    wants_gpus: bool = True


def reason(run: Run, kind: Kind, says: str, facts: Sequence[Fact] = ()) -> Reason:
    ranks = tuple(sorted({fact.rank for fact in facts if fact.rank is not None}))
    hosts = tuple(sorted({fact.host for fact in facts}))
    return Reason(kind, says, advice.about(kind, run.step), run.step.line, ranks, hosts)


def failed(run: Run) -> list[Fact]:
    return [fact for fact in run.facts if not fact.ok]


def of_kind(run: Run, kind: Kind) -> list[Fact]:
    return [fact for fact in run.facts if fact.ok is False and kind_of(fact) is kind]


def ranks(facts: Sequence[Fact]) -> list[int]:
    return [fact.rank for fact in facts if fact.rank is not None]
