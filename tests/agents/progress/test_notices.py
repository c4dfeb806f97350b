"""An alarm is said once: by `maple`, by the next submission, by a command of the user's own, by mail."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from maple_agents.cli.how_far import notify
from maple_agents.cli.how_far.notify import Notice, letter, looked
from maple_agents.progress import notices
from maple_agents.progress.values import Alarm, Course, Estimate, Progress, Run

NOW = time.time()
SILENT = Alarm("silent", "silent for 12 min")
LIMIT = Alarm("limit", "will be killed 25 min before its end")


def seen_as(*alarms: Alarm, job: str = "4711", now: float = NOW) -> Progress:
    """A job's progress with these alarms."""
    return Progress(Run(job=job, name="train.sh", state="running"), (), Course(), Estimate(), alarms, now)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, and no service."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MAPLE_SOCKET", str(tmp_path / "nobody"))
    (tmp_path / "config" / "maple").mkdir(parents=True)
    (tmp_path / "state").mkdir()
    return tmp_path


def wishes(home: Path, text: str) -> None:
    path = home / "config" / "maple" / "notify.toml"
    path.write_text("[notify]\n" + text)
    path.chmod(0o600)


def said() -> str:
    waiting = notices.waiting(NOW)
    notices.mark_told([(alarm.job, alarm.kind) for alarm in waiting])
    return notices.line(waiting)


def test_an_alarm_is_said_once() -> None:
    """One line for several jobs; what is over is not said any more, and comes back silently."""
    looked([seen_as(SILENT), seen_as(LIMIT, job="4712")], Notice())
    line = said()
    assert line.startswith("maple: job 471") and line.endswith("; 1 more of your jobs has an alarm")
    assert said() == ""
    looked([seen_as(SILENT)], Notice())
    assert said() == ""
    looked([seen_as(LIMIT, SILENT)], Notice())
    looked([seen_as()], Notice())
    assert said() == ""


def test_what_is_looked_at_is_not_said() -> None:
    """The page has it already."""
    notices.seen(seen_as(SILENT))
    assert said() == ""
    assert notices.fresh(seen_as(SILENT)) == []


def test_what_is_old_is_not_said() -> None:
    """A day later nobody wants to hear of it."""
    looked([seen_as(SILENT, now=NOW - 2 * notices.DAY)], Notice())
    assert said() == ""


def test_a_log_without_a_job_is_nobody_s_notice() -> None:
    """There is nothing to look at again."""
    looked([seen_as(SILENT, job="")], Notice())
    assert said() == ""


@pytest.mark.parametrize(
    "content", [b"", b"[", b"[]", b'{"v": 1}', b'{"v": 1, "at": "x", "alarms": {"silent": 3}}', b"\xff"]
)
def test_a_broken_file_is_as_none(home: Path, content: bytes) -> None:
    """It is written anew."""
    looked([seen_as(SILENT)], Notice())
    (path,) = (home / "state" / "maple" / "notices").glob("*.json")
    path.write_bytes(content)
    assert notices.waiting(NOW) == []
    assert notices.fresh(seen_as(LIMIT)) == [LIMIT]


def test_nobody_looks_twice_in_five_minutes() -> None:
    """Whoever calls maple often asks the scheduler no more for it."""
    now = time.time()
    assert notices.due(now) and not notices.due(now + 1) and notices.due(now + notices.BETWEEN + 60)


def test_a_command_is_started_once_for_each_kind(home: Path) -> None:
    """Whoever looks: a process from cron, and `--watch` at the same time."""
    wishes(home, "command = 'echo \"$MAPLE_JOB $MAPLE_ALARM $MAPLE_SAYS\" >> %s'\n" % (home / "heard"))
    for alarms in ((SILENT,), (SILENT, LIMIT), (), (SILENT,)):
        looked([seen_as(*alarms)], Notice())
    expected = ["4711 silent silent for 12 min", "4711 limit will be killed 25 min before its end"]
    assert (home / "heard").read_text().splitlines() == expected


def test_a_mail_goes_to_sendmail_as_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address and text; no line of a log gets into the head."""
    fake = home / "sendmail"
    fake.write_text('#!/bin/sh\n{ echo "$(id -u) $*"; cat; } > %s\n' % (home / "mail"))
    fake.chmod(0o755)
    monkeypatch.setattr(notify, "SENDMAIL", str(home))
    wishes(home, "mail = 'me@example.org'\n")
    looked([seen_as(SILENT)], Notice())
    first, *lines = (home / "mail").read_text().splitlines()
    assert first == "%d -i -- me@example.org" % os.getuid()
    assert "To: me@example.org" in lines and "Subject: maple: job 4711" in lines
    assert "job 4711 (train.sh): silent for 12 min" in lines
    head, _, body = letter("me@example.org", seen_as(job="1\nBcc: x@y"), "a\nBcc: z").decode().partition("\n\n")
    assert "Bcc" not in head.replace("1Bccxy", "")


@pytest.mark.parametrize(
    "text",
    ["command = 3\n", "mail = 'a b@c'\n", "mail = '-oQ/tmp'\n", "mail = 'a@b\\nc'\n", "post = 'x'\n", "command = \n"],
)
def test_what_is_wrong_in_the_file_is_named(maple: Callable[..., object], home: Path, text: str) -> None:
    """In one line, with the file; exit code 2, and nothing is started."""
    wishes(home, text)
    (home / "a.log").write_text("step 1/2\n")
    result = maple("progress", str(home / "a.log"), "--notify")
    assert result.code == 2 and "notify.toml" in result.err and result.err.count("\n") == 1  # type: ignore[attr-defined]


def test_who_asks_what_waits_reads_no_log() -> None:
    """Every command on a terminal does at its end, and the service knows alarms too."""
    code = "import sys, maple_agents.progress.notices; print([one for one in sys.modules if '_agents.diagnose' in one])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"
