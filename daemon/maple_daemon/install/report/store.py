"""What the service's memory comes to: what was repaired, by rule and by partition, and how those jobs ended.

The store holds these numbers without any user in them. A submission with two findings counts for both rules, and once
wherever submissions are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from maple_agents.base.output import coloured, width
from maple_submit_filter.answer.report import printable

from ...store.protocol import BETWEEN, Counted
from .audit import Memory, OfPartition, Sums

CHANGED = ("repaired", "accepted", "known-good")  # verdicts: what was submitted was not as written
DONE = {
    "repaired": "repaired",
    "accepted": "repaired after a yes",
    "declined": "offered, and declined",
    "known-good": "repaired as before",
    "taken-back": "repair taken back",
    "would-repair": "would repair",
    "rule-mode": "rule's mode",
    "findings": "told only",
}
RAN, FAILED = ("completed",), ("failed", "timeout", "out-of-memory", "node-failed")
Words = TypeVar("Words", bound=tuple[str, ...])
ON_THE_WAY = ("", "pending", "running", "requeued", "unknown")


def facts_of(rows: Sequence[Counted], since: str) -> Memory:
    """Return what the rows come to, as `--json` prints it; *since*: the first day."""
    rows = [counted for counted in rows if counted.verdict != "trial"]
    finding_rows = [counted for counted in rows if counted.code]
    by_rule = [counted._replace(code=code) for counted in finding_rows for code in counted.code.split(BETWEEN)]
    rules = _busiest(_grouped(by_rule, lambda counted: (counted.code, counted.verdict)))
    partitions = _busiest(_grouped(finding_rows, lambda counted: (counted.partition,)))
    days = sorted(_grouped(rows, lambda counted: (counted.day,)).items())
    return Memory(
        since=since,
        findings=sum(counted.jobs for counted in by_rule),
        with_finding=sum(counted.jobs for counted in finding_rows),
        without_finding=sum(counted.jobs for counted in rows if not counted.code and counted.verdict != "unread"),
        unread=sum(counted.jobs for counted in rows if not counted.code and counted.verdict == "unread"),
        rules=[{"code": code, "done": done, **sums} for (code, done), sums in rules],
        partitions=[{"partition": partition, **sums} for (partition,), sums in partitions],
        days=[{"day": day, **sums} for (day,), sums in days],
    )


def _grouped(rows: Iterable[Counted], by: Callable[[Counted], Words]) -> dict[Words, Sums]:
    """Return the sums of what *by* tells apart."""
    groups: dict[Words, list[Counted]] = {}
    for counted in rows:
        groups.setdefault(by(counted), []).append(counted)
    return {words: _sums(group) for words, group in groups.items()}


def _busiest(groups: dict[Words, Sums]) -> list[tuple[Words, Sums]]:
    """Return groups, those of the most jobs first."""
    return sorted(groups.items(), key=lambda group: (-group[1]["jobs"], *group[0]))


def _sums(rows: Sequence[Counted]) -> Sums:
    ended: Counter[str] = Counter()
    for counted in rows:
        ended[counted.state or "not known"] += counted.jobs
    changed = sum(counted.jobs for counted in rows if counted.code and counted.verdict in CHANGED)
    return Sums(jobs=sum(counted.jobs for counted in rows), repaired=changed, ended=dict(sorted(ended.items())))


def table(facts: Memory, titles: dict[str, str]) -> None:
    """Print the facts for people; *titles*: of the rules."""
    click.echo(f"Submissions in the service's history since {facts['since'] or 'its beginning'}:")
    click.echo(f"  {facts['without_finding']:6}  without a finding")
    click.echo(f"  {facts['unread']:6}  could not be read, and were left alone")
    counted = "1 finding" if facts["findings"] == 1 else f"{facts['findings']} findings"
    click.echo(f"  {facts['with_finding']:6}  with a finding ({counted} in all)")
    if not facts["findings"]:
        return
    click.echo()
    _print(
        ("rule", "what is wrong", "what was done"),
        [
            ((row["code"], titles.get(row["code"], ""), DONE.get(row["done"], row["done"])), row)
            for row in facts["rules"]
        ],
    )
    click.echo()
    _print(("partition", "repaired"), [((_where(row), str(row["repaired"])), row) for row in facts["partitions"]])


def _where(row: OfPartition) -> str:
    return row["partition"] or "(none said)"


def _ends(ended: dict[str, int]) -> tuple[int, int, int, int]:
    """Return how many jobs ran, failed, ended otherwise (cancelled, preempted), and are not known to have ended."""
    ran, failed = (sum(ended.get(state, 0) for state in states) for states in (RAN, FAILED))
    unknown = sum(ended.get(state or "not known", 0) for state in ON_THE_WAY)
    return ran, failed, sum(ended.values()) - ran - failed - unknown, unknown


def _print(heads: Sequence[str], rows: Sequence[tuple[Sequence[str], Sums]]) -> None:
    """Print a table: words, then numbers at the right, one that is 0 as a point."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        made.add_column(head, style="cyan" if head == heads[0] else "", justify=_side(head), overflow="fold")
    for head in ("jobs", "ran", "failed", "other", "not known"):
        made.add_column(head, justify="right", no_wrap=True)
    for words, sums in rows:
        ran, failed, other, unknown = _ends(sums["ended"])
        numbers = [(sums["jobs"], ""), (ran, "green"), (failed, "red"), (other, ""), (unknown, "dim")]
        cells = [Text(str(number) if number else "·", style if number else "dim") for number, style in numbers]
        made.add_row(*(Text(printable(word)) for word in words), *cells)
    Console(width=width(), no_color=not coloured(), highlight=False, emoji=False).print(made)


def _side(head: str) -> Any:
    return "right" if head == "repaired" else "left"
