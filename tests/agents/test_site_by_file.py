"""A site file that is not in force yet: each command takes it by its path, as `maple site init` has written it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from maple_agents.ask import sites

VISTA = Path(__file__).parents[2] / "site_configs" / "tacc-vista.toml"
JOB = """\
#!/bin/bash
#SBATCH --account=ABC123 --partition=gh --nodes=2 --ntasks-per-node=4 --time=1:00:00
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HOST:29500 train.py
"""
REQUEST = "fine-tune llama with FSDP on 2 nodes, 2 hours, account ABC123, partition gh, run train.py"


@pytest.fixture(autouse=True)
def draft(maple, tmp_path, monkeypatch) -> None:
    """A cluster that no folder of site files has, and a script for it."""
    monkeypatch.setattr(sites, "_DRAFTS", {})
    (tmp_path / "ours.toml").write_text(re.sub(r'(?m)^id = ".*"', 'id = "ours"', VISTA.read_text()))
    (tmp_path / "job.sh").write_text(JOB)


@pytest.mark.parametrize(
    "words",
    [
        ("check", "job.sh", "--site", "./ours.toml"),
        ("plan", "job.sh", "--site", "ours.toml"),
        ("new", REQUEST, "--site", "./ours.toml"),
        ("templates", "list", "--site", "./ours.toml"),
        ("templates", "draft", "./ours.toml"),
        ("fix", "--log", "job.sh", "--script", "job.sh", "--site", "./ours.toml"),
    ],
    ids=" ".join,
)
def test_a_command_takes_the_file(maple, words) -> None:
    """What it prints is what it prints of the same facts by their id, but for names and records of runs."""

    def of(site: str) -> str:
        named = [site if "ours.toml" in word else word for word in words]
        said = maple(*named)
        return re.sub(r"tacc-vista|ours|facts\s+(# )?\w+", "SITE", said.out + said.err)

    by_file, by_id = of(next(word for word in words if "ours.toml" in word)), of("tacc-vista")
    assert "no such site" not in by_file and by_file.split()[:9] == by_id.split()[:9]


def test_a_file_that_is_not_there_is_said_in_one_line(maple) -> None:
    said = maple("check", "job.sh", "--site", "./mine.toml")
    assert said.code == 2 and said.err.startswith("maple: ./mine.toml: there is no such file; ")


def test_a_mistake_in_the_file_is_said_with_its_key(maple, tmp_path) -> None:
    with open(tmp_path / "ours.toml", "a") as file:
        file.write("\n[netwrok]\n")
    said = maple("check", "job.sh", "--site", "./ours.toml")
    assert said.code == 2 and "netwrok" in said.err and "network" in said.err


def test_a_record_never_names_a_file(maple, tmp_path, monkeypatch) -> None:
    """What was recorded with a job tells its site by an id; a path in it is no reason to read that file."""
    from maple_agents.diagnose.gather.places import site_for
    from maple_agents.diagnose.gather.sources.job_facts import JobFacts

    known = site_for(JobFacts("7", scheduler="slurm", site=str(tmp_path / "ours.toml")), None)
    assert known.site.id != "ours" and sites._DRAFTS == {}


def test_a_draft_that_nothing_starts_on_says_what_it_lacks(maple, tmp_path) -> None:
    """On PBS each maker's program has its own words; a draft knows whose none is, and somebody said it of one alone."""
    text = (VISTA.parent / "aist-abci3.toml").read_text()
    text = re.sub(r"(?ms)^\[launcher\..*?(?=^\[(?!launcher))", "", text)
    for name, maker in (("mpirun", ""), ("mpiexec", 'implementation = "Open MPI"\n')):
        text += '\n[launcher.%s]\nstate = "present"\n%ssource = ["abci-mpi"]\n' % (name, maker)
    (tmp_path / "pbs.toml").write_text(re.sub(r'(?m)^id = ".*"', 'id = "pbs"', text))
    said = maple("new", "ddp on 2 nodes for 2 hours in queue rt_HF, account abc, run train.py", "--site", "./pbs.toml")
    assert "whose mpirun is, its site file does not say (implementation)" in said.err
