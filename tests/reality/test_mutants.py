"""A seeded sample of the mutants: no harm to those that still run right, and what is repaired runs right.

The full table is `make bench-mutants`.
"""

from __future__ import annotations

import random

import pytest

from tests.reality.corpus import cases
from tests.reality.mutants import Mutant, Result, baseline, judge, keep, mutants, table
from tests.reality.operators import KEEPING, MEANT_TO_BREAK, OPERATORS

SEED = 20261121
SAMPLE = 80


@pytest.fixture(scope="module")
def results() -> list[Result]:
    chance = random.Random(SEED)
    origins = chance.sample([case for case in cases("right") if case.script is not None and case.runs], 24)
    good, needs, bad = baseline(origins)
    assert bad == {}
    made = mutants(good, SEED)
    chosen = judge(chance.sample(made, SAMPLE), needs)
    keep(chosen, "build/mutants-sample.json")
    print("\n" + table(chosen, "operator") + "\n\n" + table(chosen, "site"))
    return chosen


def test_a_mutant_that_still_runs_right_is_neither_changed_nor_called_wrong(results: list[Result]) -> None:
    harmed = {
        one.mutant.case.name: one.answer.proven
        for one in results
        if one.broken is None and (one.answer.changed or one.answer.proven)
    }
    assert harmed == {}


def test_what_is_repaired_runs_right(results: list[Result]) -> None:
    worse = {
        one.mutant.case.name: one.still_broken for one in results if one.answer.changed and one.still_broken is not None
    }
    assert worse == {}


def test_operators_that_keep_the_meaning_keep_it(results: list[Result]) -> None:
    broken = {
        one.mutant.case.name: one.broken for one in results if one.mutant.operator in KEEPING and one.broken is not None
    }
    assert broken == {}


def test_broken_mutants_are_among_the_sample(results: list[Result]) -> None:
    assert sum(one.broken is not None for one in results) >= SAMPLE // 6


def test_there_are_operators_enough_and_none_is_idle() -> None:
    assert len(OPERATORS) >= 20
    made = mutants([case for case in cases("right") if case.script is not None], SEED)
    assert {one.operator for one in made} == set(OPERATORS)
    assert {one.case.site for one in made} == {case.site for case in cases("right")}


def test_mutants_depend_on_nothing_but_the_seed() -> None:
    origins = [case for case in cases("right") if case.script is not None][:12]

    def made(seed: int) -> list[Mutant]:
        return mutants(origins, seed)

    assert made(1) == made(1)
    assert made(1) != made(2)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_gives_other_bytes_or_nothing(name: str) -> None:
    for case in cases("right"):
        new = OPERATORS[name](case.script or b"", random.Random(7))
        assert new is None or isinstance(new, bytes)


def test_every_operator_has_one_meaning() -> None:
    assert not set(MEANT_TO_BREAK) & set(KEEPING)
