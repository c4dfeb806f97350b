"""Where earlier cases lie, and what `maple-fix` makes of them: one's own alone, bounded, without a word of a log."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from maple_agents.base import new_file
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import run
from maple_agents.diagnose import earlier_cases as cases_kept
from maple_agents.diagnose.earlier_cases import Earlier, read, settled, write

SECRET = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"
LOG = "starting on node%d\nsimulate.bin: fatal error 77 in the %s of the mesh\nslurmstepd: step ended\n"
SCRIPT = "#!/bin/bash\n#SBATCH -N 1\nsrun ./simulate.bin\n"
ONE = Earlier("s" * 32, "host_oom", "e", "1", 1.0, "rule", "script_directive", "ask for 64G", "f" * 64)

Call = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, and nobody to ask."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MAPLE_SOCKET", str(tmp_path / "nobody"))
    monkeypatch.setenv("PATH", "/proc/nowhere")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "maple"


@pytest.fixture
def fixed(state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """`maple-fix JOB` in a folder where that job's log and script lie."""

    def call(job: str, *words: str, part: str = "corner") -> tuple[int, dict[str, Any]]:
        (tmp_path / ("slurm-%s.out" % job)).write_text(LOG % (int(job), part))
        (tmp_path / "job.sh").write_text(SCRIPT)
        given = [job, "--script", "job.sh", "--site", "generic-slurm", "--state", "failed", "--json", *words]
        code = run(given, fix, "maple-fix")
        sys.stdout.flush()
        said = capsys.readouterr().out
        return code, json.loads(said) if said else {}

    return call


def test_what_the_user_said_of_a_job_is_told_of_the_next_that_ends_the_same_way(fixed: Call, state: Path) -> None:
    """By "case", with a note; not of another line."""
    code, told = fixed("4711")
    assert (code, told["cause"]["class"]) == (1, "unknown") and not (state / "cases.json").exists()
    fixed("4711", "--was", "data_or_config_error")
    assert "you said that this job was data_or_config_error" in fixed("4711")[1]["notes"]
    code, told = fixed("4712")
    assert (code, told["cause"]["class"], told["by"]) == (0, "data_or_config_error", "case")
    assert told["evidence"][0]["text"].startswith("simulate.bin: fatal error 77")
    assert "as in job 4711, which was data_or_config_error, you said" in told["notes"]
    assert fixed("4713", part="edge")[1]["cause"]["class"] == "unknown"


def test_no_word_of_the_log_is_kept(fixed: Call, state: Path) -> None:
    """The file is the user's alone."""
    fixed("4711", "--was", "data_or_config_error")
    data = (state / "cases.json").read_text()
    assert "simulate" not in data and "mesh" not in data
    assert stat.S_IMODE((state / "cases.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_the_word_is_one_of_the_classes_and_needs_a_job(fixed: Call, state: Path, tmp_path: Path) -> None:
    """Files without a job are nobody's case."""
    for word in ("unknown", "none", "magic"):
        assert fixed("4711", "--was", word)[0] == 2
    (tmp_path / "a.log").write_text(LOG % (1, "x"))
    assert run(["--log", "a.log", "--site", "generic-slurm", "--was", "gpu_oom"], fix, "maple-fix") == 2
    assert not (state / "cases.json").exists()


@pytest.mark.parametrize("harm", ["link", "hard link", "folder", "fifo", "long", "torn", "open", "another's"])
def test_a_file_that_is_not_one_s_own_alone_is_not_read(state: Path, tmp_path: Path, harm: str) -> None:
    """And writing puts a sound one in its place, where it lay behind a link untouched."""
    with new_file.opened() as folder:
        write(folder, [ONE])
        assert read(folder) == [ONE]
        path, other = state / "cases.json", tmp_path / "other"
        if harm in ("link", "hard link"):
            path.rename(other)
            os.symlink(other, path) if harm == "link" else os.link(other, path)
        elif harm in ("folder", "fifo"):
            path.unlink()
            path.mkdir() if harm == "folder" else os.mkfifo(path)
        elif harm in ("long", "torn"):
            path.write_text(" " * (1 << 20) if harm == "long" else '[{"signature": "a"')
        elif harm == "open":
            path.chmod(0o666)
        else:
            os.chown(path, 4321, 4321)
        before = other.read_bytes() if other.exists() else b""
        assert read(folder) == []
        if harm != "folder":
            write(folder, [ONE])
            assert read(folder) == [ONE]
        assert before == (other.read_bytes() if other.exists() else b"")


def test_a_state_folder_that_is_a_link_is_left_alone(state: Path, tmp_path: Path, fixed: Call) -> None:
    """And the diagnosis is made without it."""
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", state)
    code, told = fixed("4711")
    assert (code, told["cause"]["class"]) == (1, "unknown")
    assert fixed("4711", "--was", "gpu_oom")[0] == 2
    assert os.listdir(tmp_path / "elsewhere") == []


def test_rows_of_other_shapes_are_left_out_and_secrets_masked(state: Path) -> None:
    """A newer Maple's file, or a torn one, harms nobody."""
    with new_file.opened() as folder:
        write(folder, [replace(ONE, says="export HF_TOKEN=%s" % SECRET)])
        assert SECRET not in (state / "cases.json").read_text()
        rows = json.loads((state / "cases.json").read_text())
        bad = [7, {}, {**rows[0], "more": 1}, {**rows[0], "job": 7}, {**rows[0], "helped": "x"}]
        new_file.write(folder, "cases.json", json.dumps([*bad, rows[0]]).encode())
        assert [one.job for one in read(folder)] == ["1"]
        new_file.write(folder, "cases.json", b"[" * 100_000)
        assert read(folder) == []


def test_how_the_fix_did_is_asked_of_the_memory(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the job that had it completed; only of the line that is looked at, and not where nobody answers."""
    asked: list[set[str]] = []

    def ran(hashes: set[str]) -> dict[str, str]:
        asked.append(hashes)
        return {"f" * 64: "9"}

    monkeypatch.setattr(cases_kept, "_ran", ran)
    assert settled([ONE], "another") == [ONE] and settled([replace(ONE, fixed="")], ONE.signature)[0].helped is None
    assert asked == []
    assert settled([ONE], ONE.signature) == [replace(ONE, helped=True, later="9")]
    monkeypatch.undo()
    assert settled([ONE], ONE.signature) == [ONE]
