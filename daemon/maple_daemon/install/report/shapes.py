"""Shapes of what `maple admin report` finds in the audit lines, and in the service's memory."""

from __future__ import annotations

from typing import Optional, TypedDict


class Late(TypedDict):
    """A host on which somebody answered too late, and who of them was waited for in vain."""

    host: str
    submissions: int
    daemon: int
    helper: int
    files: int


class Rule(TypedDict):
    """What a rule came to."""

    code: str
    seen: int
    repaired: int
    would_repair: int
    users: int


class Seen(TypedDict):
    """Of the audit lines. *submissions* left a line, *untouched* did not: nothing was found. *users*: of both."""

    submissions: int
    untouched: int
    users: int
    verdicts: dict[str, int]
    modes: dict[str, int]
    late: list[Late]
    rules: list[Rule]
    ms: dict[str, Optional[int]]
    unreadable: int


class Sums(TypedDict):
    """Jobs, how many of them were repaired, and how they ended."""

    jobs: int
    repaired: int
    ended: dict[str, int]


class OfRule(Sums):
    """Sums of a rule and of what was done by it."""

    code: str
    done: str


class OfPartition(Sums):
    """Sums of submissions with a finding that named a partition, "" for none."""

    partition: str


class OfDay(Sums):
    """Sums of a day."""

    day: str


class Memory(TypedDict):
    """Of the service's memory, from the day *since* on; an administrator's trials of the service are left out."""

    since: str
    findings: int
    with_finding: int
    without_finding: int
    unread: int
    rules: list[OfRule]
    partitions: list[OfPartition]
    days: list[OfDay]
