"""Five versions of a job run, and the sixth is forecast and met: on Slurm, on a PBS lab, by PBS's hook alone."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from maple_agents.cli.main import run
from maple_agents.forecast.runs import Run
from maple_daemon.store import open_store

from tests.daemon.events.test_events_lab import Site, hooked, number, site, start, until  # noqa: F401
from tests.daemon.events.test_events_pbs_hook import HOOK, Job
from tests.daemon.events.test_events_pbs_hook import run as hook
from tests.daemon.serving import Daemon
from tests.pbs_lab import PAIR, PbsLab
from tests.pbs_lab.server import served

SCRIPT = b"""#!/bin/bash
#SBATCH --job-name=story --nodes=1 --time=10
# version %d
: srun python train.py --epochs 3
sleep 2
"""
ON_LAB = b"""#!/bin/bash
#PBS -N story -l select=1 -l walltime=00:10:00
# version %d
: mpiexec python train.py --epochs 3
sleep 2
"""
PBS = b"""#!/bin/bash
#PBS -N story -l select=2 -l walltime=02:00:00
# version %d
mpiexec python train.py --epochs 3
"""


def runs(store: str) -> list[Run]:
    """The runs that the service remembers of us."""
    opened = open_store(store, create=False)
    found = opened.runs(os.getuid(), "story")
    opened.close()
    return found


def forecast(capfd: pytest.CaptureFixture[str], script: str, site_id: str) -> Any:
    """What `maple forecast --json` says."""
    run(["forecast", script, "--site", site_id, "--json"])
    sys.stdout.flush()
    return json.loads(capfd.readouterr().out)


def test_on_slurm(
    site: Site,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each version by its own script, each end by the controller's hook; the sixth takes what was said."""
    for version in range(1, 6):
        site.lab.wait(int(number(start(site, SCRIPT % version))))
    until(lambda: len(runs(site.daemon.store)) == 5)
    told = runs(site.daemon.store)
    assert len({one.asked.version for one in told}) == 5 and {one.asked.limit for one in told} == {600.0}
    Path(site.work, "job.sh").write_bytes(SCRIPT % 6)
    monkeypatch.setenv("MAPLE_SOCKET", site.daemon.socket)
    monkeypatch.chdir(site.work)
    said = forecast(capfd, "job.sh", "generic-slurm")
    assert said["forecast"]["basis"] in ("folder", "name") and len(said["runs"]) == 5
    job = number(start(site, SCRIPT % 6))
    site.lab.wait(int(job))
    until(lambda: len(runs(site.daemon.store)) == 6)
    (took,) = (one.seconds for one in runs(site.daemon.store) if one.job == job)
    with capfd.disabled():
        print("\nSlurm lab: forecast %.0f s, took %.0f s" % (said["forecast"]["seconds"], took))
    assert abs(took - said["forecast"]["seconds"]) <= 1.5
    assert said["forecast"]["q90_seconds"] is None or took <= said["forecast"]["q90_seconds"] + 1


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that watches a spool."""
    spool = tmp_path / "spool"
    spool.mkdir()
    spool.chmod(0o1733)
    made = Daemon(spool=str(spool)).start()
    yield made
    made.stop()
    shutil.rmtree(made.folder)


@pytest.mark.timeout(300)
def test_on_a_pbs_lab(
    service: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each version is typed and runs on a host, each end comes by the hook that qmgr was given; so does the sixth."""
    hook_ = Path(HOOK).read_text().replace('SPOOL = "/var/spool/maple/events"', "SPOOL = %r" % str(tmp_path / "spool"))
    (tmp_path / "hook.py").write_text(hook_)
    with PbsLab(PAIR) as lab, served(lab) as server:
        env = lab.environment(USER=pwd.getpwuid(os.getuid()).pw_name)

        def typed(*words: str) -> str:
            return subprocess.run(
                words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
            ).stdout.strip()

        typed("qmgr", "-c", "create hook maple event=jobobit")
        typed("qmgr", "-c", "import hook maple application/x-python default hook.py")

        def runs_through(version: int) -> str:
            (tmp_path / "job.pbs").write_bytes(ON_LAB % version)
            job = typed("qsub", "job.pbs")
            until(lambda: server.jobs[job]["job_state"] == "F")
            until(lambda: len(runs(service.store)) == version)
            return job

        for version in range(1, 6):
            runs_through(version)
        (tmp_path / "job.pbs").write_bytes(ON_LAB % 6)
        monkeypatch.setenv("MAPLE_SOCKET", service.socket)
        monkeypatch.chdir(tmp_path)
        said = forecast(capfd, "job.pbs", "generic-pbs")
        job = runs_through(6)
    (took,) = (one.seconds for one in runs(service.store) if one.job == job)
    with capfd.disabled():
        print("\nPBS lab: forecast %.0f s, took %.0f s" % (said["forecast"]["seconds"], took))
    assert len(said["runs"]) == 5 and said["job"]["limit_seconds"] == 600
    assert abs(took - said["forecast"]["seconds"]) <= 1.5
    assert said["forecast"]["q90_seconds"] is None or took <= said["forecast"]["q90_seconds"] + 1


def test_on_pbs(
    service: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each end by the server's hook, with what it asked for and used; memory is advised, too."""
    now, spool = int(time.time()), str(tmp_path / "spool")

    def ends(version: int, minutes: int) -> None:
        began = now - (7 - version) * 10_000
        job = Job(
            id="%d.pbs01" % version, Job_Name="story", Exit_status=0, ctime=began - 60, stime=began,
            obittime=began + minutes * 60, Resource_List={"walltime": "02:00:00", "nodect": 2, "mem": "128gb"},
            resources_used={"walltime": "00:%d:00" % minutes, "mem": "%dgb" % (40 + version)},
            Variable_List={"PBS_O_WORKDIR": str(tmp_path)},
        )  # fmt: skip
        hook(job, spool=spool)

    for version, minutes in enumerate((44, 41, 43, 47, 45), start=1):
        ends(version, minutes)
    until(lambda: len(runs(service.store)) == 5)
    (tmp_path / "job.pbs").write_bytes(PBS % 6)
    monkeypatch.setenv("MAPLE_SOCKET", service.socket)
    monkeypatch.chdir(tmp_path)
    said = forecast(capfd, "job.pbs", "generic-pbs")
    assert said["forecast"]["seconds"] == 45 * 60 and said["job"]["limit_seconds"] == 7200
    assert said["memory"]["held_bytes"] == 45 << 30
    ends(6, 46)
    until(lambda: len(runs(service.store)) == 6)
    took = max(runs(service.store), key=lambda one: one.ended).seconds
    assert took <= said["forecast"]["q90_seconds"] <= 2 * took
