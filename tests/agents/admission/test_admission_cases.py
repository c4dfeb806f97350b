"""What is read of whole jobs: their script, their programs, their configs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tomllib
from maple_agents.admission.files import read_files
from maple_daemon.remember.sections import script_parts
from maple_submit_filter.types.submission import Submission

CASES = Path(__file__).parents[2] / "cases" / "admission"
NAMES = sorted(one.name for one in CASES.iterdir() if (one / "job.sh").is_file())


@pytest.mark.parametrize("name", NAMES)
def test_each_value_is_known_with_its_place(name: str) -> None:
    """Every value that the case expects is there with its place, and none that it calls absent."""
    folder = CASES / name
    expected = tomllib.loads((folder / "expected.toml").read_text())
    script = (folder / "job.sh").read_bytes()
    scheduler, command = ("pbs", b"qsub") if b"#PBS" in script else ("slurm", b"sbatch")
    asked = Submission(
        scheduler, (command, b"job.sh"), script, "file", b"job.sh", os.fsencode(folder), 1000, {b"HOME": b"/home/u"}
    )
    values = {one.name: one for one in read_files(asked, script_parts(script)).values}
    found = {key: [one.value, one.by, "%s:%d" % (one.file, one.line)] for key, one in values.items()}
    assert {key: found.get(key) for key in expected["values"]} == expected["values"]
    assert [key for key in expected["absent"] if key in found] == []
    assert not (folder / "pwned").exists()
