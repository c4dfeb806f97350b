"""What the audit lines come to: who was helped or would have been, by which rules, and what it cost in time."""

from __future__ import annotations

import datetime
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from maple_submit_filter.records import AuditLine, read_audit
from maple_submit_filter.report import printable

from . import settings
from .layout import layout
from .mode import in_force
from .receipt import installed
from .refusals import Refused

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LATE = ("submissions", "daemon", "helper", "files")  # and who of these was waited for in vain
MOST_HOSTS = 20  # shown to people
MOST = 64 << 20  # bytes read of one user's file, the last ones: users write these files themselves


def gather(prefix: Path, since: str, now: datetime.datetime | None = None) -> list[AuditLine | None]:
    """Return the audit lines from *since* on; None stands for each line that is none."""
    where = layout(prefix)
    installed(where)
    folder = Path(settings.values(in_force(where)).get("audit") or where.audit)
    try:
        paths = [folder / name for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}", "read it as the user who installed Maple") from None
    first = begin(since, now or datetime.datetime.now(datetime.timezone.utc))
    return [line for path in paths for line in read(path) if line is None or line.time >= first]


def begin(since: str, now: datetime.datetime) -> str:
    """Return the first moment that *since* means, as audit lines write it."""
    if found := re.fullmatch(r"(\d{1,5})([mhdw])", since):
        back = datetime.timedelta(**{UNITS[found[2]]: int(found[1])})
        return (now - back).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        said = datetime.datetime.fromisoformat(since)
    except ValueError:
        raise Refused(f"--since: {since} is no time", "say 12h, 7d or 4w, or a date such as 2026-03-02") from None
    said = said if said.tzinfo else said.astimezone()
    return said.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(path: Path) -> Iterator[AuditLine | None]:
    """Yield the lines of one user's file; nothing of a file that is not that user's own, or lies for another."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or path.name.split(".")[0] != str(status.st_uid):
            return
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


def facts_of(lines: list[AuditLine | None]) -> dict[str, Any]:
    """Return what the lines come to, as `--json` prints it."""
    good = [line for line in lines if line is not None]
    verdicts = Counter(line.verdict for line in good)
    times = sorted(line.ms for line in good if line.ms is not None)
    return {
        "submissions": len(good),
        "users": len({line.uid for line in good}),
        "verdicts": dict(verdicts.most_common()),
        "modes": dict(Counter(line.mode for line in good).most_common()),
        "late": late(good),
        "rules": rules(good),
        "ms": {f"p{rank}": percentile(times, rank) for rank in (50, 90, 99, 100)},
        "unreadable": len(lines) - len(good),
    }


def late(lines: list[AuditLine]) -> list[dict[str, Any]]:
    """Return a row for each host on which somebody answered too late, the slowest first."""
    hosts: dict[str, Counter[str]] = {}
    for line in lines:
        if line.verdict == "late":
            hosts.setdefault(line.host, Counter()).update(("submissions", *set(line.late)))
    rows = [{"host": host, **{who: counts[who] for who in LATE}} for host, counts in hosts.items()]
    return sorted(rows, key=lambda row: (-row["submissions"], row["host"]))


def rules(lines: list[AuditLine]) -> list[dict[str, Any]]:
    """Return a row for each rule, the busiest first."""
    rows: dict[str, dict[str, Any]] = {}
    users: dict[str, set[int]] = {}
    for line in lines:
        for code in dict.fromkeys(line.codes):
            row = rows.setdefault(code, {"code": code, "seen": 0, "repaired": 0, "would_repair": 0, "users": 0})
            row["seen"] += 1
            row["repaired"] += line.verdict in ("repaired", "accepted", "known-good")
            row["would_repair"] += line.verdict == "would-repair"
            users.setdefault(code, set()).add(line.uid)
            row["users"] = len(users[code])
    return sorted(rows.values(), key=lambda row: (-row["seen"], row["code"]))


def percentile(times: list[int], rank: int) -> int | None:
    """Return the time that *rank* of a hundred submissions stayed within, None without any."""
    return times[max(0, -(-len(times) * rank // 100) - 1)] if times else None


def table(facts: dict[str, Any], since: str) -> None:
    """Print the facts for people."""
    click.echo(f"{facts['submissions']} submissions of {facts['users']} users left an audit line since {since}")
    if not facts["submissions"]:
        return
    for verdict, count in facts["verdicts"].items():
        click.echo(f"  {count:6}  {SAYS.get(verdict, verdict)}")
    for row in facts["late"][:MOST_HOSTS]:
        host = printable(row["host"])
        whom = f"daemon {row['daemon']}, helper {row['helper']}" + (f", files {row['files']}" if row["files"] else "")
        click.echo(f"          {row['submissions']} on {host}: {whom}")
    click.echo("\nrule      seen  repaired  would repair  users")
    for row in facts["rules"]:
        click.echo(f"{row['code']:8} {row['seen']:5} {row['repaired']:9} {row['would_repair']:13} {row['users']:6}")
    if facts["ms"]["p50"] is not None:
        spent = ", ".join(f"{value} ms {name}" for name, value in facts["ms"].items())
        click.echo(f"\ntime taken: {spent}")
    if facts["unreadable"]:
        click.echo(f"{facts['unreadable']} lines are no audit lines and were not counted", err=True)


SAYS = {
    "repaired": "repaired",
    "accepted": "repaired after the user said yes",
    "known-good": "repaired unasked, as the user had said yes to before and a job ran with",
    "taken-back": "went as written, because a job had failed at once with the repair",
    "would-repair": "would have been repaired in mode repair",
    "late": "went as written, because no answer came in time (socket_ms, helper_ms, files_ms)",
    "findings": "had findings that nothing cures unasked",
}
