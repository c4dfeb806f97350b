"""Small logs, each of one way to die, in words that were made up for this: what is named first."""

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

CASES = tomllib.loads(Path(__file__).with_name("died_of.toml").read_text("utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_cause_is_named(case: Mapping[str, Any], tmp_path: Path) -> None:
    """Of a log alone: no script, no scheduler's word."""
    log = tmp_path / "slurm-1.out"
    log.write_text(case["log"], "utf-8")
    known = entries()
    told = diagnose(
        Case(Ended(), "slurm", GENERIC_SLURM), read((LogFile(str(log), "both"),), anchors(known)), None, known
    )
    assert told.causes[0].cause in case["class"], told.causes
