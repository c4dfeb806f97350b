"""What the audit lines come to: who was helped or would have been, by which rules, and what it cost in time.

The shapes of what `maple admin report` finds stand here too, those of the service's memory among them.
"""

from __future__ import annotations

import datetime
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional, TypedDict

import click
from maple_agents.base import output
from maple_submit_filter.answer.audit_line import AuditLine, read_audit
from maple_submit_filter.answer.report import printable

from .. import settings
from ..refusals import Refused
from ..release.layout import installed, layout
from ..settings import in_force


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


UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
MOST_HOSTS = 20  # shown to people
COUNT = re.compile(r"(?P<uid>\d+)\.(?:[0-9a-f]+\.)?(?P<day>\d{4}-\d\d-\d\d)\.count")
MOST_A_DAY = 1_000_000  # submissions of one user without an audit line
MOST = 64 << 20  # bytes read of one user's file, the last ones: users write these files themselves


class Gathered(NamedTuple):
    """*lines*: audit lines, None for each line that is none. *untouched*: submissions without a line, by uid."""

    lines: list[AuditLine | None]
    untouched: dict[int, int]


def gather(prefix: Path, since: str, now: datetime.datetime | None = None) -> Gathered:
    """Return what was kept from *since* on; submissions without a line are counted by whole days."""
    where = layout(prefix)
    installed(where)
    folder = Path(settings.values(in_force(where)).get("audit") or where.audit)
    try:
        paths = [folder / name for name in sorted(os.listdir(folder))]
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}", "run this as the user who installed Maple") from None
    first = begin(since, now or datetime.datetime.now(datetime.timezone.utc))
    seen: set[tuple[int, int]] = set()
    audit_lines = (audit_line for path in paths if path.suffix == ".jsonl" for audit_line in read(path, seen))
    lines = [audit_line for audit_line in audit_lines if audit_line is None or audit_line.time >= first]
    untouched: Counter[int] = Counter()
    for path in paths:
        if (match := COUNT.fullmatch(path.name)) and match["day"] >= first[:10]:
            untouched[int(match["uid"])] += size(path, int(match["uid"]), seen)
    return Gathered(lines, {uid: number for uid, number in untouched.items() if number})


def size(path: Path, uid: int, seen: set[tuple[int, int]]) -> int:
    """Return how many submissions a user's file counts: one a byte; 0 for a file that is not that user's own.

    *seen*: files that were counted already; a second link neither counts twice nor silences the first. A user can count
    too many of his own; a hole in the file, or more than anybody submits in a day, is not believed.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    file_id = status.st_dev, status.st_ino
    own = stat.S_ISREG(status.st_mode) and status.st_uid == uid and file_id not in seen
    if own:
        seen.add(file_id)
    return status.st_size if own and status.st_size <= min(MOST_A_DAY, status.st_blocks * 512) else 0


def begin(since: str, now: datetime.datetime) -> str:
    """Return the first moment that *since* means, as audit lines write it."""
    if match := re.fullmatch(r"(\d{1,5})([mhdw])", since):
        back = datetime.timedelta(**{UNITS[match[2]]: int(match[1])})
        return (now - back).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        moment = datetime.datetime.fromisoformat(since)
    except ValueError:
        raise Refused(f"--since: {since} is no time", "say 12h, 7d or 4w, or a date such as 2026-03-02") from None
    moment = moment if moment.tzinfo else moment.astimezone()
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(path: Path, seen: set[tuple[int, int]]) -> Iterator[AuditLine | None]:
    """Yield the lines of one user's file; nothing of a file that is not that user's own, or lies for another.

    *seen*: files that were read already; whoever may make a second link of one would have its lines count twice.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        file_id = status.st_dev, status.st_ino
        if not stat.S_ISREG(status.st_mode) or path.name.split(".")[0] != str(status.st_uid) or file_id in seen:
            return
        seen.add(file_id)
        if status.st_size > MOST:
            file.seek(status.st_size - MOST)
            file.readline()
        for text in file.read(MOST).splitlines():
            yield parsed(text, status.st_uid)


def parsed(text: bytes, uid: int) -> AuditLine | None:
    """Return the line, None when it is none or speaks for another user."""
    try:
        line = read_audit(text)
    except (ValueError, RecursionError):
        return None
    words = (line.time, line.host, line.verdict, line.mode, *line.codes, *line.late)
    fits = line.uid == uid and all(isinstance(word, str) for word in words)
    return line if fits and (line.ms is None or isinstance(line.ms, int)) else None


