"""Runs that the service remembers are the ground of `maple forecast`; `maple check` and `maple history` say a line."""

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
from maple_agents.forecast.runs import Asked, Run, Work
from maple_daemon.store.sqlite import open_sqlite

from tests.daemon.asking import ask, found, written
from tests.daemon.serving import Daemon, request

UID = os.getuid()
SCRIPT = b"#!/bin/bash\n#SBATCH --job-name=sft --nodes=2 --time=12:00:00\nsrun python train.py\n"
GIB = 1 << 30


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """One that knows five runs of a job in this folder, and one of somebody else's of the same name."""
    made = Daemon().start()
    store, now = open_sqlite(made.store), time.time()
    for number in range(1, 6):
        asked = Asked("", "sft", str(tmp_path), now - 5000 * number, 43200.0, None, "", Work((), 2))
        mine = Run(str(number), asked, now - 4000 * number, 2460.0 + 60 * number, "completed", 40 * GIB)
        store.keep_runs([(UID, mine), (UID + 1, mine._replace(seconds=9.0, ended=now - 1))])
    store.close()
    (tmp_path / "job.sh").write_bytes(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAPLE_SOCKET", made.socket)
    yield made
    made.stop()
    shutil.rmtree(made.folder)


def said(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    run(list(words))
    sys.stdout.flush()
    return " ".join(capfd.readouterr().out.split())


LINE = "asks 12:00:00; the last 5 runs of sft here took 0:42:00 to 0:46:00: about 0:42:00"


def test_a_check_says_how_long_it_will_run(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, from the service's memory; nothing for another site, and nothing where nobody answers."""
    assert LINE in said(capfd, "check", "job.sh")
    assert "took" not in said(capfd, "check", "job.sh", "--site", "generic-slurm")
    assert "took" not in said(capfd, "check", "job.sh", "--", "--job-name=other")
    os.environ["MAPLE_SOCKET"] = daemon.socket + ".none"
    assert "took" not in said(capfd, "check", "job.sh")


def test_a_forecast_rests_on_them(daemon: Daemon, capfd: pytest.CaptureFixture[str]) -> None:
    """With memory; and nobody's runs but one's own."""
    text = said(capfd, "forecast", "job.sh", "--site", "generic-slurm")
    assert LINE in text and "a task was seen to hold 40.0 GiB" in text
    told: Any = json.loads(said(capfd, "forecast", "job.sh", "--site", "generic-slurm", "--json"))
    assert [one["job"] for one in told["runs"]] == ["1", "2", "3", "4", "5"]
    assert min(one["seconds"] for one in told["runs"]) > 9


def test_the_history_of_a_job_says_it_too(daemon: Daemon, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Above its versions."""
    asked = request(SCRIPT)
    daemon.ask(asked._replace(submission=asked.submission._replace(cwd=os.fsencode(tmp_path))))
    written(daemon, 1)
    assert LINE.partition("; ")[2] in said(capfd, "history", "sft")


def test_one_is_told_ones_own_runs_alone(daemon: Daemon) -> None:
    """Over the socket, whatever is asked; the uid is the kernel's."""
    assert {one["seconds"] for one in found(daemon, ask="runs", name="sft")} == {2460.0 + 60 * at for at in range(1, 6)}
    assert len(found(daemon, ask="runs", name="", uid=UID + 1)) == 5
    assert "wrong" in ask(daemon, {"ask": "runs", "limit": "all"})


def test_of_a_new_job_similar_ones_are_named(daemon: Daemon, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One's own, by what they train; nothing is forecast from them."""
    asked = request(SCRIPT)
    daemon.ask(asked._replace(submission=asked.submission._replace(cwd=os.fsencode(tmp_path))))
    written(daemon, 1)
    (tmp_path / "next.sh").write_bytes(SCRIPT.replace(b"=sft", b"=sft-dpo"))
    text = said(capfd, "forecast", "next.sh", "--site", "generic-slurm")
    assert "no forecast: no run of sft-dpo is known" in text
    assert "similar jobs of yours: sft took 0:42:00; nothing is forecast from them" in text
