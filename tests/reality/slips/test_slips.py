"""A sample of slips is noticed about as often as it was, and their twins are left alone."""

from __future__ import annotations

import random

import pytest

from tests.reality.slips.dressings import DRESSINGS, PLAIN, dressed
from tests.reality.slips.measure import Made, drawn, judged, rights, sound
from tests.reality.slips.slip import Slip, every

SEED = 27
SAMPLE = 60  # spellings
FLOOR = 0.8  # of those that are noticed


def _sampled(twins: bool) -> list[Made]:
    """Return a seeded choice of spellings, each in one script."""
    pairs = [(slip, name) for slip in every() for name in (slip.twins if twins else slip.spellings)]
    chosen = random.Random(SEED).sample(pairs, min(SAMPLE, len(pairs)))
    return [one for slip, name in chosen for one in drawn(_only(slip, name, twins), twins, 1, SEED)]


def _only(slip: Slip, name: str, twins: bool) -> Slip:
    if twins:
        return slip._replace(twins={name: slip.twins[name]})
    return slip._replace(spellings={name: slip.spellings[name]}, dressed=False)


def test_slips_are_noticed() -> None:
    """Most of a sample is noticed; `make bench-slips` says which are not."""
    made = _sampled(False)
    assert len(made) > SAMPLE // 2
    missed = [f"{one.slip.name}: {one.spelling} in {one.origin.case.name}" for one in made if not one.more]
    assert 1 - len(missed) / len(made) >= FLOOR, "\n".join(missed)


def test_twins_are_left_alone() -> None:
    """The same words where they do no harm bring neither a finding nor a change."""
    felt = [(one.slip.name, one.spelling, one.origin.case.name, one.more) for one in _sampled(True)
            if one.more or one.cure == "unasked"]  # fmt: skip
    assert not felt


def test_every_slip_fits_scripts_and_names_rules() -> None:
    """No slip is made nowhere, and each says which rules know it."""
    for slip in every():
        assert slip.codes and slip.spellings, slip.name
        assert any(slip.where(origin) for origin in rights()), slip.name


@pytest.mark.parametrize("name", DRESSINGS)
def test_another_shape_changes_nothing(name: str) -> None:
    """A right script whose launch line is only written otherwise stays one that bash reads, and nothing is changed."""
    origins = random.Random(f"{SEED} {name}").sample(rights(), 12)
    shaped = [(one, dressed(one.text, name)) for one in origins]
    made = [(one, text) for one, text in shaped if text is not None and sound(text, one)]
    twin = Slip("a shape", ("",), lambda _: True, {}, {"": lambda script: script.text + b"\n"}, False)
    assert PLAIN not in DRESSINGS
    for origin, text in made:
        felt = judged(twin, "", PLAIN, origin, text)
        assert not felt.more and felt.cure != "unasked", (origin.case.name, felt.says)
