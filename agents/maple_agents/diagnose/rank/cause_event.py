"""Which event of a log tells why the job died, where no entry of the knowledge base does: a linear model over what is
seen of each event. Its weights are data, made by `python -m tests.agents.debug.voter --record`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..read import bare
from ..recognise.neighbours import FOLLOWS, Vote, learnt, vote
from ..values import Digest, Event, Place, Severity
from .ranking import of_earlier_run, survived

Voter = Callable[[str], "Vote | None"]
FILE = "telling.json"
MOST = 60  # events of a log that are looked at: the first ones and the last ones
_LAUNCHER = re.compile(
    r"\b(?:srun|slurmstepd|mpirun|mpiexec|prterun|torchrun|PBS)\b|ChildFailedError|CalledProcessError"
)
_HEADING = re.compile(r"(?::|\.\.\.|…)\s*$|^\W*$")
_SAYS = re.compile(r"\b[A-Za-z]{2,}\b")
_NAME_ALONE = re.compile(r"^[\w.]+(?:Error|Exception|Interrupt)?:?\s*$")


class Candidate(NamedTuple):
    """An event with what the second voter says of its line, and the share of belief that it is the telling one."""

    event: Event
    vote: Vote | None
    share: float


@cache
def weights_in_force() -> Mapping[str, float]:
    """Return the weights of the templates in force, none where there are none that can be read."""
    return learnt(FILE, _weights) or {}


def _weights(data: bytes) -> dict[str, float]:
    try:
        return {str(name): float(value) for name, value in json.loads(data)["weights"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("no weights: %s" % error) from None


def telling(digest: Digest, out: Collection[Place]) -> Event | None:
    """Return the error that most likely tells why the job died, the first where nobody has learnt which; None: none.

    *out*: places of events that are known not to.
    """
    errors = [event for event in digest.events if event.severity >= Severity.ERROR and event.place not in out]
    weights = weights_in_force()
    if len(errors) < 2 or not weights:
        return errors[0] if errors else None
    rows = candidates(digest, vote, weights, frozenset(out))
    return next((candidate.event for candidate in rows if candidate.event.severity >= Severity.ERROR), errors[0])


def candidates(
    digest: Digest, vote: Voter, weights: Mapping[str, float], out: frozenset[Place] = frozenset()
) -> list[Candidate]:
    """Return the events that may tell the cause, the likeliest first; *out*: places of those that are known not to."""
    events = [event for event in digest.events if event.severity >= Severity.WARNING and event.place not in out]
    events = events if len(events) <= MOST else [*events[: MOST // 2], *events[-MOST // 2 :]]
    votes = [vote(event.text) for event in events]
    values = [
        sum(weights.get(name, 0.0) * value for name, value in seen(event, digest, events, votes_of).items())
        for event, votes_of in zip(events, votes, strict=True)
    ]
    rows = [Candidate(*row) for row in zip(events, votes, _shares(values), strict=True)]
    return sorted(rows, key=lambda row: -row.share)


def _shares(values: Sequence[float]) -> list[float]:
    most = max(values, default=0.0)
    powers = [math.exp(value - most) for value in values]
    return [power / sum(powers) for power in powers]


def seen(event: Event, digest: Digest, events: Sequence[Event], vote: Vote | None) -> dict[str, float]:
    """Return the features of *event* among *events* by their names, numbers from about -1 to 1."""
    words = bare(event.text)
    return {**_of_place(event, digest, events), **_of_words(words), **_of_vote(vote),
            "error": float(event.severity == Severity.ERROR), "fatal": float(event.severity == Severity.FATAL),
            "exception": float(bool(event.exception)), "chained": float(event.chained > 0),
            "own frame": float(event.frame is not None),
            "innermost own": float(event.frame is not None and event.frame == event.innermost),
            "deep": min(len(event.unit), 40) / 40, "often": min(math.log1p(event.count), 6.0) / 6}  # fmt: skip


def _of_place(event: Event, digest: Digest, events: Sequence[Event]) -> dict[str, float]:
    bad = [other for other in events if other.severity >= Severity.ERROR]
    same = [other for other in bad if other.place.file == event.place.file and other.rank == event.rank]
    at = next(number for number, other in enumerate(events) if other is event)
    return {
        "first error": float(bool(bad) and bad[0] is event),
        "first of rank": float(bool(same) and same[0] is event),
        "last error": float(bool(bad) and bad[-1] is event),
        "late": at / max(1, len(events) - 1),
        "behind": min(math.log1p(event.behind), 6.0) / 6,
        "survived": float(survived(event, digest)),
        "earlier run": float(of_earlier_run(event, digest)),
        "an exception before": float(any(other.exception for other in events[:at])),
        "an exception behind": float(any(other.exception for other in events[at + 1 :])),
    }


def _of_words(words: str) -> dict[str, float]:
    return {
        "launcher": float(_LAUNCHER.search(words) is not None),
        "heading": float(_HEADING.search(words) is not None),
        "name alone": float(_NAME_ALONE.match(words) is not None),
        "long": min(len(_SAYS.findall(words)), 30) / 30,
    }


def _of_vote(vote: Vote | None) -> dict[str, float]:
    if vote is None:
        return {"unlike all": 1.0}
    kind = vote.cause if vote.cause in (FOLLOWS, "none") else "cause"
    return {"votes " + kind: vote.strength, "unlike all": 1.0 - vote.likeness}
