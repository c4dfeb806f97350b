"""The same run, whoever tells of it: slurmdbd through pyslurm, sacct, libpbs; and an accounting file of PBS."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from maple_agents.ask.memory.service import NoService
from maple_agents.ask.memory.versions import Job
from maple_agents.ask.schedulers.pbs.libpbs import Pbs
from maple_agents.ask.schedulers.pbs.library import Library
from maple_agents.forecast import service_runs, sources
from maple_agents.forecast.accounting import SACCT, read
from maple_agents.forecast.needs import Forecast, forecast
from maple_agents.forecast.runs import Asked, Lineages, Run
from maple_submit_filter.types.job_records import Outcome, Record, Version

from tests.doubles.libpbs import Scenario, build

ME = pwd.getpwuid(os.getuid()).pw_name
ASKED = Asked(ME, "sft", "/w", 5000.0)
ROW = {
    "JobID": "7", "User": ME, "JobName": "sft", "WorkDir": "/w", "Submit": "1000", "Start": "1100", "End": "3740",
    "ElapsedRaw": "2640", "TimelimitRaw": "720", "State": "COMPLETED", "NNodes": "2", "AllocTRES": "gres/gpu=8",
    "ReqMem": "200G", "MaxRSS": "50G", "TRESUsageInMax": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler's accounting alone is asked."""

    def silent(asked: Asked) -> list[Run]:
        raise NoService("no service answers")

    monkeypatch.setattr(sources, "runs_of", silent)


@pytest.fixture
def sacct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sacct that prints the row, and notes that it was asked."""
    text = "\\n".join(["|".join(SACCT), "|".join(ROW[column] for column in SACCT)])
    (tmp_path / "sacct").write_text("#!/bin/sh\necho \"$@\" >> '%s/asked'\nprintf '%s\\n'\n" % (tmp_path, text))
    (tmp_path / "sacct").chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path, os.environ["PATH"]))
    return tmp_path / "asked"


def test_slurmdbd_is_asked_before_sacct(sacct: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one's own jobs of that name; where pyslurm tells nothing, sacct is asked, and tells the same."""
    heard: list[dict[str, Any]] = []

    def accounted(asked: dict[str, Any], seconds: float) -> list[dict[str, str]]:
        heard.append(asked)
        return [ROW, {**ROW, "JobID": "8", "User": "somebody"}]

    monkeypatch.setattr(sources, "accounted", accounted)
    (run,) = sources.known(ASKED, "slurm").runs
    assert heard[0]["users"] == [ME] and heard[0]["names"] == ["sft"] and not sacct.exists()
    monkeypatch.setattr(sources, "accounted", lambda asked, seconds: None)
    assert sources.known(ASKED, "slurm").runs == (run,)
    assert "--user %s --name sft" % ME in sacct.read_text()
    assert (run.seconds, run.memory, run.asked.limit, run.asked.work.gpus) == (2640, 50 << 30, 43200, 8)


def test_what_a_job_held_is_asked_by_its_id(sacct: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array's task by its own; what nobody asked for is left out."""
    rows = [{**ROW, "JobID": "8_2"}, {**ROW, "JobID": "8_3"}]
    monkeypatch.setattr(sources, "accounted", lambda asked, seconds: rows if asked == {"ids": [8]} else None)
    monkeypatch.setattr(sources, "choose", lambda: type("Slurm", (), {"name": "slurm"}))
    assert [run.job for run in sources.of_jobs(["8_2"])] == ["8_2"]
    assert [run.job for run in sources.of_jobs(["7"])] == ["7"] and sacct.exists()


def test_libpbs_and_the_server_s_log_tell_the_same_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the history of PBS, of one's own jobs; and as `maple admin import --pbs` reads it."""
    used = {"resources_used.walltime": "00:44:00", "resources_used.mem": "50gb"}
    wanted = {"Resource_List.walltime": "12:00:00", "Resource_List.nodect": "2", "Resource_List.ngpus": "8"}
    told = {
        "job_state": "F", "substate": "92", "Exit_status": "0", "Job_Owner": ME + "@pbs01", "Job_Name": "sft",
        "ctime": "1000", "qtime": "1000", "stime": "1100", "obittime": "3740", **used, **wanted,
    }  # fmt: skip
    other = {**told, "Job_Owner": "somebody@pbs01"}
    scenario = Scenario().job("7.pbs01", told).job("8.pbs01", other).job("9.pbs01", {**told, "job_state": "R"})
    monkeypatch.setenv("MAPLE_LIBPBS_SCENARIO", str(scenario.write(tmp_path / "scenario")))
    monkeypatch.setenv("MAPLE_LIBPBS_LOG", str(tmp_path / "log"))
    scheduler = Pbs(Library(str(build(tmp_path / "libpbs-mine.so"))))
    monkeypatch.setattr(sources, "choose", lambda scheduler_name: scheduler)
    runs = {run.job: run for run in sources.known(ASKED, "pbs").runs}
    assert "7.pbs01" in runs and "8.pbs01" not in runs
    values = " ".join("%s=%s" % pair for pair in {**wanted, **used}.items())
    line = "01/01/1970 01:02:20;E;7.pbs01;user=%s jobname=sft qtime=1000 end=3740 Exit_status=0 %s" % (ME, values)
    (logged,) = read([line], "pbs")
    run = runs["7.pbs01"]
    for name in ("job", "ended", "seconds", "state", "memory"):
        assert getattr(run, name) == getattr(logged, name), name
    for name in ("user", "name", "submitted", "limit", "work"):
        assert getattr(run.asked, name) == getattr(logged.asked, name), name


def test_a_script_that_was_renamed_is_known_by_its_lineage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions of its path are the job's own, whatever they were called, and numbers of the accounting stay."""
    version = Version("v1", "l1", "", 1, 10.0, "slurm", "/w/job.sh", "old", "/w", (), b"", "h1")
    outcome = Outcome("7", "completed", 1, "hook", submitted=100.0, started=200.0, ended=260.0)
    record = Record("r1", "v1", 1, 90.0, "h", 1, 1, "repair", "clean", (), "decided", job="7", outcome=outcome)
    lineage = Job((version,), {"v1": (record,)})
    monkeypatch.setattr(service_runs, "remembered_jobs", lambda name, path: [lineage] if path == "/w/job.sh" else [])
    counted = Run("7", Asked("", "old", "/w", 100.0, 720.0), 260.0, 61.0, "completed", 5 << 30)
    monkeypatch.setattr(service_runs, "_own", lambda limit, name="": [] if name else [counted])
    asked = ASKED._replace(name="new", lineage="/w/job.sh")
    (run,) = service_runs.runs_of(asked)
    assert (run.asked.lineage, run.asked.name, run.seconds, run.memory) == ("/w/job.sh", "old", 61.0, 5 << 30)
    found = forecast(asked, Lineages([run]))
    assert isinstance(found, Forecast) and (found.basis, found.seconds) == ("lineage", 61.0)
    assert service_runs.runs_of(asked._replace(lineage="/w/other.sh"))[0].asked.lineage == ""
