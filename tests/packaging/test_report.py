"""The report says what Maple saw and did, from lines that users themselves write."""

from __future__ import annotations

import datetime
import json
import os

import pytest
from maple_daemon.install.report import audit
from maple_submit_filter.answer.audit_line import AuditLine, audit_line, read_audit

from tests.json_shapes import fits

NOW = datetime.datetime.now(datetime.timezone.utc)


def line(verdict, codes, ms, days=0.0, uid=None):
    """Return one audit line of *days* ago."""
    when = (NOW - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    whose = os.getuid() if uid is None else uid
    return audit_line(
        AuditLine(when, "login1", whose, "r", "j", verdict, "observe", tuple(codes), "ncsa-delta", "1", "file", ms=ms)
    )


def late_line(host, late, days=0.0):
    """Return the line of a submission that nobody answered in time."""
    return audit_line(read_audit(line("late", [], 250, days))._replace(host=host, late=tuple(late)))


SAMPLE = [
    line("would-repair", ["MPL301"], 20),
    line("would-repair", ["MPL301", "MPL203"], 30, days=1),
    line("repaired", ["MPL203"], 40, days=2),
    line("findings", ["MPL502"], 200, days=6),
    line("repaired", ["MPL301"], 25, days=30),
]


@pytest.fixture
def observed(installed):
    """An installation with a week behind it."""
    (installed.prefix / "audit" / f"{os.getuid()}.jsonl").write_bytes(b"\n".join(SAMPLE) + b"\n")
    return installed


def report(cluster, *words):
    """Return what `maple admin report --json` says."""
    told = json.loads(cluster.admin("report", "--json", *words).output)
    fits("report", told)
    return told


def test_a_week_is_counted_by_rule_verdict_and_time(observed):
    """Older lines are left out; a line with two rules counts for both."""
    facts = report(observed)
    assert facts["submissions"] == 4 and facts["users"] == 1
    assert facts["verdicts"] == {"would-repair": 2, "repaired": 1, "findings": 1}
    assert facts["rules"][:2] == [
        {"code": "MPL203", "seen": 2, "repaired": 1, "would_repair": 1, "users": 1},
        {"code": "MPL301", "seen": 2, "repaired": 0, "would_repair": 2, "users": 1},
    ]
    assert facts["ms"] == {"p50": 30, "p90": 200, "p99": 200, "p100": 200}


@pytest.mark.parametrize(("since", "count"), [("12h", 1), ("36h", 2), ("5w", 5), ("2000-01-01", 5)])
def test_since_says_how_far_back(observed, since, count):
    """Hours, days, weeks or a date."""
    assert report(observed, "--since", since)["submissions"] == count


def test_a_since_that_means_nothing_is_refused(observed):
    """With what to write instead."""
    result = observed.admin("report", "--since", "yesterday")
    assert result.exit_code == 2 and "say 12h, 7d or 4w" in result.output


def test_the_table_says_it_for_people(observed):
    """Counts, rules and times."""
    output = observed.admin("report").output
    assert (
        "Maple checked 4 submissions by 1 user in the last 7 days" in output
        and "MPL301" in output
        and "median 30 ms" in output
        and "longest 200 ms" in output
    )


def test_answers_that_came_too_late_are_told_by_host(observed):
    """So that a site sees which login node is slow, and who was waited for there."""
    slow = [
        late_line("login3", ["daemon", "helper"]),
        late_line("login3", ["helper"]),
        late_line("login1", ["helper"]),
        late_line("login1", ["helper"], days=30.0),
    ]
    with open(observed.prefix / "audit" / f"{os.getuid()}.jsonl", "ab") as file:
        file.write(b"\n".join(slow) + b"\n")
    facts = report(observed)
    assert facts["verdicts"]["late"] == 3
    assert facts["late"] == [
        {"host": "login3", "submissions": 2, "daemon": 1, "helper": 2, "files": 0},
        {"host": "login1", "submissions": 1, "daemon": 0, "helper": 1, "files": 0},
    ]
    output = observed.admin("report").output
    assert "no answer in time" in output and "2 on login3: daemon 1, helper 2" in output


def test_no_lines_are_no_error(installed):
    """A quiet week is a short report."""
    result = installed.admin("report")
    assert result.exit_code == 0 and result.output == "Maple checked 0 submissions by 0 users in the last 7 days\n"


def test_lines_of_others_and_garbage_do_not_count(observed):
    """Users write these files: what speaks for another, a link, or garbage is not believed, nor any line twice."""
    folder = observed.prefix / "audit"
    with open(folder / f"{os.getuid()}.jsonl", "ab") as file:
        file.write(line("repaired", ["MPL301"], 1, uid=os.getuid() + 1) + b"\n")
        file.write(b'{"time": 7}\n[]\n\xff\xfe\n' + b"[" * 100000 + b"\n")
        file.write(SAMPLE[0].replace(b'"ms":20', b'"ms":"x"') + b"\n")
    (folder / "4711.jsonl").write_bytes(line("repaired", ["MPL301"], 1, uid=4711) + b"\n")
    (folder / "4712.jsonl").symlink_to(folder / f"{os.getuid()}.jsonl")
    os.mkfifo(folder / "4713.jsonl")
    for name in (f"{os.getuid()}.1.jsonl", "4714.jsonl"):
        os.link(folder / f"{os.getuid()}.jsonl", folder / name)
    facts = report(observed)
    assert facts["submissions"] == 4 and facts["unreadable"] == 6


def test_a_folder_that_may_not_be_read_is_not_an_empty_one(observed):
    """Only who installed Maple may read the lines: anybody else is told so, and not that nothing happened."""
    (observed.prefix / "audit").rename(observed.prefix / "elsewhere")
    result = observed.admin("report")
    assert result.exit_code == 2 and "audit: No such file" in result.output


def counter(cluster, name, number):
    """Write a file that counts *number* submissions."""
    path = cluster.prefix / "audit" / name
    path.write_bytes(b"." * number)
    return path


def day_of(back):
    return (NOW - datetime.timedelta(days=back)).strftime("%Y-%m-%d")


def test_submissions_without_a_finding_are_the_denominator(observed):
    """A byte each in the files of the last days, under whatever name there was."""
    me = os.getuid()
    counter(observed, f"{me}.{day_of(0)}.count", 90)
    counter(observed, f"{me}.3.{day_of(2)}.count", 5)
    counter(observed, f"{me}.0123456789abcdef.{day_of(2)}.count", 1)
    counter(observed, f"{me}.{day_of(30)}.count", 1000)
    facts = report(observed)
    assert (facts["untouched"], facts["submissions"], facts["users"]) == (96, 4, 1)
    output = observed.admin("report").output
    assert "Maple checked 100 submissions by 1 user in the last 7 days" in output
    assert "96  nothing found, or no launcher in the script (96.0 %)" in output
    assert "2  would be repaired in mode repair (2.0 %)" in output


def test_a_quiet_week_with_right_submissions_has_no_table_of_rules(installed):
    """Nothing was found: there is nothing to list."""
    counter(installed, f"{os.getuid()}.{day_of(0)}.count", 2)
    output = installed.admin("report").output
    assert output == (
        "Maple checked 2 submissions by 1 user in the last 7 days\n       2  "
        "nothing found, or no launcher in the script (100.0 %)\n"
    )


def test_a_count_that_is_another_s_or_cannot_be_is_not_believed(observed):
    """Users write these files: links, holes, and files in another's name count nothing, and silence nobody."""
    me, folder = os.getuid(), observed.prefix / "audit"
    real = counter(observed, f"{me}.{day_of(0)}.count", 7)
    counter(observed, f"{me + 1}.{day_of(0)}.count", 50)
    (folder / f"{me}.1.{day_of(0)}.count").symlink_to(real)
    os.link(real, folder / f"{me}.6.{day_of(0)}.count")
    os.link(real, folder / f"{me + 1}.6.{day_of(0)}.count")
    with open(folder / f"{me}.2.{day_of(0)}.count", "wb") as file:
        file.truncate(900_000)
    counter(observed, f"{me}.4.{day_of(0)}.count", 1_000_001)
    counter(observed, f"{me}.today.count", 50)
    os.mkfifo(folder / f"{me}.5.{day_of(0)}.count")
    assert report(observed)["untouched"] == 7


@pytest.mark.parametrize(
    ("since", "said"), [("7d", "in the last 7 days"), ("1h", "in the last hour"), ("2026-03-02", "since 2026-03-02")]
)
def test_since_is_told_in_words(since, said):
    assert audit.period(since) == said
