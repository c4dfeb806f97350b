"""Why a job failed is told to the service by the process of its user that found it: one name, and nothing of a log."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_agents.cli.main import run
from maple_agents.diagnose import at_end
from maple_agents.diagnose.values import Case, Cause, Diagnosis, Ended
from maple_daemon.store import open_store
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.job_records import Outcome

from tests.daemon.asking import ask, written
from tests.daemon.serving import Daemon, request
from tests.miniapps.started import ROOT

UID = os.getuid()
LOG = ROOT / "tests/cases/diagnosis/gpuoom-27/job.out"


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """One that has heard of job 4711, which failed, and whose log is there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Daemon().start()
    monkeypatch.setenv("MAPLE_SOCKET", made.socket)
    made.ask(request())
    written(made, 1)
    (tmp_path / "job.out").write_bytes(LOG.read_bytes())
    store = open_store(made.store, create=False)
    store.join(store.records(UID)[0].id, UID, "4711", "filter")
    now = time.time()
    log = str(tmp_path / "job.out")
    store.keep_outcomes([Outcome("4711", "failed", UID, "test", 1, started=now - 60, ended=now, output=log)])
    store.close()
    yield made
    made.stop(signal.SIGKILL)
    shutil.rmtree(made.folder)


def kept(daemon: Daemon) -> dict[tuple[str, int], str]:
    store = open_store(daemon.store, create=False)
    causes = store.causes(0.0)
    store.close()
    return causes


def found(job: str, name: str, likely: bool = False) -> None:
    """A diagnosis that was made at the end of a job lies in its user's folder."""
    case = Case(Ended(job, "failed", 1), GENERIC_SLURM.scheduler, GENERIC_SLURM)
    at_end.keep(Diagnosis(case, (Cause("e", name, "It is so.", 6.0, 0.8, likely=likely),)), time.time())


def test_what_maple_fix_reads_is_kept_as_a_class(daemon: Daemon) -> None:
    """What the user says afterwards counts more."""
    run(["fix", "4711"])
    assert kept(daemon) == {("4711", UID): "gpu_oom"}
    run(["fix", "4711", "--was", "host_oom"])
    assert kept(daemon) == {("4711", UID): "host_oom"}


@pytest.mark.parametrize("name, likely, told", [
    ("disk_quota_or_full", False, {("4711", UID): "disk_quota_or_full"}), ("disk_quota_or_full", True, {}),
    ("unknown", False, {}),
])  # fmt: skip
def test_what_was_found_at_the_end_is_told_when_it_is_shown(
    daemon: Daemon, name: str, likely: bool, told: dict[tuple[str, int], str]
) -> None:
    """A compute node has no way to the service. What is only likely, or not known, is no figure."""
    found("4711", name, likely)
    run(["fix", "4711"])
    assert kept(daemon) == told


@pytest.mark.parametrize("cause", ["none", "unknown", "my-secret-project", "", 7, ["gpu_oom"]], ids=str)
def test_nothing_but_a_class_is_kept(daemon: Daemon, cause: object) -> None:
    """Whatever a program says in the user's name."""
    assert "wrong" in ask(daemon, {"job": "4711", "cause": cause}, b"MPA1")
    assert ask(daemon, {"job": "4712", "cause": "gpu_oom"}, b"MPA1") == {"found": False}
    assert kept(daemon) == {}


def test_without_a_service_nothing_is_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("MAPLE_SOCKET", str(tmp_path / "none"))
    found("4711", "gpu_oom")
    assert run(["fix", "4711", "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["cause"]["class"] == "gpu_oom" and err == ""
