"""PBS's hook that gives jobs their points, in a double of its interpreter: it reads one file, and accepts every job."""

from __future__ import annotations

import json
import os
import pwd
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from maple_agents.forecast.runs import Asked, Run
from maple_daemon.base.settings import Settings
from maple_daemon.cli.priority import priority
from maple_daemon.priority import knowledge
from maple_daemon.priority.knowledge import Knowledge
from maple_daemon.priority.live import Live, Switch
from maple_daemon.priority.queue import Bounds, factor
from maple_daemon.store import open_store

from tests.doubles.pbs_hooks import HookJob, run_hook

HOOK = os.path.join(os.path.dirname(__file__), "..", "..", "..", "packaging", "pbs", "maple_points.py")
ME = pwd.getpwuid(os.getuid()).pw_name
BOUNDS = Bounds(most=1000, patience=86_400.0, reference=3600.0)


class Resources(dict[str, Any]):
    """What a job asks for: None where nothing is said."""

    def __missing__(self, name: str) -> None:
        return None


def points(path: Path, name: str = "train", user: str = "ann", select: str = "2:ncpus=8:ngpus=4") -> Any:
    """Run the hook for a job; return its points, None where it has none. Every job is accepted."""
    job = HookJob(Job_Name=name, requestor=user, Resource_List=Resources(select=select))
    heard = run_hook(HOOK, job, {"TABLE": str(path), "OWNERS": (ME,)}, 1)
    assert heard.accepted == 1
    return job.Resource_List["maple_points"]


def written(path: Path, **seconds: float) -> Path:
    """A table in which jobs of ann took so long."""
    path.write_text(json.dumps({"bound": 1000, "reference": 3600.0, "seconds": {"ann": seconds}}))
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("seconds", [0.5, 1.0, 17.0, 450.0, 3600.0, 99_999.0, 1e9])
@pytest.mark.parametrize(
    ("select", "size"),
    [("1:ncpus=1", 1), ("4:ngpus=1", 4), ("2:ncpus=8:ngpus=4", 8), ("1:ngpus=2+3:ncpus=4", 4), ("", 1)],
)
def test_a_job_begins_where_the_daemon_would_put_it(tmp_path: Path, seconds: float, select: str, size: int) -> None:
    """The hook has no library of ours, so it counts by itself: both come to the same."""
    assert points(written(tmp_path / "t", train=seconds), select=select) == factor(seconds, size, 0.0, BOUNDS)


def test_nothing_foretold_is_no_points(tmp_path: Path) -> None:
    """Of another job, or of another user's of that name."""
    path = written(tmp_path / "t", train=5.0)
    assert points(path) is not None
    assert points(path, name="other") is None and points(path, user="bob") is None


def test_without_a_table_jobs_are_as_they_were(tmp_path: Path) -> None:
    """Missing, broken, old, a link, or one that others may write."""
    assert points(tmp_path / "none") is None
    broken = tmp_path / "broken"
    broken.write_text("{")
    assert points(broken) is None
    old = written(tmp_path / "old", train=5.0)
    os.utime(old, (time.time() - 100_000,) * 2)
    assert points(old) is None
    others = written(tmp_path / "others", train=5.0)
    others.chmod(0o666)
    assert points(others) is None
    (tmp_path / "link").symlink_to(written(tmp_path / "real", train=5.0))
    assert points(tmp_path / "link") is None


def test_the_table_holds_what_the_store_knows(tmp_path: Path) -> None:
    """For its own eyes, and gone when it is switched off."""
    now = time.time()
    store = open_store(str(tmp_path / "memory.db"))
    ended = Run("1.pbs", Asked(ME, "train", "/w", now - 90), now - 60, 20.0, "completed")
    older = Run("0.pbs", Asked(ME, "train", "/w", now - 990), now - 900, 70.0, "completed")
    failed = Run("2.pbs", Asked(ME, "train", "/w", now - 50), now - 40, 3.0, "failed")
    store.keep_runs((os.getuid(), run) for run in (ended, older, failed))
    path = tmp_path / "forecasts.json"
    assert knowledge.write(path, Knowledge(store), BOUNDS) == 1
    store.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert points(path, user=ME) == factor(20.0, 8, 0.0, BOUNDS)
    assert knowledge.remove(path) and not knowledge.remove(path)
    assert points(path, user=ME) is None


def test_the_table_of_one_that_was_killed_goes_too(tmp_path: Path) -> None:
    """Switched off while the process was down: the next one has not written it, and takes it away all the same."""
    path, switch = written(tmp_path / "left", train=5.0), tmp_path / "priority.json"
    switch.write_text(Switch(on=False, every=0.2, table=str(path)).model_dump_json())
    assert not Live(Settings(store=str(tmp_path / "memory.db")), switch).once().on
    assert not path.exists()


def test_switched_off_the_table_goes_at_once(tmp_path: Path) -> None:
    """Whether or not the process runs."""
    path, config = tmp_path / "forecasts.json", str(tmp_path / "daemon.toml")
    Path(config).touch()
    runner = CliRunner()
    assert runner.invoke(priority, ["on", "--config", config, "--pbs-table", str(path)]).exit_code == 0
    written(path, train=5.0)
    assert runner.invoke(priority, ["off", "--config", config]).exit_code == 0 and not path.exists()
