"""The live path on a real Slurm: points that sprio shows, an order that follows them, and a queue that moves on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from maple_daemon.cli.admin import admin

from tests.daemon.priority.compressed import Kind, PriorityLab, ordering, remember, submit
from tests.json_shapes import fits
from tests.lab.client import eventually, until
from tests.lab.shape import GPU4

SHORT, LONG = Kind("short", 2.0, 1), Kind("long", 400.0, 1)


@pytest.fixture(scope="module")
def priority_lab() -> Iterator[PriorityLab]:
    """A lab with multifactor priorities."""
    with PriorityLab(GPU4) as lab:
        yield lab


@pytest.fixture
def full(priority_lab: PriorityLab, tmp_path: Path) -> Iterator[tuple[PriorityLab, Path, list[int]]]:
    """A full cluster, where a long and a short job wait that were run before, and one of which nothing is known."""
    remember(str(tmp_path / "memory.db"), (SHORT, LONG), str(tmp_path), True, 1)
    blocker = priority_lab.sbatch("--nodes=4", "--exclusive", "--output", "/dev/null", "--wrap", "sleep 600").id
    assert blocker is not None
    until(lambda: priority_lab.show(blocker).get("JobState") == "RUNNING", 30, "the cluster is not full")
    ids = submit(priority_lab, tmp_path, ((LONG, 1.0), (Kind("new", 1.0, 1), 1.0), (SHORT, 1.0)))
    yield priority_lab, tmp_path, ids
    priority_lab.quiet()


def site_factors(lab: PriorityLab) -> dict[int, int]:
    """What sprio shows of jobs that wait."""
    rows = (line.split() for line in lab.run(["sprio", "-h", "-o", "%i %S"]).stdout.splitlines())
    return {int(job): int(points) for job, points in rows}


def maple(lab: PriorityLab, *words: str) -> str:
    """Run `maple admin priority` on the lab."""
    done = CliRunner().invoke(admin, ["priority", *words], env=lab.environment())
    assert done.exit_code == 0, done.output
    return done.output


def test_points_are_seen_explained_and_taken_back(full: tuple[PriorityLab, Path, list[int]]) -> None:
    """The short one before the unknown, and that before the long; `off` leaves nothing behind, and says how many."""
    lab, folder, (long, new, short) = full
    with ordering(lab, folder):
        assert eventually(lambda: site_factors(lab)[short] > site_factors(lab)[new] >= 0 > site_factors(lab)[long])
        settings = str(folder / "daemon.toml")
        told = maple(lab, "explain", str(short), "--config", settings)
        assert "foretold   0:00:0" in told and "runs by folder" in told and "site " in told
        fits("priority", json.loads(maple(lab, "explain", str(short), "--json", "--config", settings)))
        fits("priority", json.loads(maple(lab, "explain", str(new), "--json", "--config", settings)))
        assert "nothing: no run of new is known" in maple(lab, "explain", str(new), "--config", settings)
        as_json = json.loads(maple(lab, "status", "--json", "--config", settings))
        fits("priority", as_json)
        assert as_json["on"] and as_json["jobs"] >= 2 and as_json["hindered"] == ""
        assert "points taken back" in maple(lab, "off", "--config", settings)
        assert eventually(lambda: set(site_factors(lab).values()) == {0})
        time.sleep(1.0)
        assert set(site_factors(lab).values()) == {0}


def test_jobs_start_in_the_order_of_their_points(full: tuple[PriorityLab, Path, list[int]]) -> None:
    """With one GPU left for them, they begin one after the other: the short one first, though it came last."""
    lab, folder, (long, new, short) = full
    with ordering(lab, folder):
        assert eventually(lambda: site_factors(lab)[long] < 0 < site_factors(lab)[short])
        order = sorted((long, new, short), key=lambda job: -int(lab.show(job)["Priority"]))
        assert order == [short, new, long]


def test_one_that_is_killed_leaves_a_queue_that_moves_on(full: tuple[PriorityLab, Path, list[int]]) -> None:
    """Its points stay within the bound until the next one, or `reset`, takes them back; every job runs."""
    lab, folder, ids = full
    with ordering(lab, folder) as process:
        assert eventually(lambda: site_factors(lab)[ids[0]] < 0)
        os.kill(process.pid, 9)
        process.wait(10)
        assert max(map(abs, site_factors(lab).values())) <= 5000
    assert "from " in maple(lab, "reset", "--config", str(folder / "daemon.toml"))
    assert set(site_factors(lab).values()) == {0}
    lab.run(["scancel", "--name", "wrap", "--state", "RUNNING"])
    assert [lab.wait(job, 60).state for job in ids] == ["COMPLETED"] * 3


def test_a_store_that_is_lost_costs_only_the_points(full: tuple[PriorityLab, Path, list[int]]) -> None:
    """The next job that comes is asked about in vain; then nobody is put forward or back, and the process goes on."""
    lab, folder, ids = full
    with ordering(lab, folder) as process:
        assert eventually(lambda: site_factors(lab)[ids[0]] < 0)
        os.unlink(folder / "memory.db")
        submit(lab, folder, ((SHORT, 1.0),))
        assert eventually(lambda: set(site_factors(lab).values()) == {0})
        assert process.poll() is None
