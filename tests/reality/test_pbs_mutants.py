"""PBS: a seeded sample of the mutants: no harm to those that still run right, and what is repaired runs right.

The full table is `make bench-mutants-pbs`.
"""

from __future__ import annotations

import random

import pytest

from tests.reality.mutants import PBS, Result, baseline, judge, keep, mutants, table

SEED = 20261122
SAMPLE = 90
OPERATORS = PBS.operators


@pytest.fixture(scope="module")
def results() -> list[Result]:
    chance = random.Random(SEED)
    origins = chance.sample(PBS.origins(), 24)
    good, needs, bad = baseline(origins, PBS)
    assert bad == {}
    made = mutants(good, SEED, within=PBS)
    chosen = judge(chance.sample(made, SAMPLE), needs, PBS)
    keep(chosen, "build/mutants-pbs-sample.json")
    print("\n" + table(chosen, "operator", PBS) + "\n\n" + table(chosen, "site", PBS))
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
    broken = {one.mutant.case.name: one.broken for one in results if one.mutant.operator in PBS.keeping and one.broken}
    assert broken == {}


def test_broken_mutants_are_among_the_sample(results: list[Result]) -> None:
    assert sum(one.broken is not None for one in results) >= SAMPLE // 6


def test_there_are_operators_enough_and_none_is_idle() -> None:
    assert len(OPERATORS) >= 40
    made = mutants(PBS.origins(), SEED, within=PBS)
    assert {one.operator for one in made} == set(OPERATORS)
    assert {one.case.site for one in made} == {"alcf-aurora", "alcf-polaris", "generic-pbs"}


def test_mutants_depend_on_nothing_but_the_seed() -> None:
    origins = PBS.origins()[:12]
    assert mutants(origins, 1, within=PBS) == mutants(origins, 1, within=PBS)
    assert mutants(origins, 1, within=PBS) != mutants(origins, 2, within=PBS)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_gives_other_bytes_or_nothing(name: str) -> None:
    for case in PBS.origins():
        new = OPERATORS[name](case.script or b"", random.Random(7))
        assert new is None or isinstance(new, bytes)


def test_every_operator_has_one_meaning() -> None:
    assert not set(PBS.breaking) & set(PBS.keeping)
