"""Records: whole or not there, believed only while nothing has changed; and what a dead verification left."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from maple_agents.ask import sites, verified_runs
from maple_agents.verify.run import workplace
from maple_agents.verify.run.workplace import PREFIX, Workplace, remove

INPUTS = verified_runs.Inputs("hash", ("--nodes=2",), "ncsa-delta", "r1", "apps", {"/etc/hosts": "h"}, "", 0)
RECORD = {"schema": 1, "id": "20260101T000000Z-1", "result": "passed", "inputs": verified_runs.as_table(INPUTS)}


@pytest.fixture
def environ(tmp_path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "MAPLE_ETC": str(tmp_path / "etc")}


@pytest.mark.parametrize("name", verified_runs.Inputs._fields)
def test_a_change_of_any_input_makes_a_record_stale(name):
    other = {"words": (), "files": {"/etc/hosts": "other"}, "revision": 2}.get(name, "other")
    assert len(verified_runs.stale(RECORD, INPUTS._replace(**{name: other}))) == 1
    assert verified_runs.stale(RECORD, INPUTS) == []


def test_other_versions_of_a_framework_make_it_stale():
    record = {**RECORD, "frameworks": {"torch": "2.13.0"}}
    assert verified_runs.stale(record, INPUTS, {"torch": "2.13.0"}) == []
    assert verified_runs.stale(record, INPUTS, {"torch": "2.14.0"}) == ["the versions of the frameworks"]


@pytest.mark.parametrize("record", [{}, {"schema": 2}, {"schema": 1, "inputs": 7}])
def test_a_record_of_another_form_is_stale(record):
    assert verified_runs.stale(record, INPUTS)


def test_a_record_comes_back_as_it_was_and_only_its_owner_reads_it(environ):
    path = verified_runs.save(RECORD, environ)
    assert path is not None and verified_runs.load_all(environ) == [RECORD]
    assert os.stat(os.path.dirname(path)).st_mode & 0o077 == 0
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


def test_a_state_folder_that_cannot_be_written_costs_only_the_record(environ, tmp_path):
    (tmp_path / "state").write_text("a file")
    assert verified_runs.save(RECORD, environ) is None
    assert verified_runs.save(RECORD, {}) is None


def test_old_records_go(environ, monkeypatch):
    monkeypatch.setattr(verified_runs, "KEPT", 3)
    for number in range(5):
        verified_runs.save({**RECORD, "id": f"2026010{number}"}, environ)
    assert [record["id"] for record in verified_runs.load_all(environ)] and len(verified_runs.load_all(environ)) == 3


def test_a_torn_record_is_no_record(environ):
    path = verified_runs.save(RECORD, environ)
    assert path is not None
    Path(path).write_text('{"schema": 1, "id": ')
    assert verified_runs.load_all(environ) == []


def template_record(site, name: str, result: str = "passed", **more: object) -> dict[str, object]:
    one = next(one for one in site.launch_templates if one.name == name)
    inputs = verified_runs.Inputs(
        "", (), site.id, site.revision, verified_runs.miniapps_digest(), {}, name, one.revision
    )
    told = {"schema": 1, "id": "x", "result": result, "miniapps": ["dry"]}
    return {**told, "inputs": {**verified_runs.as_table(inputs), **more}}


def test_a_template_is_verified_on_the_site_where_it_passed(environ):
    site = sites.load("ncsa-delta")
    verified_runs.save(template_record(site, "torchrun-over-srun"), environ)
    found = {one.name: one.verified for one in verified_runs.with_records(site, environ).launch_templates}
    assert found.pop("torchrun-over-srun") and not any(found.values())


@pytest.mark.parametrize("change", [{"site_revision": "old"}, {"revision": 99}, {"miniapps": "old"}])
def test_a_template_is_not_verified_by_a_record_of_something_else(environ, change):
    site = sites.load("ncsa-delta")
    verified_runs.save(template_record(site, "torchrun-over-srun", **change), environ)
    assert verified_runs.with_records(site, environ) == site


def test_a_template_that_failed_is_not_verified_nor_one_that_was_only_probed(environ):
    site = sites.load("ncsa-delta")
    verified_runs.save(template_record(site, "torchrun-over-srun", "failed"), environ)
    verified_runs.save({**template_record(site, "python-over-srun"), "miniapps": ["probe"]}, environ)
    assert not any(one.verified for one in verified_runs.with_records(site, environ).launch_templates)


def test_the_site_is_loaded_with_what_was_verified(environ, monkeypatch):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    site = sites.load("ncsa-delta")
    verified_runs.save(template_record(site, "torchrun-over-srun"), environ)
    assert [one.name for one in sites.load("ncsa-delta").launch_templates if one.verified] == ["torchrun-over-srun"]


def test_the_hash_of_the_mini_apps_changes_with_any_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(verified_runs, "miniapps_folder", lambda: str(tmp_path))
    (tmp_path / "dry.py").write_text("1")
    before = verified_runs.miniapps_digest()
    (tmp_path / "dry.py").write_text("2")
    assert verified_runs.miniapps_digest() != before


class Scheduler:
    """Remembers what it was told to cancel."""

    name = "slurm"

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def cancel(self, job_id: str) -> bool:
        self.cancelled.append(job_id)
        return True


def opened(environ, folder: Path, pid: int, **more: object) -> None:
    told = {
        "folder": str(folder), "scheduler": "slurm", "host": socket.gethostname(), "pid": pid, "started": "1",
        "job": "7",
    }  # fmt: skip
    own = verified_runs.own_folder(environ)
    assert own is not None
    verified_runs.write_value(os.path.join(own, "open"), "one.json", {**told, **more})


def test_what_a_killed_verification_left_is_cleared_by_the_next(environ, tmp_path):
    folder = tmp_path / (PREFIX + "dead")
    folder.mkdir()
    child = subprocess.Popen(["true"])
    child.wait()
    opened(environ, folder, child.pid)
    scheduler = Scheduler()
    assert workplace.clear_leftovers(scheduler, environ) == [str(folder)]  # type: ignore[arg-type]
    assert scheduler.cancelled == ["7"] and not folder.exists()
    assert workplace.clear_leftovers(scheduler, environ) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{"host": "elsewhere"}, {"scheduler": "pbs"}])
def test_what_may_still_live_is_left_alone(environ, tmp_path, more):
    folder = tmp_path / (PREFIX + "other")
    folder.mkdir()
    opened(environ, folder, 1, **more)
    assert workplace.clear_leftovers(Scheduler(), environ) == [] and folder.exists()  # type: ignore[arg-type]


def test_a_living_verification_is_left_alone(environ, tmp_path):
    folder = tmp_path / (PREFIX + "mine")
    folder.mkdir()
    note = workplace.Opened("token", str(folder), "slurm", environ)
    note.submitted("8")
    assert workplace.clear_leftovers(Scheduler(), environ) == [] and folder.exists()  # type: ignore[arg-type]
    note.close()
    assert verified_runs.names_in(os.path.join(verified_runs.own_folder(environ) or "", "open")) == []


def test_no_note_can_make_another_folder_go(environ, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / (PREFIX + "link")).symlink_to(precious)
    for path in (precious, tmp_path / (PREFIX + "link")):
        remove(str(path))
    assert precious.exists()


def test_the_folder_is_for_its_owner_alone_and_goes_with_everything_in_it(tmp_path):
    with contextlib.closing(Workplace([str(tmp_path)])) as place:
        place.add_entry("line-3", {"stages": [], "environment": {}})
        assert os.stat(place.path).st_mode & 0o777 == 0o700
        assert json.loads(Path(place.path, "line-3.json").read_text())["stages"] == []
        assert subprocess.run([os.path.join(place.path, "line-3.py"), "--any", "word"]).returncode == 0
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_used_gives_way_to_the_next(tmp_path):
    odd = tmp_path / "a folder; rm -rf"
    odd.mkdir()
    with contextlib.closing(Workplace([str(tmp_path / "absent"), str(odd), str(tmp_path)])) as place:
        assert os.path.dirname(place.path) == str(tmp_path)
