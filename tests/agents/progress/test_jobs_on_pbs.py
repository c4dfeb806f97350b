"""On the double of libpbs: a running job, its log, its limit, and the epochs that its script's arguments say."""

from __future__ import annotations

import getpass
import shutil
from pathlib import Path

import pytest
from maple_agents.ask.schedulers.pbs.libpbs import Pbs
from maple_agents.ask.schedulers.pbs.library import Library
from maple_agents.progress import job_logs
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress

from tests.doubles.libpbs import Scenario, build

WORD = "<jsdl-hpcpa:Argument>%s</jsdl-hpcpa:Argument>"
SCRIPT = "#!/bin/bash\n#PBS -l select=1:ncpus=8\npython train.py --max_epochs 4\n"
BEGAN = 1763670010


@pytest.fixture
def pbs(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Pbs:
    """A PBS that runs one job, whose output is kept where it was submitted."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    double = build(tmp_path_factory.mktemp("libpbs") / "libpbs-double.so")
    (tmp_path / "job.sh").write_text(SCRIPT)
    scenario = Scenario()
    scenario.job("30.pbs01", {
        "Job_Name": "train", "Job_Owner": "%s@pbs01" % getpass.getuser(), "job_state": "R", "substate": "42",
        "queue": "workq", "exec_host": "node1/0*8", "ctime": "1763670000", "stime": str(BEGAN),
        "Output_Path": "pbs01:%s/train.o30" % tmp_path, "Error_Path": "pbs01:%s/train.e30" % tmp_path,
        "Variable_List": "PBS_O_HOME=/home/a,PBS_O_WORKDIR=%s,PBS_O_LOGNAME=a" % tmp_path,
        "Submit_arguments": WORD % "job.sh", "Resource_List.walltime": "00:10:00", "Keep_Files": "oed",
    })  # fmt: skip
    mine = tmp_path / "libpbs-mine.so"
    shutil.copy(double, mine)
    monkeypatch.setenv("MAPLE_LIBPBS_SCENARIO", str(scenario.write(tmp_path / "scenario")))
    monkeypatch.setenv("MAPLE_LIBPBS_LOG", str(tmp_path / "libpbs.log"))
    return Pbs(Library(str(mine)))


def test_a_running_job_is_found_with_its_log_and_its_epochs(pbs: Pbs, tmp_path: Path) -> None:
    """The total is steps of an epoch, as the bar tells them, times the epochs that the script says."""
    (tmp_path / "train.o30").write_text("")
    bars = "".join(
        "\rEpoch 1:  10%%|#   | %d/100 [00:%02d<01:30,  1.00it/s, v_num=0]" % (step, step) for step in range(50)
    )
    (tmp_path / "train.e30").write_text(bars)
    found = job_logs.of_job("30", scheduler=pbs)
    told = progress(found.files, formats(), BEGAN + 300.0, found.run, found.hints, found.ranks)
    assert (told.run.job, told.run.state, told.run.limit, told.run.started) == ("30.pbs01", "running", 600, BEGAN)
    assert told.course.step == 149
    assert told.course.total is not None
    assert (told.course.total.steps, told.course.total.place.line) == (400, 3)
    assert [one.id for one in job_logs.running(pbs)] == ["30.pbs01"]
