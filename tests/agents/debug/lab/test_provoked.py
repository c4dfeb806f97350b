"""Failures provoked on a real Slurm: `maple-fix` names the cause, shows the line, and its fix runs.

`make bench-lab-diagnosis` provokes all of them; here only those that are marked quick.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.debug.lab import table
from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import failures
from tests.agents.debug.lab.provoking import Outcome
from tests.miniapps.started import frameworks

QUICK = {name: one for name, one in failures().items() if one.quick}


@pytest.fixture(scope="module")
def seen(failing_lab: FailingLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What came of every quick failure."""
    frameworks()
    folder: Path = tmp_path_factory.mktemp("provoked")
    return {one.failure.name: one for one in table.outcomes(failing_lab, QUICK.values(), folder, at_once=3)}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", QUICK)
def test_the_cause_is_named_first_and_shown(name: str, seen: dict[str, Outcome]) -> None:
    """The class is right, and the telling line stands in the log where the answer says."""
    one = seen[name]
    assert one.right, table.row(one)
    assert one.evidence, one.asked.told["evidence"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name, one in QUICK.items() if one.cured_by == "script"])
def test_the_offered_fix_makes_the_job_run(name: str, seen: dict[str, Outcome]) -> None:
    """The first fix, submitted as it is offered, ends well, and every rank trained."""
    assert seen[name].rounds == 1, seen[name].wrong


def test_every_failure_is_told_apart() -> None:
    """At least forty different failures; each class that is expected is one that programs may rely on."""
    from maple_agents.templates.knowledge.entries import CLASSES

    known = failures().values()
    assert len({one.script + str(sorted(one.files.items())) for one in known}) == len(known) >= 40
    assert {one.cause for one in known} | {name for one in known for name in one.accepts} <= set(CLASSES)
