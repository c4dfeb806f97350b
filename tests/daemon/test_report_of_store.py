"""`maple admin report` from the service's memory: rules, partitions, what was done, how the jobs ended; no user."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from maple_daemon.cli.admin import admin
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Counted

from tests.daemon.store.jobs import outcome, record, version
from tests.json_shapes import fits

TODAY = datetime.datetime.now(datetime.timezone.utc)


def day(back: int) -> str:
    return (TODAY - datetime.timedelta(days=back)).strftime("%Y-%m-%d")


ROWS = [
    Counted(day(0), "MPL301", "gpuA100x4", "repaired", "completed", 40),
    Counted(day(1), "MPL301", "gpuA100x4", "repaired", "failed", 2),
    Counted(day(1), "MPL301", "gpuA100x4", "repaired", "cancelled", 1),
    Counted(day(1), "MPL301", "gpuA100x4", "repaired", "", 3),
    Counted(day(0), "MPL203", "gpuA100x4", "findings", "failed", 5),
    Counted(day(0), "MPL203", "", "would-repair", "timeout", 4),
    Counted(day(0), "", "gpuA100x4", "clean", "completed", 100),
    Counted(day(0), "", "", "unread", "", 7),
    Counted(day(0), "", "", "trial", "completed", 3),
    Counted(day(30), "MPL301", "gpuA100x4", "repaired", "completed", 1000),
]


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """A daemon.toml that names a store with a month behind it, in which there are users, too."""
    store = open_store(str(tmp_path / "memory.db"))
    store.count(ROWS)
    store.keep_version(version("v1", uid=40123, at=1e9, name="canary-name", cwd="/work/canary"))
    store.keep_record(record(uid=40123, at=1e9, host="canary-host"))
    store.keep_outcomes([outcome(uid=40123)])
    store.close()
    (tmp_path / "daemon.toml").write_text('store = "%s"\n' % (tmp_path / "memory.db"))
    return str(tmp_path / "daemon.toml")


def run(*words: str) -> Result:
    return CliRunner().invoke(admin, ["report", *words], env={"COLUMNS": "110", "MAPLE_PREFIX": None})


def report(settings: str, *words: str) -> dict[str, Any]:
    told = json.loads(run("--config", settings, "--json", *words).output)
    fits("report", told)
    memory: dict[str, Any] = told["memory"]
    return memory


def test_a_week_by_rule_and_what_was_done(settings: str) -> None:
    """The busiest first; each way a job ended is counted."""
    facts = report(settings)
    assert facts["rules"] == [
        {
            "code": "MPL301",
            "done": "repaired",
            "jobs": 46,
            "repaired": 46,
            "ended": {"cancelled": 1, "completed": 40, "failed": 2, "not known": 3},
        },
        {"code": "MPL203", "done": "findings", "jobs": 5, "repaired": 0, "ended": {"failed": 5}},
        {"code": "MPL203", "done": "would-repair", "jobs": 4, "repaired": 0, "ended": {"timeout": 4}},
    ]
    assert (facts["findings"], facts["without_finding"], facts["unread"]) == (55, 100, 7)


def test_a_week_by_partition_and_by_day(settings: str) -> None:
    """Days in their order, with all submissions of them."""
    facts = report(settings)
    assert [(one["partition"], one["jobs"], one["repaired"]) for one in facts["partitions"]] == [
        ("gpuA100x4", 51, 46),
        ("", 4, 0),
    ]
    assert [(one["day"], one["jobs"]) for one in facts["days"]] == [(day(1), 6), (day(0), 156)]


def test_a_submission_with_two_rules_counts_once_on_its_partition(settings: str, tmp_path: Path) -> None:
    """And for each of the rules; days count submissions too."""
    before = report(settings)
    store = open_store(str(tmp_path / "memory.db"))
    store.count([Counted(day(0), "MPL203+MPL301", "gpuA100x4", "repaired", "completed", 10)])
    store.close()
    facts = report(settings)
    assert [(one["partition"], one["jobs"], one["repaired"]) for one in facts["partitions"]][0] == ("gpuA100x4", 61, 56)
    assert facts["with_finding"] == before["with_finding"] + 10 and facts["findings"] == before["findings"] + 20
    assert [one["jobs"] for one in facts["days"]] == [6, 166]
    assert {one["code"]: one["jobs"] for one in facts["rules"] if one["repaired"]} == {"MPL301": 56, "MPL203": 10}


@pytest.mark.parametrize(("since", "findings"), [("1h", None), ("36h", 55), ("8w", 1055), ("2000-01-01", 1056)])
def test_since_says_how_far_back_in_whole_days(settings: str, since: str, findings: int | None) -> None:
    """An hour may begin yesterday; what was counted long ago comes with a date long ago."""
    told = report(settings, "--since", since)["findings"]
    assert told in ((49, 55) if findings is None else (findings,))


def test_the_table_is_for_people(settings: str) -> None:
    """Rules with their titles, in words; numbers that are none are points."""
    shown = run("--config", settings).output
    (row,) = [line for line in shown.splitlines() if line.startswith("MPL301")]
    assert row.split()[-6:] == ["repaired", "46", "40", "2", "1", "3"]
    assert "more" in row or "rank" in row or "start" in row  # the rule's title
    assert [line.split()[-5:] for line in shown.splitlines() if line.startswith("gpuA100x4")] == [
        ["51", "40", "7", "1", "3"]
    ]
    assert "told only" in shown and "would repair" in shown and "(none said)" in shown and "·" in shown


def test_no_user_is_in_it(settings: str) -> None:
    """Neither who, nor where, nor what it was called."""
    for words in ([], ["--json"], ["--since", "2000-01-01"]):
        shown = run("--config", settings, *words).output
        assert "canary" not in shown and "40123" not in shown


def test_a_memory_with_nothing_in_it(tmp_path: Path) -> None:
    """Says so in a few lines."""
    open_store(str(tmp_path / "memory.db")).close()
    (tmp_path / "daemon.toml").write_text('store = "%s"\n' % (tmp_path / "memory.db"))
    done = run("--config", str(tmp_path / "daemon.toml"))
    assert done.exit_code == 0 and "0  without a finding" in done.output
    assert done.output.count("\n") == 4


@pytest.mark.parametrize("missing", ["settings", "store", "time"])
def test_what_is_not_there_is_one_line(settings: str, tmp_path: Path, missing: str) -> None:
    """Exit 2, and what to do."""
    words = ["--config", settings]
    if missing == "settings":
        words = ["--config", str(tmp_path / "none.toml")]
    elif missing == "store":
        (tmp_path / "memory.db").unlink()
    else:
        words += ["--since", "soon"]
    done = run(*words)
    assert (done.exit_code, done.output.count("\n")) == (2, 1), done.output
