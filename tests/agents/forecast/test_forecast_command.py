"""`maple forecast`: what people read, what programs read, and what happens where nobody knows."""

from __future__ import annotations

import json
import os
import pwd

import pytest
from click.testing import CliRunner
from maple_agents.cli.main import maple
from maple_agents.forecast.own_jobs import Size

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=sft
#SBATCH --nodes=2
#SBATCH --time=12:00:00
srun python train.py --epochs 30
"""
HEAD = "JobID|User|JobName|WorkDir|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|AllocTRES|ReqMem|MaxRSS"
ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a script, and four runs of it in a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(SCRIPT)
    rows = [
        f"{at}|{ME}|sft|{tmp_path}|2026-01-0{at}T10:00:00|2026-01-0{at}T10:00:00|2026-01-0{at}T11:00:00|"
        f"{2600 + 20 * at}|720|COMPLETED|2|cpu=8|200G|{40 + at}G"
        for at in range(1, 5)
    ]
    (tmp_path / "sacct.txt").write_text("\n".join([HEAD, *rows]) + "\n")
    return tmp_path


def call(*words):
    """Return exit code and output."""
    done = CliRunner().invoke(maple, ["forecast", *words], standalone_mode=False, catch_exceptions=False)
    return done.return_value, done.output


def test_people_read_what_is_asked_for_and_what_it_took(folder):
    """One sentence, what it rests on, what nobody kept, and the memory that was seen."""
    code, text = call("job.sh", "--sacct", "sacct.txt", "--site", "generic-slurm")
    assert code == 0
    assert "asks 12:00:00; the last 4 runs of sft here took 0:43:40 to 0:44:40: about 0:44:40" in text
    assert "nobody kept what these runs had to do; this holds if it was as now (epochs 30)" in text
    assert "a task was seen to hold 44.0 GiB" in text
    assert "job 4  ended 2026-01-04" in text


def test_programs_read_numbers_with_their_units(folder):
    """Seconds and bytes, the basis, and each run."""
    code, text = call("job.sh", "--sacct", "sacct.txt", "--json", "--site", "generic-slurm")
    told = json.loads(text)
    assert code == 0
    assert (told["forecast"]["seconds"], told["forecast"]["basis"]) == (2680, "folder")
    assert told["job"] == {"name": "sft", "limit_seconds": 43200, "work": {"epochs": "30"}, "nodes": 2}
    assert [run["job"] for run in told["runs"]] == ["4", "3", "2", "1"]
    assert told["why_none"] is None


def test_another_size_is_no_forecast(folder):
    """Four nodes, where all runs had two."""
    code, text = call("job.sh", "--sacct", "sacct.txt", "--site", "generic-slurm", "--", "--nodes=4")
    assert code == 1
    assert "first run with nodes 4: no forecast; with 2 it took 0:44:40" in text


def test_nobody_knows_the_job(folder):
    """One line why, and who did not answer."""
    code, text = call("job.sh", "--sacct", "sacct.txt", "--site", "generic-slurm", "--", "--job-name=other")
    assert (code, text) == (1, "no forecast: no run of other is known that completed, or reached its limit\n")


def test_a_file_of_another_form_is_refused_in_one_line(folder):
    """With the command that makes one."""
    from maple_agents.base.complaint import Complaint

    with pytest.raises(Complaint, match="job.sh: no output of sacct"):
        call("job.sh", "--sacct", "job.sh", "--site", "generic-slurm")


def test_other_numbers_of_gpus_are_compared_where_two_were_run(folder, monkeypatch):
    """As advice at the end, and as numbers for programs; from the service's memory alone."""
    ran = [Size(4, 256, 0.54, ("7",)), Size(8, 256, 0.5, ("9", "8"))]
    monkeypatch.setattr("maple_agents.forecast.own_jobs.known_sizes", lambda name: ran if name == "sft" else [])
    _, text = call("job.sh", "--site", "generic-slurm")
    assert "4 GPUs give 93 % of the goodput of 8" in text
    _, text = call("job.sh", "--site", "generic-slurm", "--json")
    (four, eight) = json.loads(text)["goodput"]
    assert (four["gpus"], four["samples_per_second"], eight["jobs"]) == (4, 256 / 0.54, ["9", "8"])
