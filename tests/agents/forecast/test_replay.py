"""History played again knows nothing before it ended, and says how near forecasts came."""

from __future__ import annotations

import pytest
from maple_agents.forecast.needs import Forecast
from maple_agents.forecast.replay import Played, coverage, play, score, shortened
from maple_agents.forecast.runs import Asked, Run

from tests.agents.forecast import eagle, kiloseconds


def last(played: Played) -> float | None:
    """Return the run time of the last ended run of the same user and name."""
    return played.known[0].seconds if played.known else None


def asked(played: Played) -> float | None:
    """Return the limit that was asked for."""
    return played.run.asked.limit


def shipped(played: Played) -> float | None:
    """Return what `maple forecast` says."""
    return played.answer.seconds if isinstance(played.answer, Forecast) else None


@pytest.fixture(scope="module")
def played() -> list[Played]:
    return list(play(eagle.runs()))


def test_nothing_is_known_before_it_ended(played):
    """Each run that a forecast rests on had ended when the job came."""
    assert len(played) == 1000
    for one in played:
        for run in (*one.known, *one.answer.runs):
            assert run.ended <= one.run.asked.submitted


def test_history_beats_what_was_asked_for(played):
    """The last run of the same name is nearer than the limit by far; what is shipped is no worse where it speaks."""
    known = [one for one in played if one.known]
    spoken = [one for one in known if isinstance(one.answer, Forecast)]
    assert score(known, asked).macro > 3
    assert score(known, last).macro < 1
    assert score(spoken, lambda one: one.answer.seconds).macro <= score(spoken, last).macro + 0.02


def test_the_bound_holds_about_as_often_as_it_says(played):
    """Nine of ten, over groups and over jobs, without being wide: the median bound is near the run."""
    held = coverage(played)
    assert 0.88 <= held.macro <= 0.92 and 0.88 <= held.micro <= 0.92
    assert held.wide < 1.3 and held.jobs >= 250


def test_ends_that_are_shuffled_tell_less(played):
    """Had a forecast looked ahead, the true ends would matter less to it."""
    mixed = list(play(eagle.shuffled()))
    assert score(mixed, last).macro > score(played, last).macro + 0.3
    for by in (last, lambda one: shipped(one) or last(one)):
        assert score(mixed, by).macro > score(played, by).macro + 0.3


@pytest.fixture(scope="module")
def coarse() -> list[Played]:
    return list(kiloseconds.played(eagle.runs()))


def test_published_figures_are_repeated_on_their_own_clock(coarse):
    """All of them: which jobs count as known, how near limit and last run come, what shortened limits would do."""
    known = [one for one in coarse if one.known]
    assert len(known) == 405 and len({one.key for one in known}) == 105
    assert sum(len(one.known) >= 3 for one in known) == 281
    assert [round(score(known, asked).macro, 2), round(score(known, asked).micro, 2)] == [3.27, 3.20]
    assert [round(score(known, last).macro, 2), round(score(known, last).micro, 2)] == [0.39, 0.53]
    assert round(score(coarse, lambda one: last(one) or asked(one)).macro, 2) == 1.17
    rule = shortened(coarse, 1.5)
    assert (rule.changed, rule.killed, round(rule.asked_before), round(rule.asked_after)) == (394, 23, 50496, 6699)
    assert shortened(coarse, 3).killed == 17


def test_that_clock_looks_ahead(coarse, played):
    """There jobs are known by runs that had not ended, also by themselves; on the true one none is."""
    ahead = [one for one in coarse if any(run.job == one.run.job for run in one.known)]
    assert len(ahead) >= 20 and not [one for one in played if any(run.job == one.run.job for run in one.known)]


def test_what_is_shipped_meets_its_bar_on_that_clock(coarse):
    """No further off than the last run, on all a thousand too, and one in ten at most is too short."""
    known = [one for one in coarse if one.known]
    assert round(score(known, lambda one: shipped(one) or last(one)).macro, 2) <= 0.39
    every = score(coarse, lambda one: shipped(one) or last(one) or asked(one))
    assert round(every.macro, 2) <= 1.17 and every.under <= 0.1


def test_a_job_that_its_limit_ended_is_not_beyond_it():
    """The scheduler comes some seconds late: a forecast of the limit was not too short, and no rule killed that job."""
    limit = Asked("ann", "sft", "/p", 0.0, 3600.0)
    cut = Run("2", limit._replace(submitted=9000.0), 12610.0, 3610.0, "timeout")
    (first, one) = play([Run("1", limit, 500.0, 500.0, "completed"), cut])
    assert score([one], asked).under == 0 and score([one], lambda _: 3599.0).under == 1
    assert score([one], last).under == 1
    assert shortened([one], 1.5) == (1, 0, 1.0, 1100 / 3600)


def test_limits_that_a_rule_would_shorten(played):
    """Some jobs would have been killed: that is why nothing is shortened unasked."""
    tight, loose = shortened(played, 1.5), shortened(played, 3)
    assert tight.changed > loose.changed > 0
    assert tight.killed >= loose.killed > 0
    assert tight.asked_after < loose.asked_after < loose.asked_before
