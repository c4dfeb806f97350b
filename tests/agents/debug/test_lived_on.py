"""Small logs of jobs that lived on behind what sounds like a death, and of jobs that did not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import Case, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.site.facts import GENERIC_SLURM

CASES = tomllib.loads(Path(__file__).with_name("lived_on.toml").read_text("utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_lived_on_is_not_accused(case: Mapping[str, Any], tmp_path: Path) -> None:
    """Of a log alone: no script, no scheduler's word."""
    log = tmp_path / "slurm-1.out"
    log.write_text(case["log"], "utf-8")
    known = entries()
    told = diagnose(
        Case(Ended(), "slurm", GENERIC_SLURM), read((LogFile(str(log), "both"),), anchors(known)), None, known
    )
    assert told.causes[0].cause in case["class"], told.causes
