"""Rounds of the live path on a queue made here: points, what is written down, and how all of it is taken back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from maple_agents.ask.schedulers.protocol import SchedulerError
from maple_agents.forecast.needs import Forecast
from maple_agents.forecast.runs import Asked, Run
from maple_daemon.priority.knowledge import Knowledge
from maple_daemon.priority.live import Rounds, Switch, points_written, read, stand
from maple_daemon.priority.queue import Bounds, Waiting
from maple_daemon.store.protocol import Store

NOW = 1_800_000_000.0
BOUNDS = Bounds(most=1000, patience=3600.0, reference=60.0)


class Queue:
    """What waits, and the points that each job has."""

    def __init__(self, *jobs: Waiting) -> None:
        self.jobs = list(jobs)
        self.points: dict[str, int] = {}
        self.down = False

    def waiting(self) -> list[Waiting]:
        """As it was put here."""
        if self.down:
            raise SchedulerError("squeue", "Unable to contact slurm controller", "try again later")
        return self.jobs

    def put(self, points: Mapping[str, int]) -> list[str]:
        """Points of jobs that wait; the others are gone."""
        there = {job.job for job in self.jobs}
        self.points.update({job: value for job, value in points.items() if job in there})
        return [job for job in points if job not in there]

    def shown(self, job: str) -> str:
        """Nothing."""
        return ""

    def hindered(self) -> str:
        """Nothing."""
        return ""


def waits(job: str, name: str, uid: int = 1000, since: float = 10.0, size: int = 1) -> Waiting:
    """A job in the queue."""
    return Waiting(job, uid, name, "/w", NOW - since, 3600.0, size)


def ran(job: str, name: str, seconds: float, uid: int = 1000, ago: float = 1000.0, state: str = "completed") -> Run:
    """A run that had ended."""
    ended = NOW - ago
    return Run(job, Asked(str(uid), name, "/w", ended - seconds - 5), ended, seconds, state)


@pytest.fixture
def store(memory: Store) -> Store:
    """A store with the runs of two users."""
    ended = (ran("1", "short", 4.0), ran("2", "long", 4000.0), ran("3", "secret", 4.0, uid=1001),
             ran("4", "broken", 2.0, state="failed"))  # fmt: skip
    memory.keep_runs((int(run.asked.user), run) for run in ended)
    return memory


def test_what_is_foretold_to_be_short_comes_first(store: Store, tmp_path: Path) -> None:
    """And what is not known stands between."""
    queue = Queue(waits("10", "long"), waits("11", "new"), waits("12", "short"))
    done = Rounds(queue, tmp_path / "written.json").once(Knowledge(store), BOUNDS, NOW)
    assert queue.points["12"] > queue.points.get("11", 0) > queue.points["10"]
    assert done == (3, 2, 2)


def test_a_users_runs_are_no_ground_for_anothers_job(store: Store) -> None:
    """Nor is a run that failed one for anybody's."""
    knowledge = Knowledge(store)
    foretold = [stand(job, knowledge, BOUNDS, NOW).foretold for job in (waits("10", "secret"), waits("11", "broken"))]
    assert not any(isinstance(each, Forecast) for each in foretold)
    own = stand(waits("12", "secret", uid=1001), knowledge, BOUNDS, NOW).foretold
    assert isinstance(own, Forecast) and own.seconds == 4.0


def test_an_end_is_learnt_once_it_is_told(store: Store, tmp_path: Path) -> None:
    """The next run of a job of which nothing was known has its forecast."""
    knowledge, queue = Knowledge(store), Queue(waits("11", "new"))
    rounds = Rounds(queue, tmp_path / "written.json")
    assert rounds.once(knowledge, BOUNDS, NOW).foretold == 0
    store.keep_runs([(1000, ran("11", "new", 8.0, ago=1.0))])
    queue.jobs = [waits("20", "new", since=0.5)]
    assert rounds.once(knowledge, BOUNDS, NOW).foretold == 1 and queue.points["20"] > 0


def test_only_changes_are_asked_for(store: Store, tmp_path: Path) -> None:
    """A second look at the same queue changes nothing."""
    queue, knowledge = Queue(waits("10", "long"), waits("12", "short")), Knowledge(store)
    rounds = Rounds(queue, tmp_path / "written.json")
    rounds.once(knowledge, BOUNDS, NOW)
    assert rounds.once(knowledge, BOUNDS, NOW + 1).changed == 0


def test_what_a_killed_one_left_is_taken_back(store: Store, tmp_path: Path) -> None:
    """It was written down before it was given; jobs that wait no more are not asked for."""
    queue, written = Queue(waits("10", "long"), waits("12", "short")), tmp_path / "written.json"
    Rounds(queue, written).once(Knowledge(store), BOUNDS, NOW)
    assert points_written(written) == queue.points
    queue.jobs = [waits("12", "short")]
    assert Rounds(queue, written).reset() == 1
    assert queue.points["12"] == 0 and points_written(written) == {}


def test_nothing_is_forgotten_when_the_scheduler_is_down(store: Store, tmp_path: Path) -> None:
    """What has points still has them in the file."""
    queue, written = Queue(waits("12", "short")), tmp_path / "written.json"
    rounds = Rounds(queue, written)
    rounds.once(Knowledge(store), BOUNDS, NOW)
    queue.down = True
    with pytest.raises(SchedulerError):
        rounds.reset()
    assert points_written(written) == {"12": queue.points["12"]}


@pytest.mark.parametrize("told", ["", "[]", '{"12": "x", "../..": 4}', "nonsense", '{"12": null}'])
def test_a_broken_file_is_nothing(tmp_path: Path, told: str) -> None:
    """It names no job."""
    path = tmp_path / "written.json"
    path.write_text(told)
    assert points_written(path) == {}


def test_the_switch_is_off_where_there_is_none(tmp_path: Path) -> None:
    """And a mistake in it is one line."""
    path = tmp_path / "priority.json"
    assert read(path) == Switch() and not Switch().on
    path.write_text(json.dumps({"on": True, "bound": -4}))
    with pytest.raises(ValueError, match=r"priority\.json: bound: .*greater"):
        read(path)
