"""Right scripts that a naive checker would flag are left alone, and they are right indeed."""

from __future__ import annotations

import pytest
from maple_submit_filter.types.launch_plan import LaunchPlan

from tests.reality.asked import Answer, ask
from tests.reality.corpus import Case, cases
from tests.reality.field import Ran, Work, lay_out
from tests.reality.verdict import why_broken

RIGHT = [*cases("right"), *cases("tricky")]
NOTHING_TRAINS = "no training process ran"


def answered(case: Case, folder: str) -> Answer:
    return ask(case, lay_out(Work(case), folder))


def test_there_are_scripts_enough() -> None:
    assert len(cases("right")) >= 60
    assert len(cases("tricky")) >= 80
    assert len({case.site for case in cases("right")}) >= 11  # Slurm sites, and the one that nobody described


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_right_script_is_left_alone(case: Case, tmp_path) -> None:  # type: ignore[no-untyped-def]
    answer = answered(case, str(tmp_path / "job"))
    assert answer.decision.repaired is None
    assert answer.proven == case.finds == ()


@pytest.mark.parametrize("case", cases("tricky"), ids=lambda case: case.name)
def test_a_tricky_script_says_why_it_is_tricky(case: Case) -> None:
    head = (case.script or b"").split(b"\n", 2)
    assert head[1].startswith(b"# Tricky: ") and len(head[1]) > 40


@pytest.mark.parametrize("case", cases("wrong"), ids=lambda case: case.name)
def test_a_wrong_script_is_planned_without_a_crash(case: Case, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """And what the case says is proven of it."""
    answer = answered(case, str(tmp_path / "job"))
    assert isinstance(answer.decision.plan, LaunchPlan)
    assert set(case.finds) <= set(answer.proven)


def test_what_is_called_right_runs_right_and_what_is_called_wrong_does_not(corpora: list[Ran]) -> None:
    """The corpora are held to reality first: their author may be mistaken."""
    mistaken = {}
    for ran in corpora:
        why = why_broken(ran)
        if why == NOTHING_TRAINS and ran.case.kind == "tricky":
            why = None
        if (why is None) == (ran.case.kind == "wrong"):
            mistaken[ran.case.name] = why or "runs right"
    assert mistaken == {}
