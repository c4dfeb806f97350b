"""A seeded sample of the mutants: no harm to those that still run right, and what is repaired runs right.

The full tables are `make bench-mutants` and `make bench-mutants-pbs`.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from tests.reality.corpus import Case, cases
from tests.reality.mutants import PBS, SLURM, Mutant, Range, Result, baseline, judge, keep, mutants, table


class Sample(NamedTuple):
    """How many mutants of a scheduler's scripts are drawn, by which seed, and how many operators there are at least."""

    within: Range
    seed: int
    size: int
    operators: int
    file: str


SAMPLES = {
    "slurm": Sample(SLURM, 20261121, 80, 20, "build/mutants-sample.json"),
    "pbs": Sample(PBS, 20261122, 90, 40, "build/mutants-pbs-sample.json"),
}
BY_NAME = [
    pytest.param(sample.within, name, id=f"{key}-{name}")
    for key, sample in SAMPLES.items()
    for name in sorted(sample.within.operators)
]


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """A scheduler's part."""
    return SAMPLES[request.param]


@pytest.fixture(scope="module")
def results(sample: Sample) -> list[Result]:
    chance, within = random.Random(sample.seed), sample.within
    good, needs, bad = baseline(chance.sample(within.origins(), 24), within)
    assert bad == {}
    made = mutants(good, sample.seed, within=within)
    chosen = judge(chance.sample(made, sample.size), needs, within)
    keep(chosen, sample.file)
    print("\n" + table(chosen, "operator", within) + "\n\n" + table(chosen, "site", within))
    return chosen


def test_a_mutant_that_still_runs_right_is_neither_changed_nor_called_wrong(results: list[Result]) -> None:
    harmed = {
        result.mutant.case.name: result.answer.proven
        for result in results
        if result.broken is None and (result.answer.changed or result.answer.proven)
    }
    assert harmed == {}


def test_what_is_repaired_runs_right(results: list[Result]) -> None:
    worse = {
        result.mutant.case.name: result.still_broken
        for result in results
        if result.answer.changed and result.still_broken is not None
    }
    assert worse == {}


def test_operators_that_keep_the_meaning_keep_it(results: list[Result], sample: Sample) -> None:
    broken = {
        result.mutant.case.name: result.broken
        for result in results
        if result.mutant.operator in sample.within.keeping and result.broken is not None
    }
    assert broken == {}


def test_broken_mutants_are_among_the_sample(results: list[Result], sample: Sample) -> None:
    assert sum(result.broken is not None for result in results) >= sample.size // 6


def scripts(within: Range) -> list[Case]:
    """Return the right scripts, those too that no lab can run."""
    return [case for case in cases("right", within.scheduler) if case.script is not None]


def test_there_are_operators_enough_and_none_is_idle(sample: Sample) -> None:
    assert len(sample.within.operators) >= sample.operators
    made = mutants(scripts(sample.within), sample.seed, within=sample.within)
    assert {mutant.operator for mutant in made} == set(sample.within.operators)
    assert {mutant.case.site for mutant in made} == {case.site for case in scripts(sample.within)}


def test_mutants_depend_on_nothing_but_the_seed(sample: Sample) -> None:
    origins = scripts(sample.within)[:12]

    def made(seed: int) -> list[Mutant]:
        return mutants(origins, seed, within=sample.within)

    assert made(1) == made(1)
    assert made(1) != made(2)


@pytest.mark.parametrize(("within", "name"), BY_NAME)
def test_an_operator_gives_other_bytes_or_nothing(within: Range, name: str) -> None:
    for case in cases("right", within.scheduler):
        new = within.operators[name](case.script or b"", random.Random(7))
        assert new is None or isinstance(new, bytes)


def test_every_operator_has_one_meaning(sample: Sample) -> None:
    assert not set(sample.within.breaking) & set(sample.within.keeping)
