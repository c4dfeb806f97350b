"""Right scripts that were written without sight of Maple are left as they are and accused of nothing.

What the sets ran into is printed by `make bench-blind`; the first scores, with their dates, stand in CHANGELOG.md.
"""

from __future__ import annotations

import os

import pytest

from tests.reality.blind import Labelled, answered, read, sets

CASES = [(os.path.basename(path), one) for path in sets() for one in read(path)]
RIGHT = [pytest.param(one, id=f"{name}-{one.case.name}") for name, one in CASES if one.right]


@pytest.mark.parametrize("one", RIGHT)
def test_a_right_script_is_neither_changed_nor_accused(one: Labelled) -> None:
    answer = answered(one.case, one.files)
    assert (answer.changed, answer.proven) == (False, ())


def test_there_are_sets_of_both_kinds() -> None:
    assert len(RIGHT) >= 240 and sum(not one.right for _, one in CASES) >= 120
    assert len({one.case.site for _, one in CASES if one.right}) >= 14
