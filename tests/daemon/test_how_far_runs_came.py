"""How far earlier runs came: read in their logs by their owner, kept by the service, shown by `maple history`."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from maple_agents.cli.main import run
from maple_daemon.store.sqlite import open_sqlite
from maple_submit_filter.types.job_records import Outcome

from tests.daemon.asking import ask, found, written
from tests.daemon.serving import Daemon, request

LOG = "".join(
    " [%s] iteration %8d/    1000 | consumed samples: 1 | elapsed time per iteration (ms): 1000.0 |\n"
    % (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(1_780_000_000 + step)), step)
    + ("  successfully saved checkpoint from iteration %7d to /ckpt [ t 1/8, p 1/4 ]\n" % step if step == 400 else "")
    for step in range(10, 610, 10)
)
UID = os.getuid()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """One that has heard of a run that was killed at its limit, and of one whose log is another's by now."""
    made = Daemon().start()
    for number in (1, 2):
        made.ask(request())
        written(made, number)
    store = open_sqlite(made.store)
    first, second = sorted(store.records(UID), key=lambda record: record.at)
    store.join(first.id, UID, "4711", "filter")
    store.join(second.id, UID, "4712", "filter")
    ended = time.time()
    for job, began in (("4711", ended - 1000), ("4712", ended - 5000)):
        (tmp_path / job).write_text(LOG)
        of = Outcome(job, "timeout", UID, "test", started=began, ended=began + 1000, output=str(tmp_path / job))
        store.keep_outcomes([of])
    store.close()
    yield made
    made.stop()
    shutil.rmtree(made.folder)


def said(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    run(list(words))
    sys.stdout.flush()
    return capfd.readouterr().out


def test_history_shows_how_far_each_run_came(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is read once: afterwards the log may go, and the numbers stand with the version that ran."""
    monkeypatch.setenv("MAPLE_SOCKET", daemon.socket)
    line = "came to step 600/1,000 (60 %), 1 s/step, last checkpoint at step 400"
    assert line in said(capfd, "history", "job.sh")
    (tmp_path / "4711").unlink()
    assert line in said(capfd, "history", "job.sh")
    assert line in said(capfd, "show", "4711")
    told: Any = json.loads(said(capfd, "history", "job.sh", "--json"))
    reached = {one["job"]: one["reached"] for one in told["jobs"][0]["versions"][0]["submissions"]}
    assert reached["4711"]["step"] == 600 and reached["4711"]["checkpoint"] == 400
    assert reached["4712"] is None  # what wrote there last was a later job
    (record,) = found(daemon, ask="records", job="4711")
    assert record["reached"]["version"] == record["version"] != ""


@pytest.mark.parametrize(
    "wrong", [{"step": "600"}, {"step": True}, {"step": -1}, {"step": 1e300}, {"says": 1}, [], None]
)
def test_only_numbers_are_kept(daemon: Daemon, wrong: object) -> None:
    """Whatever a program says in the user's name."""
    record = found(daemon, ask="records", job="4711")[0]["id"]
    assert "wrong" in ask(daemon, {"record": record, "reached": wrong}, b"MPA1")
    assert found(daemon, ask="records", job="4711")[0]["reached"] is None
    assert ask(daemon, {"record": "none", "reached": {"step": 1}}, b"MPA1") == {"found": False}
