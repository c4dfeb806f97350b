"""Cured fan-out runs as one world of the size that was meant, by the facts of every rank."""

from __future__ import annotations

import random

from tests.reality.asked import repaired
from tests.reality.blind import answered
from tests.reality.fan_out import MEANT, family
from tests.reality.field import Work, run_all
from tests.reality.shapes import shape_of
from tests.reality.verdict import why_broken

SAMPLE = 24


def test_what_is_repaired_runs_in_the_world_that_was_meant() -> None:
    cases = random.Random(20261122).sample(list(family()), SAMPLE)
    answers = [(case, answered(case)) for case in cases]
    mended = [repaired(case, answer) for case, answer in answers if answer.changed]
    assert len(mended) > SAMPLE // 2
    other = {}
    for ran in run_all([Work(case) for case in mended], shape_of, deadline="8"):
        worlds = {fact["world_id"]: fact["world_size"] for fact in ran.leaves}
        if why_broken(ran) is not None or list(worlds.values()) != [MEANT]:
            other[ran.case.name] = (why_broken(ran), worlds)
    assert other == {}
