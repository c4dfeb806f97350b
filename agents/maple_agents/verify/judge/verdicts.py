"""What is said of a verification: passed, failed or unclear, with typed reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from .comparison import Difference


class Result(StrEnum):
    """What came of it."""

    PASSED = "passed"
    FAILED = "failed"
    UNCLEAR = "unclear"  # it did not come to a run that could be judged


class Kind(StrEnum):
    """What broke. The names are stable: they stand in JSON and in records."""

    REFUSED = "refused by the scheduler"
    QUEUE = "never started"
    NOTHING = "nothing started"
    INTERPRETER = "wrong interpreter"
    MODULE = "missing module"
    LAUNCHER = "launcher failed"
    PORT = "port taken"
    DUPLICATE = "duplicate ranks"
    RANK = "rank unknown"
    FAN_OUT = "fan-out"
    WORLD = "wrong world size"
    MASTER = "wrong master"
    GPU = "wrong GPU"
    NODE = "silent node"
    MISSING = "missing ranks"
    RENDEZVOUS = "rendezvous timeout"
    NETWORK = "wrong network interface"
    COLLECTIVE = "wrong or stuck collective"
    KILLED = "killed"
    CRASHED = "crashed"
    WALLTIME = "walltime"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Reason:
    """What broke, in words, and what to do. *line* of the script; *ranks* and *hosts* it is about."""

    kind: Kind
    says: str
    remedy: str = ""
    line: int | None = None
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Warning:
    """What did not break and will cost time: bindings, shared GPUs, slow links."""

    says: str
    line: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The result, its reasons (none where it passed), warnings, and where plan and facts differ."""

    result: Result
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[Warning, ...] = ()
    differences: tuple[Difference, ...] = ()
    values: int = 0  # that could be compared
    known: int = 0  # of them the plan knew


def verdict_of(
    reasons: Sequence[Reason],
    warnings: Sequence[Warning] = (),
    differences: Sequence[Difference] = (),
    values: int = 0,
    known: int = 0,
) -> Verdict:
    """Return the verdict: unclear where nothing but the queue or our own doubt stands in the way of a judgement."""
    only_unclear = all(reason.kind in (Kind.QUEUE, Kind.UNCLEAR) for reason in reasons)
    result = Result.PASSED if not reasons else Result.UNCLEAR if only_unclear else Result.FAILED
    return Verdict(result, tuple(reasons), tuple(warnings), tuple(differences), values, known)


def numbers(ranks: Sequence[int]) -> str:
    """Return ranks as people write them: `0-3, 8`."""
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Return `rank 3` or `ranks 0-3, 8`."""
    return ("rank " if len(set(ranks)) == 1 else "ranks ") + numbers(ranks)


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names in a row, the first few of many."""
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:most]) + (f" and {len(distinct) - most} more" if len(distinct) > most else "")
