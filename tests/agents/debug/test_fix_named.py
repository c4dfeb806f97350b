"""A file in the place of a job's id: a log is read, a batch script is asked about; a log may name its job."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from maple_agents.base.complaint import Complaint
from maple_agents.cli.fix import argument as fix_named
from maple_agents.cli.fix.argument import named
from maple_agents.diagnose.explanation import case_of
from maple_agents.diagnose.gather.sources import from_memory
from maple_agents.diagnose.gather.sources.job_facts import JobFacts

SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py\n"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The working directory, with scripts and logs."""
    monkeypatch.chdir(tmp_path)
    for name in ("oom.sh", "oom", "slurm-4711.out"):
        Path(name).write_text(SCRIPT)
    Path("run.log").write_text("epoch 1\nKilled\n")
    Path("plain").write_text("epoch 1\nKilled\n")
    Path("old.pbs").write_text("# by hand\n#PBS -l select=2\nmpiexec ./a\n")
    return tmp_path


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Somebody sits at the terminal and types that."""
    monkeypatch.setattr(fix_named, "at_terminal", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))


@pytest.mark.parametrize("name", ["slurm-4711.out", "run.log", "plain"])
def test_a_log_is_read(folder: Path, name: str) -> None:
    """Also one that begins with the script's own lines: its name says what it is."""
    assert named(name, (), None) == (None, (name,), None)


@pytest.mark.parametrize("name", ["oom.sh", "oom", "old.pbs"])
def test_a_script_without_a_terminal_is_told_in_one_line(folder: Path, name: str) -> None:
    """With what to type instead."""
    with pytest.raises(Complaint, match="^%s is a batch script.*maple-fix --script %s --log FILE" % (name, name)):
        named(name, (), None)


@pytest.mark.parametrize(
    ("answer", "logs", "script"),
    [("\n", (), "oom.sh"), ("y\n", (), "oom.sh"), ("", (), "oom.sh"), ("n\n", ("oom.sh",), None)],
)
def test_on_a_terminal_it_is_asked_whether_it_is_the_script(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer, logs, script
) -> None:
    """Who says no has a log that looks like one."""
    answering(monkeypatch, answer)
    assert named("oom.sh", (), None) == (None, logs, script)
    assert capsys.readouterr().err == "maple: oom.sh is a batch script. Use it as --script? [Y/n] "


def test_beside_a_log_nobody_has_to_be_asked(folder: Path) -> None:
    """`maple-fix oom.sh --log run.log` can mean one thing only."""
    assert named("oom.sh", ("run.log",), None) == (None, ("run.log",), "oom.sh")


@pytest.mark.parametrize("job", ["4711", "4711_3", "39[3].pbs01", "last", None])
def test_a_job_stays_a_job(folder: Path, job: str | None) -> None:
    """Whatever lies in the folder."""
    (folder / "last").write_text(SCRIPT)
    assert named(job, (), None) == (job, (), None)


def remembered(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The service knows job 4711, which was submitted in that folder; nobody else does."""
    told = JobFacts(
        by="Maple", id="4711", scheduler="slurm", script=SCRIPT.encode(), path="train.sh", work_dir=str(folder),
        state="failed", exit_code=1, argv=(b"sbatch", b"--nodes=4", b"train.sh"), exact=True,
    )  # fmt: skip
    monkeypatch.setattr(from_memory, "remembered", lambda job: told if job == "4711" else None)


def test_a_log_of_a_forgotten_job_brings_the_script_that_the_service_was_told_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the words of the submit command, and how the job ended."""
    remembered(monkeypatch, folder)
    case = case_of(None, ["slurm-4711.out"], None, "generic-slurm", (), None, None)
    assert case.asked is not None and case.asked.script == SCRIPT.encode()
    assert b"--nodes=4" in case.asked.argv and case.name == "train.sh"
    assert (case.ended.id, case.ended.state, case.ended.exit_code) == ("4711", "failed", 1)
    assert "job 4711 by the name of its log" in case.notes[0]


@pytest.mark.parametrize(("log", "script"), [("elsewhere/slurm-4711.out", None), ("slurm-12.out", None)])
def test_a_log_of_another_place_or_number_brings_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, log: str, script: str | None
) -> None:
    """Another cluster has a job of that number too."""
    remembered(monkeypatch, folder)
    (folder / "elsewhere").mkdir()
    (folder / log).write_text("Killed\n")
    assert case_of(None, [log], script, "generic-slurm", (), None, None).asked is None


def test_a_script_that_is_named_counts_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's word comes first."""
    remembered(monkeypatch, folder)
    case = case_of(None, ["slurm-4711.out"], "oom", "generic-slurm", (), None, None)
    assert case.name == "oom" and case.ended.state == "unknown"
