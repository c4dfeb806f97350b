"""An alarm that a user's own process saw is said by his next submission on a terminal, or by `maple`, once."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_agents.cli.how_far.notify import Notice, looked
from maple_agents.progress.notices import Waiting
from maple_agents.progress.values import Alarm, Course, Estimate, Progress, Run
from maple_daemon.outcomes.notices import MOST_ALARMS, Alarms
from maple_submit_filter.types.job_records import Outcome

from tests.daemon.asking import ask
from tests.daemon.ending import Cluster
from tests.daemon.serving import Daemon
from tests.daemon.test_told_failures import ended, said
from tests.daemon.test_told_failures_terminal import maple

UID = os.getuid()
ROW = ["4711", "train.sh", "silent", "silent for 12 min"]
LINE = b"maple: job 4711 (train.sh): silent for 12 min; maple progress 4711\n"


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """One that knows nothing."""
    made = Daemon().start()
    yield made
    made.stop()
    shutil.rmtree(made.folder)


def hand(daemon: Daemon, *rows: object) -> object:
    return ask(daemon, {"alarms": list(rows)}, b"MPA1")


def test_the_next_submission_says_it_once(cluster: Cluster) -> None:
    """And the user's own process learns that it was said; who is not at a terminal is told nothing."""
    hand(cluster.daemon, ROW)
    assert LINE not in said(cluster, terminal=False)
    assert LINE in said(cluster)
    assert LINE not in said(cluster)
    assert hand(cluster.daemon, ROW)["found"]["told"] == [["4711", "silent"]]  # type: ignore[index]


def test_a_job_that_ended_is_said_nothing_of(cluster: Cluster) -> None:
    """What was odd is odd no more."""
    hand(cluster.daemon, ROW)
    ended(cluster, "4711", "COMPLETED")
    assert b"silent for" not in said(cluster)


@pytest.mark.parametrize(
    "row",
    [
        ["4711", "n", "silent"],
        ["4711", "n", "on fire", "s"],
        ["; rm", "n", "silent", "s"],
        ["4711", 3, "silent", "s"],
        "x",
    ],
)
def test_what_is_no_alarm_is_refused(daemon: Daemon, row: object) -> None:
    """In one line."""
    assert "wrong" in hand(daemon, row)  # type: ignore[operator]


def test_another_user_hears_nothing() -> None:
    """What is held is held by uid, and no more than so many."""
    alarms = Alarms()
    alarms.hold(1, [Waiting("%d" % job, "", "silent", "s") for job in range(100)])
    assert not alarms.waits(2) and alarms.line(2) == b""
    assert len(alarms._held[1].waiting) == MOST_ALARMS
    alarms.heard([Outcome("0", "completed", 2, "test")])
    assert alarms.waits(1) and b"job 0" in alarms.line(1) and not alarms.waits(1)


def test_maple_ends_with_it_on_a_terminal(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, and not after a submission has said it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("MAPLE_SOCKET", cluster.daemon.socket)
    now = time.time()
    for job in ("4711", "4712"):
        run = Run(job=job, name="train.sh", state="running")
        looked([Progress(run, (), Course(), Estimate(), (Alarm("silent", "silent for 12 min"),), now)], Notice({}))
        says = LINE.replace(b"4711", job.encode())
        if job == "4712":
            assert says in said(cluster)
            assert says not in maple(cluster, str(tmp_path), "explain", "MPL301")[0]
        else:
            shown, code = maple(cluster, str(tmp_path), "explain", "MPL301")
            assert code == 0 and shown.endswith(says)
            assert says not in maple(cluster, str(tmp_path), "explain", "MPL301")[0]
            assert says not in said(cluster)
