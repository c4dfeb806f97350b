"""A forecast rests on runs that had ended and had as much to do; where they do not tell, there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.forecast.advice import gpu_advice, line, memory_advice, time_advice
from maple_agents.forecast.needs import Forecast, NoForecast, forecast, straight
from maple_agents.forecast.runs import Asked, Lineages, Run, Work

GIB = 1 << 30


def job(at: float, values: str = "", nodes: int = 2, **more) -> Asked:
    """Return a job that comes at *at* hours. *values*: `epochs=10 model=a`."""
    work = Work(tuple(tuple(pair.split("=")) for pair in values.split()), nodes)  # type: ignore[misc]
    return Asked(**{"user": "ann", "name": "sft", "folder": "/p", "submitted": at * 3600, "work": work, **more})


def ran(
    at: float, seconds: float, values: str = "", state: str = "completed", memory: int | None = None, **more
) -> Run:
    """Return a run that was submitted at *at* hours and started at once."""
    return Run("%d" % at, job(at, values, **more), at * 3600 + seconds, seconds, state, memory)


def said(asked: Asked, *runs: Run) -> Forecast | NoForecast:
    """Return what is forecast of a job."""
    return forecast(asked, Lineages(runs))


def test_as_long_as_the_last_run():
    """The newest end counts; what failed or was cancelled tells nothing."""
    found = said(job(9), ran(1, 900), ran(2, 1000), ran(3, 20, state="failed"), ran(4, 5, state="cancelled"))
    assert isinstance(found, Forecast)
    assert (found.seconds, found.basis, [run.seconds for run in found.runs]) == (1000, "folder", [1000, 900])


def test_a_run_that_goes_on_is_not_known():
    """What ended after the submission says nothing of it."""
    assert isinstance(said(job(2), ran(1, 7200)), NoForecast)


def test_the_narrowest_lineage_counts():
    """The same version before the same folder, that before the same name; another user never."""
    runs = (ran(1, 100, version="v"), ran(2, 200), ran(3, 300, folder="/q"), ran(4, 400, user="bob"))
    assert said(job(9, version="v"), *runs).seconds == 100  # type: ignore[union-attr]
    assert said(job(9, version="new"), *runs).seconds == 200  # type: ignore[union-attr]
    assert said(job(9, folder="/elsewhere"), *runs).seconds == 300  # type: ignore[union-attr]
    renamed = (*runs, ran(5, 500, name="old", lineage="/p/job.sh"))
    assert said(job(9, lineage="/p/job.sh"), *renamed).seconds == 200  # type: ignore[union-attr]
    found = said(job(9, folder="/elsewhere", lineage="/p/job.sh"), *renamed)
    assert isinstance(found, Forecast) and (found.seconds, found.basis) == (500, "lineage")
    assert "the last run of this script took 0:08:20" in line(job(9, lineage="/p/job.sh"), found)


def test_other_work_is_no_ground():
    """Epochs changed, two points are no line: no forecast, and what changed is named."""
    found = said(job(9, "epochs=30"), ran(1, 440, "epochs=10"), ran(2, 870, "epochs=20"))
    assert isinstance(found, NoForecast)
    assert found.changed == {"epochs": ("30", "20")}


def test_runs_that_show_how_time_goes():
    """Three sizes on a line, and the new one is near them: drawn out by that alone."""
    runs = [ran(at, 60 + 50 * at, "epochs=%d" % at) for at in (1, 2, 4)]
    found = said(job(9, "epochs=8"), *runs)
    assert isinstance(found, Forecast)
    assert (round(found.seconds), found.scaled) == (460, "epochs")
    assert isinstance(said(job(9, "epochs=9"), *runs), NoForecast)  # beyond twice what was seen
    assert isinstance(said(job(9, "epochs=8", nodes=4), *runs), NoForecast)  # more than one thing changed
    assert isinstance(said(job(9, "epochs=8"), *runs[:2], ran(4, 900, "epochs=4")), NoForecast)  # no line


def test_nothing_runs_beyond_its_limit():
    """Point and bound end there; a run that its limit ended is said to be cut."""
    runs = [ran(at, 3000, state="timeout") for at in range(1, 6)]
    found = said(job(9, limit=1800.0), *runs)
    assert isinstance(found, Forecast)
    assert (found.seconds, found.most, found.cut) == (1800, 1800, True)


def test_a_lineage_that_swings_is_bounded_by_its_swings():
    """Others that run alike make no narrow bound for it."""
    steady = [ran(at, 1000, name="steady") for at in range(1, 30)]
    wild = [ran(at, seconds, name="wild") for at, seconds in ((1, 100), (2, 800), (3, 100), (4, 400))]
    calm, swinging = said(job(40, name="steady"), *steady, *wild), said(job(40, name="wild"), *steady, *wild)
    assert isinstance(calm, Forecast) and isinstance(swinging, Forecast)
    assert calm.most is not None and calm.most < 1100
    assert swinging.most is not None and swinging.most > 3100


def test_too_little_is_known_for_a_bound():
    """One run gives a point, and no bound."""
    found = said(job(9), ran(1, 1000))
    assert isinstance(found, Forecast) and found.most is None


@given(st.dictionaries(st.floats(1, 1e6), st.floats(1, 1e7), min_size=2, max_size=6))
def test_a_line_lies_near_all_its_points(points):
    """Where a line is returned, none of the points is further off than a tenth."""
    found = straight(points)
    assert found is None or all(abs(found[0] + found[1] * x - y) <= 0.1001 * y for x, y in points.items())


@pytest.mark.parametrize(
    "runs, gib",
    [
        ([ran(1, 9, memory=10 * GIB)], 12),
        ([ran(2, 9, memory=5 * GIB), ran(1, 9, memory=50 * GIB)], 60),
        ([ran(2, 9, memory=9 * GIB, state="out-of-memory", **{"limit": None})._replace(
            asked=job(2, memory=16 * GIB)), ran(1, 9, memory=4 * GIB)], 24),
    ],
    ids=["a fifth more", "the most of all", "more than where it was killed"],
)  # fmt: skip
def test_memory_is_never_below_what_was_needed(runs, gib):
    """Never below what the last whole run held, never at what killed one."""
    advice = memory_advice(job(99), Lineages(runs))
    assert advice is not None and advice.bytes == gib * GIB


def test_no_memory_is_advised_where_nothing_was_seen():
    """Nobody measured: no advice."""
    assert memory_advice(job(9), Lineages([ran(1, 9)])) is None


def test_memory_of_another_model_is_none():
    """More epochs hold no more; another model may."""
    runs = Lineages([ran(1, 9, "epochs=1 model=a", memory=10 * GIB)])
    assert memory_advice(job(9, "epochs=5 model=a"), runs) is not None
    assert memory_advice(job(9, "epochs=1 model=b"), runs) is None


def test_a_run_that_was_ended_for_its_memory_shows_no_time():
    """It might have run on; the run before it counts."""
    found = said(job(9), ran(1, 900), ran(2, 60, state="out-of-memory"))
    assert isinstance(found, Forecast) and found.seconds == 900


@pytest.mark.parametrize(
    "limit, seconds, state, advised",
    [
        (43200.0, [2600, 2700, 2650], "completed", 4200.0),
        (10000.0, [2600, 2700, 2650], "completed", None),
        (43200.0, [2600, 2700], "completed", None),
        (43200.0, [2600, 2700, 2650], "timeout", None),
    ],
    ids=["far beyond", "not far beyond", "two runs", "cut"],
)
def test_a_limit_is_advised_where_runs_are_far_below_it(limit, seconds, state, advised):
    """Half as much again as the longest; with few runs, or one that was cut, nothing is said."""
    steady = [ran(at, 1000, name="steady") for at in range(1, 30)]
    runs = [ran(at, each, state=state) for at, each in enumerate(seconds, start=1)]
    found = said(job(40, limit=limit), *runs, *steady)
    assert isinstance(found, Forecast)
    assert time_advice(job(40, limit=limit), found) == advised


def test_gpus_that_did_nothing_and_half_as_many_that_did_as_well():
    """Told as it was seen: how busy at most, and how long on fewer."""
    idle = [ran(at, 1000)._replace(gpu_use=2.0) for at in (1, 2)]
    idle = [run._replace(asked=run.asked._replace(work=Work((), 2, 8))) for run in idle]
    few = [ran(3, 1100)._replace(asked=job(3)._replace(work=Work((), 1, 4)))]
    wanted = job(9)._replace(work=Work((), 2, 8))
    told = gpu_advice(wanted, Lineages([*idle, *few]))
    assert told is not None and (told.idle, told.fewer) == (2.0, (4, 1100))
    busy = [run._replace(gpu_use=90.0) for run in idle]
    assert gpu_advice(wanted, Lineages(busy)) is None
