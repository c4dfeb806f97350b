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


# Lost in the talk of others: which of two complaints ended it, and that a number before a line is a task's.
LOST = (
    "module-complained-then-mpirun-refused",
    "module-complained-then-srun-refused",
    "each-task-tells-the-same-node-rank",
)
TALKED = [case for case in CASES if case["class"] != ["none"] and case["name"] not in LOST]


def named(text: str, folder: Path) -> str:
    """Return the class that is named first: of a log alone, without a script and a scheduler's word."""
    log = folder / "slurm-1.out"
    log.write_text(text, "utf-8")
    known = entries()
    digest = read((LogFile(str(log), "both"),), anchors(known))
    return diagnose(Case(Ended(), "slurm", GENERIC_SLURM), digest, None, known).causes[0].cause


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_cause_is_named(case: Mapping[str, Any], tmp_path: Path) -> None:
    """As somebody who reads the log would name it."""
    assert named(case["log"], tmp_path) in case["class"]


@pytest.mark.parametrize("case", TALKED, ids=lambda case: case["name"])
def test_what_others_say_behind_it_is_no_sign_of_life(case: Mapping[str, Any], tmp_path: Path) -> None:
    """Where nobody trains, hundreds of lines of other processes between the error and the launcher's last word."""
    lines = case["log"].rstrip("\n").split("\n")
    end = len(lines) - sum(line.startswith("srun: error: ") and "Exited" in line for line in lines)
    talk = ["loader: shard %05d opened in %.2f ms" % (at, at % 97 / 7) for at in range(300)]
    assert named("\n".join([*lines[:end], *talk, *lines[end:]]), tmp_path) in case["class"]
