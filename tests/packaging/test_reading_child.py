"""front.conf names the process that reads a user's files only where nobody else can change what it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from maple_daemon.install import settings
from maple_daemon.install.release import interpreter, releases
from maple_daemon.install.release.interpreter import Interpreter, inspect
from maple_daemon.install.release.layout import Release

SYSTEM = Path("/usr/bin/python3")


@pytest.fixture
def python() -> Interpreter:
    """One that only root can change, and that is new enough."""
    found = inspect(str(SYSTEM))
    if not isinstance(found, Interpreter) or found.version < interpreter.OLDEST_READER:
        pytest.skip("the system's Python is older")
    return found


@pytest.fixture
def served(cluster, python):
    """An installation with a service, and what its front.conf says."""
    assert cluster.install("--socket", "/run/maple/daemon.sock").exit_code == 0
    return Release(cluster.release), settings.values(Release(cluster.release))


def test_an_installation_with_a_daemon_names_the_child(served):
    """Each of its words is there, and the program starts with nothing but them."""
    release, told = served
    assert os.access(told["child_python"], os.X_OK)
    words = [told["child_python"], "-BIS", told["child"], str(release.config), "ab"]
    done = subprocess.run(words, env={}, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")  # nobody listens there


def test_it_runs_the_release_alone(served):
    """Neither a checkout nor an environment's packages: every module of ours and of others' is of the release."""
    release, told = served
    assert Path(told["child"]).is_relative_to(release.root) and "child_path" not in told
    program = (
        "import runpy, sys; sys.argv[1:] = ['/proc/nowhere', 'ab'];"
        "made = runpy.run_path(%r); sys.path[:0] = [made['_FOLDER']];"
        "import maple_agents.admission.messages, maple_submit_filter.host.configuration, yaml;"
        "print(*(one.__file__ for one in sys.modules.values() if getattr(one, '__file__', None)), sep='\\n')"
    ) % told["child"]
    done = subprocess.run([told["child_python"], "-BIS", "-c", program], env={}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = [line for line in done.stdout.splitlines() if "maple" in line or "yaml" in line]
    assert len(ours) > 20 and all(line.startswith(str(release.reader)) for line in ours)
    assert not [line for line in done.stdout.splitlines() if "site-packages" in line or "dist-packages" in line]


def test_its_files_are_in_the_manifest(served):
    """So the doctor finds one that was changed, or put there."""
    release, told = served
    assert releases.damage(release) == []
    (release.reader / "yaml" / "__init__.py").write_text("import os\n")
    (release.reader / "sitecustomize.py").write_text("import os\n")
    told = releases.damage(release)
    assert [line.split(" ", 1) for line in told] == [
        ["reader/sitecustomize.py", "was not installed by Maple"], ["reader/yaml/__init__.py", "was changed"],
    ]  # fmt: skip


def _doctor(cluster):
    result = json.loads(cluster.admin("doctor", "--json").output)
    return {(one["name"], one["state"]) for one in result if one["name"] in ("reader", "permissions")}


def test_the_doctor_looks_at_it(cluster, served):
    """Whole; of another place; its folder everybody's to write."""
    release, told = served
    assert ("reader", "ok") in _doctor(cluster)
    text = release.config.read_text()
    elsewhere = interpreter.packages()[1] / "admission" / "child.py"
    release.config.write_text(text.replace(told["child"], str(elsewhere)))
    assert ("reader", "wrong") in _doctor(cluster)
    release.config.write_text(text + "child_path=/work/checkout\n")
    assert ("reader", "wrong") in _doctor(cluster)
    release.config.write_text(text)
    release.child.parent.chmod(0o777)
    assert {("reader", "wrong"), ("permissions", "wrong")} <= _doctor(cluster)


def test_without_a_daemon_there_is_none(installed):
    """Nobody would ask it."""
    release = Release(installed.release)
    assert not {"child", "child_python", "child_path"}.intersection(settings.values(release))
    assert not release.reader.exists()


def test_an_interpreter_that_another_may_change_is_not_taken(tmp_path, monkeypatch, python):
    """It would run in every user's name; the next one is, or nothing is read."""
    mine = tmp_path / "python3"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o777)
    monkeypatch.setattr(sys, "executable", str(python.path))
    monkeypatch.setattr(interpreter, "inspect", lambda path: Interpreter(Path(path), (3, 12, 0)))
    monkeypatch.setattr(interpreter, "_is_open", lambda paths: True)  # the folder of a test is root's alone
    assert interpreter.python_for(Interpreter(mine, (3, 12, 0))) == Interpreter(python.path, (3, 12, 0))
    monkeypatch.setattr(sys, "executable", str(mine))
    assert interpreter.python_for(Interpreter(mine, (3, 12, 0))) is None


@pytest.mark.skipif(os.getuid() != 0, reason="for everybody only root installs")
def test_what_not_everybody_may_read_is_not_taken(tmp_path):
    """It would fail for all but root."""
    tmp_path.chmod(0o700)
    (tmp_path / "x").mkdir()
    assert not interpreter._is_open([tmp_path / "x", tmp_path])
    assert interpreter._is_open([Path("/usr/lib"), Path("/usr")])


def test_an_interpreter_that_is_too_old_is_not_taken(monkeypatch):
    """What reads configs needs 3.11; the helper does not."""
    monkeypatch.setattr(sys, "executable", "/proc/nowhere/python3")
    monkeypatch.setattr(interpreter, "inspect", lambda path: Interpreter(Path(path), (3, 9, 2)))
    assert interpreter.python_for(Interpreter(SYSTEM, (3, 9, 2))) is None
