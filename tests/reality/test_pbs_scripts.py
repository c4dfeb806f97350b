"""The scripts of PBS are held to reality before Maple is: their author may be mistaken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reality import pbs_field
from tests.reality.asked import ask
from tests.reality.corpus import Case, cases
from tests.reality.field import Ran, Work, lay_out
from tests.reality.verdict import why_broken

NOTHING_TRAINS = "no training process ran"


def test_there_are_scripts_enough() -> None:
    assert len(cases("right", "pbs")) >= 40
    assert len(cases("tricky", "pbs")) >= 40
    assert len(cases("wrong", "pbs")) >= 40
    assert {case.site for case in cases("right", "pbs")} >= {"alcf-aurora", "alcf-polaris", "generic-pbs"}


def test_what_is_called_right_runs_right_and_what_is_called_wrong_does_not(pbs_corpora: list[Ran]) -> None:
    """Two things that must meet to go wrong may miss each other on a busy machine: such a script gets three runs."""
    mistaken = {}
    for ran in pbs_corpora:
        why = why_broken(ran)
        for _ in range(2):
            if why is None and ran.case.kind == "wrong":
                why = why_broken(pbs_field.run_all([Work(ran.case)])[0])
        if why == NOTHING_TRAINS and ran.case.kind == "tricky":
            why = None
        if (why is None) == (ran.case.kind == "wrong"):
            mistaken[ran.case.name] = why or "runs right"
    assert mistaken == {}


def test_what_a_case_says_is_proven_and_nothing_of_a_right_one(tmp_path: Path) -> None:
    """With the files beside it that it has."""
    other = {}
    for number, case in enumerate(one for kind in ("right", "tricky", "wrong") for one in cases(kind, "pbs")):
        proven = set(ask(case, lay_out(Work(case), str(tmp_path / str(number)))).proven)
        if not set(case.finds) <= proven or (case.kind != "wrong" and proven):
            other[case.name] = proven
    assert other == {}


def test_worlds_of_many_sizes_ran(pbs_corpora: list[Ran]) -> None:
    sizes = {fact["world_size"] for ran in pbs_corpora if why_broken(ran) is None for fact in ran.leaves}
    assert len(pbs_corpora) >= 100
    assert {2, 4, 8, 24} <= sizes


@pytest.mark.parametrize("case", cases("tricky", "pbs"), ids=lambda case: case.name)
def test_a_tricky_script_says_why_it_is_tricky(case: Case) -> None:
    head = (case.script or b"").split(b"\n", 2)
    assert head[1].startswith(b"# Tricky: ") and len(head[1]) > 40
