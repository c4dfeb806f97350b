"""The logs that real failures left, diagnosed without a lab: `tests/cases/diagnosis-lab/`, written by its bench.

A case that is not right stands in `misses.toml` with the class that it gets; once right, it has to be taken out.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomllib
from maple_agents.diagnose import explanation
from maple_agents.diagnose.values import Diagnosis

from tests.agents.debug.corpus import stands

FOLDER = Path(__file__).parents[2] / "cases/diagnosis-lab"
CASES = {path.parent.name: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*/expected.toml"))}
MISSES: dict[str, str] = tomllib.loads((FOLDER / "misses.toml").read_text())["misses"]


@cache
def told(name: str) -> Diagnosis:
    """Return what is said of a case."""
    said: dict[str, Any] = CASES[name]
    logs = [str(FOLDER / name / log) for log in said["logs"]]
    script = str(FOLDER / name / said["script"])
    return explanation.explained(
        explanation.case_of(None, logs, script, said["site"], (), said.get("state"), said.get("exit_code"))
    )


@pytest.mark.parametrize("name", CASES)
def test_a_provoked_failure_is_named(name: str) -> None:
    """The first cause is the one that was provoked, or one that is as right."""
    first, right = told(name).causes[0].cause, {CASES[name]["class"], *CASES[name]["accepts"]}
    if name in MISSES:
        assert first not in right, f"{name} is right now: take it out of misses.toml"
        assert first in (MISSES[name], "unknown"), "it became another wrong class"
    else:
        assert first in right


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]["evidence"] and name not in MISSES])
def test_the_telling_line_is_shown(name: str) -> None:
    """One of the lines that prove it is among the evidence, and each line stands so in its file."""
    shown = told(name).causes[0].evidence
    assert {(Path(one.file).name, one.line) for one in shown} & {
        (one["file"], one["line"]) for one in CASES[name]["evidence"]
    }
    assert all(stands(one) for one in shown)
