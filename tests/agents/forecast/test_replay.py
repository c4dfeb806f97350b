"""History played again knows nothing before it ended, and says how near forecasts came."""

from __future__ import annotations

import random

import pytest
from maple_agents.forecast.needs import Forecast
from maple_agents.forecast.replay import Played, coverage, play, score, shortened

from tests.agents.forecast import eagle


def last(played: Played) -> float | None:
    """Return the run time of the last ended run of the same user and name."""
    return played.known[0].seconds if played.known else None


def asked(played: Played) -> float | None:
    """Return the limit that was asked for."""
    return played.run.asked.limit


@pytest.fixture(scope="module")
def played() -> list[Played]:
    return list(play(eagle.runs()))


def test_nothing_is_known_before_it_ended(played):
    """Each run that a forecast rests on had ended when the job came."""
    assert len(played) == 1000
    for one in played:
        for run in (*one.known, *one.said.runs):
            assert run.ended <= one.run.asked.submitted


def test_history_beats_what_was_asked_for(played):
    """The last run of the same name is nearer than the limit by far; what is shipped is no worse where it speaks."""
    known = [one for one in played if one.known]
    spoken = [one for one in known if isinstance(one.said, Forecast)]
    assert score(known, asked).macro > 3
    assert score(known, last).macro < 1
    assert score(spoken, lambda one: one.said.seconds).macro <= score(spoken, last).macro + 0.02


def test_the_bound_holds_about_as_often_as_it_says(played):
    """Nine of ten, over groups and over jobs, without being wide: the median bound is near the run."""
    held = coverage(played)
    assert 0.88 <= held.macro <= 0.92 and 0.88 <= held.micro <= 0.92
    assert held.wide < 1.3 and held.jobs >= 250


def test_ends_that_are_shuffled_tell_less(played):
    """Had a forecast looked ahead, the true ends would matter less to it."""
    runs, dice = eagle.runs(), random.Random(7)
    times = [run.seconds for run in runs]
    dice.shuffle(times)
    mixed = [run._replace(seconds=time, ended=run.asked.submitted + time) for run, time in zip(runs, times)]
    assert score(play(mixed), last).macro > score(played, last).macro + 0.3


def test_limits_that_a_rule_would_shorten(played):
    """Some jobs would have been killed: that is why nothing is shortened unasked."""
    tight, loose = shortened(played, 1.5), shortened(played, 3)
    assert tight.changed > loose.changed > 0
    assert tight.killed >= loose.killed > 0
    assert tight.asked_after < loose.asked_after < loose.asked_before
