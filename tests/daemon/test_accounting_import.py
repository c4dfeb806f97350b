"""`maple admin import`: earlier runs come into the memory once each, for their users alone; sums are printed."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import subprocess
import sys
import time
from typing import Any

import click
import pytest
from click.testing import CliRunner
from maple_agents.base.complaint import Complaint
from maple_daemon.cli.admin import admin
from maple_daemon.store.protocol import Store

from tests.json_shapes import fits

HEAD = "JobID|User|JobName|WorkDir|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|AllocTRES|ReqMem|MaxRSS"
ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def store(memory: Store, tmp_path: Any) -> Store:
    """An empty store, and settings that name it."""
    (tmp_path / "daemon.toml").write_text('store = "%s"\n' % (tmp_path / "memory.db"))
    return memory


def at(days: float) -> str:
    """The time so many days ago, as sacct prints it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - days * 86400))


def row(job: int, user: str, days: float = 1, held: str = "") -> str:
    return f"{job}|{user}|sft|/p|{at(days)}|{at(days)}|{at(days)}|600|720|COMPLETED|2|gres/gpu=8|200G|{held}"


def call(folder: Any, *words: str) -> dict[str, Any]:
    """What is printed as JSON."""
    argv = ["import", "--config", str(folder / "daemon.toml"), *words, "--json"]
    done = CliRunner().invoke(admin, argv, standalone_mode=False, catch_exceptions=False)
    found: dict[str, Any] = json.loads(done.stdout)
    fits("import", found)
    return found


def test_each_job_comes_once_and_to_its_user(store: Store, tmp_path: Any) -> None:
    """Whoever is not known here counts in sums; files that overlap change nothing twice."""
    rows = [row(1, ME, held="3G"), row(2, "ann-from-elsewhere"), row(3, "bo-from-elsewhere"), row(4, ME, days=400)]
    for name, chosen in (("a", rows[:2]), ("b", rows)):
        (tmp_path / name).write_text("\n".join([HEAD, *chosen]) + "\n")
    words = ("--sacct", str(tmp_path / "a"), "--sacct", str(tmp_path / "b"))
    told = call(tmp_path, *words)
    assert (told["read"], told["new"], told["old"], told["unread"]) == (6, 3, 1, 0)
    assert [(run.job, run.memory, run.asked.limit) for run in store.runs(os.getuid())] == [("1", 3 << 30, 43200.0)]
    assert [(one["state"], one["users"], one["jobs"]) for one in told["sums"]] == [("completed", 3, 3)]
    assert call(tmp_path, *words)["new"] == 0


def test_people_read_sums_and_no_user(store: Store, tmp_path: Any) -> None:
    """Of an end that three have in common."""
    (tmp_path / "a").write_text("\n".join([HEAD, *(row(job, "user-%d" % job) for job in range(3))]) + "\n")
    argv = ["import", "--config", str(tmp_path / "daemon.toml"), "--sacct", str(tmp_path / "a")]
    text = CliRunner().invoke(admin, argv, standalone_mode=False, catch_exceptions=False).output
    assert "runs read 3, new 3, known 0" in text and "completed" in text
    assert "user-" not in text and "sft" not in text


def test_pbs_and_swf(store: Store, tmp_path: Any) -> None:
    """Users of the archive's format are numbers, and nobody's, whoever has that uid here."""
    now = int(time.time())
    ran = "qtime=%d end=%d Exit_status=0 resources_used.walltime=01:00:00" % (now - 4000, now - 100)
    (tmp_path / "pbs").write_text("11/20/2026 11:00:00;E;12.pbs;user=%s jobname=vit %s\n" % (ME, ran))
    (tmp_path / "swf").write_text(
        "; UnixStartTime: %d\n1 10 5 60 4 -1 1024 4 3600 -1 1 0 1 9 1 1 -1 -1\n" % (now - 9000)
    )
    assert call(tmp_path, "--pbs", str(tmp_path / "pbs"), "--swf", str(tmp_path / "swf"))["new"] == 2
    assert [run.job for run in store.runs(os.getuid())] == ["12.pbs"]
    assert store.runs(0, limit=5) == store.runs(0, "vit", 5)


def test_what_cannot_be_meant_is_said_in_one_line(store: Store, tmp_path: Any) -> None:
    """No file, or one of another form; lines that cannot be read are counted."""
    with pytest.raises((Complaint, click.ClickException), match="name a file of jobs"):
        call(tmp_path)
    with pytest.raises(Complaint, match="no output of sacct"):
        call(tmp_path, "--sacct", str(tmp_path / "daemon.toml"))
    (tmp_path / "bad").write_text(HEAD + "\n" + row(1, ME).replace("|600|", "||") + "\n")
    assert call(tmp_path, "--sacct", str(tmp_path / "bad"))["unread"] == 1


def test_a_bar_is_drawn_on_a_terminal_alone(store: Store, tmp_path: Any) -> None:
    """By the bytes that are read, on stderr; nothing of it goes into a file."""
    (tmp_path / "jobs").write_text("\n".join([HEAD, *(row(job, ME) for job in range(2000))]) + "\n")
    words = ["import", "--config", str(tmp_path / "daemon.toml"), "--sacct", str(tmp_path / "jobs")]
    argv = [sys.executable, "-c", "from maple_daemon.cli.admin import admin; admin()", *words]
    screen, end = os.openpty()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=end, env={**os.environ, "TERM": "xterm"}) as done:
        os.close(end)
        drawn = b""
        with contextlib.suppress(OSError):  # the other side is gone
            while block := os.read(screen, 4096):
                drawn += block
        assert done.stdout is not None and b"runs read 2000, new 2000" in done.stdout.read()
    os.close(screen)
    assert b"jobs" in drawn and b"%" in drawn
    piped = subprocess.run(argv, capture_output=True, timeout=60)
    assert (piped.returncode, piped.stderr) == (0, b"") and b"new 0, known 2000" in piped.stdout
