"""What `maple admin replay` prints with `--json`, and its shape, which is stable: hours, and policies by name."""

from __future__ import annotations

from typing import TypedDict

from ..forecast.replay import Shortened
from .queueing.jobs import Figures
from .replay import Replay, Row


class Policy(Figures):
    """An ordering and what it came to: over all, by size class, by how much the user submits. Times in hours."""

    policy: str
    says: str
    sizes: dict[str, Figures]
    users: dict[str, Figures]


class Limit(TypedDict):
    """A rule that shortens limits to *factor* times the longest of three runs. *asked_before*, *_after*: node hours."""

    factor: float
    changed: int
    killed: int
    asked_before: float
    asked_after: float


class Answer(TypedDict):
    """`maple admin replay`. *recorded*: waits as they were; *foretold*: share of jobs that had a forecast."""

    unit: str
    pool: int
    load: float
    jobs: int
    left_out: int
    foretold: float
    recorded: Policy
    policies: list[Policy]
    limits: list[Limit]


def answer(done: Replay) -> Answer:
    """Return the replay as `--json` prints it: hours, and names of policies as they are in the table."""
    return Answer(
        unit=done.unit,
        pool=done.pool,
        load=done.load,
        jobs=done.jobs,
        left_out=done.left_out,
        foretold=done.foretold,
        recorded=_policy(done.recorded),
        policies=[_policy(row) for row in done.rows],
        limits=[_limit(rule.factor, rule.done) for rule in done.rules],
    )


def _policy(row: Row) -> Policy:
    return {"policy": row.name, "says": row.says, **row.all, "sizes": row.sizes, "users": row.users}


def _limit(factor: float, done: Shortened) -> Limit:
    asked_before, asked_after = done.asked_before, done.asked_after
    return Limit(
        factor=factor, changed=done.changed, killed=done.killed, asked_before=asked_before, asked_after=asked_after
    )
