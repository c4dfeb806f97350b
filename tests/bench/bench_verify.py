"""Every strategy by every launcher on one, two and four nodes, and what a verification takes: `make bench-verify`.

MAPLE_ONLY chooses rows by a part of their name, such as `ddp by srun`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.agents.verify.in_lab import Case, Ran, ran
from tests.agents.verify.launches import APPS, LINES, case, environment
from tests.miniapps.started import frameworks

NODES = (1, 2, 4)
ONLY = os.environ.get("MAPLE_ONLY", "")
HEAD = f"{'':32} {'nodes':>5} {'verdict':>8} {'started':>8} {'reported':>8} {'total':>8} {'ours':>7}  compared"


def row(name: str, nodes: int, one: Ran) -> str:
    """Return a line of the table, in seconds: first sign of the job, last report, all, and what Maple added."""
    made, verdict = one.made, one.made.verdict
    why = "" if not verdict.reasons else f"  {verdict.reasons[0].kind.value}: {verdict.reasons[0].says[:90]}"
    compared = f"{verdict.known} of {verdict.values}, {len(verdict.differences)} differ"
    times = f"{made.queued or 0:8.2f} {made.reported or 0:8.2f} {made.total:8.2f} {made.ours:7.2f}"
    return f"{name:32} {nodes:5} {verdict.result.value:>8} {times}  {compared}{why}"


def place(folder: Path, number: int) -> Path:
    """Return a new folder for a case."""
    found = folder / str(number)
    found.mkdir()
    return found


@pytest.mark.timeout(0)
def test_a_verification_without_torch(lab: Any, tmp_path: Path) -> None:
    """What is beyond the scheduler's own time; the goal for `dry` on two nodes is two seconds."""
    print("\n\nVerifications without torch, by the stand-ins\n" + HEAD)
    for number, (app, nodes) in enumerate([(app, nodes) for app in ("probe", "dry") for nodes in NODES]):
        one = ran(lab, Case("srun python3 train.py\n", nodes, 2, app), place(tmp_path, number), 28500 + 10 * number)
        print(row(f"{app} by srun direct", nodes, one), flush=True)
        assert one.made.verdict.result.value == "passed" and one.left == ("job.sh",)


@pytest.mark.timeout(0)
def test_every_strategy_by_every_launcher(lab: Any, tmp_path: Path) -> None:
    """The real launchers; every row must pass."""
    frameworks()
    print("\n\nEvery strategy by every launcher, two ranks a node, on CPUs over gloo\n" + HEAD)
    bad = []
    rows = [(f"{app} by {line}", app, line, nodes) for app in APPS for line in LINES for nodes in NODES]
    for number, (name, app, line, nodes) in enumerate(one for one in rows if ONLY in one[0]):
        one = ran(lab, case(app, line, nodes), place(tmp_path, number), 28600 + number, environment(lab))
        print(row(name, nodes, one), flush=True)
        if one.made.verdict.result.value != "passed" or one.left != ("job.sh",) or one.made.verdict.differences:
            bad.append((name, nodes, one.made.verdict.reasons, one.made.verdict.differences))
    assert not bad