def facts_of(gathered: Gathered) -> Seen:
    """Return what it comes to, as `--json` prints it."""
    lines, untouched = gathered
    good = [line for line in lines if line is not None]
    times = sorted(line.ms for line in good if line.ms is not None)
    return Seen(
        submissions=len(good),
        untouched=sum(untouched.values()),
        users=len({line.uid for line in good} | set(untouched)),
        verdicts=dict(Counter(line.verdict for line in good).most_common()),
        modes=dict(Counter(line.mode for line in good).most_common()),
        late=late(good),
        rules=rules(good),
        ms={f"p{rank}": percentile(times, rank) for rank in (50, 90, 99, 100)},
        unreadable=len(lines) - len(good),
    )


def late(lines: list[AuditLine]) -> list[Late]:
    """Return a row for each host on which somebody answered too late, the slowest first."""
    hosts: dict[str, Counter[str]] = {}
    for line in lines:
        if line.verdict == "late":
            hosts.setdefault(line.host, Counter()).update(("submissions", *set(line.late)))
    rows = [
        Late(host=host, submissions=counts["submissions"], daemon=counts["daemon"], helper=counts["helper"],
             files=counts["files"])
        for host, counts in hosts.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row["submissions"], row["host"]))


def rules(lines: list[AuditLine]) -> list[Rule]:
    """Return a row for each rule, the busiest first."""
    rows: dict[str, Rule] = {}
    users: dict[str, set[int]] = {}
    for line in lines:
        for code in dict.fromkeys(line.codes):
            row = rows.setdefault(code, Rule(code=code, seen=0, repaired=0, would_repair=0, users=0))
            row["seen"] += 1
            row["repaired"] += line.verdict in ("repaired", "accepted", "known-good")
            row["would_repair"] += line.verdict == "would-repair"
            users.setdefault(code, set()).add(line.uid)
            row["users"] = len(users[code])
    return sorted(rows.values(), key=lambda row: (-row["seen"], row["code"]))


def percentile(times: list[int], rank: int) -> int | None:
    """Return the time that *rank* of a hundred submissions stayed within, None without any."""
    return times[max(0, -(-len(times) * rank // 100) - 1)] if times else None


def table(facts: Seen, since: str) -> None:
    """Print the facts for people."""
    seen = facts["submissions"] + facts["untouched"]
    whose = f"{counted(seen, 'submission')} by {counted(facts['users'], 'user')}"
    click.echo(f"Maple checked {whose} {period(since)}")
    if not seen:
        return
    nothing = "nothing found, or no launcher in the script"
    click.echo(f"  {facts['untouched']:6}  {nothing}{share(facts['untouched'], seen)}")
    for verdict, count in facts["verdicts"].items():
        output.rows(f"  {count:6}  {SAYS.get(verdict, verdict)}{share(count, seen)}")
    for row in facts["late"][:MOST_HOSTS]:
        host = printable(row["host"])
        whom = f"daemon {row['daemon']}, helper {row['helper']}" + (f", files {row['files']}" if row["files"] else "")
        output.rows(f"          {row['submissions']} on {host}: {whom}")
    if facts["rules"]:
        click.echo("\nrule      seen  repaired  would repair  users")
    for rule in facts["rules"]:
        code, would = rule["code"], rule["would_repair"]
        click.echo(f"{code:8} {rule['seen']:5} {rule['repaired']:9} {would:13} {rule['users']:6}")
    if facts["ms"]["p50"] is not None:
        spent = ", ".join(f"{NAMES.get(name, name)} {value} ms" for name, value in facts["ms"].items())
        click.echo(f"\ntime to hand-over where something was found:\n  {spent}")
    if facts["unreadable"]:
        click.echo(f"{counted(facts['unreadable'], 'line')} could not be read and were skipped", err=True)


def period(since: str) -> str:
    """Return what --since meant, in words."""
    if match := re.fullmatch(r"(\d{1,5})([mhdw])", since):
        unit = UNITS[match[2]]
        return f"in the last {unit[:-1]}" if match[1] == "1" else f"in the last {match[1]} {unit}"
    return f"since {since}"


def counted(number: int, name: str) -> str:
    """Return "1 user", "2 users"."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def share(number: int, whole: int) -> str:
    """Return the part of all that a row is, "" for nothing."""
    return f" ({100 * number / whole:.1f} %)" if number else ""


NAMES = {"p50": "median", "p90": "90 %", "p99": "99 %", "p100": "longest"}
SAYS = {
    "repaired": "repaired",
    "accepted": "repaired after the user agreed",
    "known-good": "repaired as the user had agreed to before, and that job ran",
    "taken-back": "submitted as written, because an earlier job failed at once with the repair",
    "would-repair": "would be repaired in mode repair",
    "rule-mode": "not repaired: a rule is not to repair here (mode --rule)",
    "late": "no answer in time, submitted as written (socket_ms, helper_ms)",
    "findings": "submitted as written, with findings that Maple leaves to the user",
    "unread": "could not be read, submitted as written (MAPLE=verbose says why)",
}
