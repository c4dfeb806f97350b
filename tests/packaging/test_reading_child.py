"""front.conf names the process that reads a user's files only where nobody else can change what it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from maple_daemon.install import reading_child, settings
from maple_daemon.install.interpreter import Interpreter, inspect
from maple_daemon.install.layout import Release

SYSTEM = Path("/usr/bin/python3")


@pytest.fixture
def python() -> Interpreter:
    """One that only root can change, and that is new enough."""
    found = inspect(str(SYSTEM))
    if not isinstance(found, Interpreter) or found.version < reading_child.OLDEST:
        pytest.skip("the system's Python is older")
    return found


def test_an_installation_with_a_daemon_names_the_child(installed, python):
    """Each of its words is there, and the program starts with nothing but them."""
    assert installed.install("--socket", "/run/maple/daemon.sock").exit_code == 0
    told = settings.values(Release(installed.release))
    assert os.access(told["child_python"], os.X_OK)
    words = [told["child_python"], "-BIS", told["child"], str(Release(installed.release).config), "ab"]
    done = subprocess.run(words, env={}, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")  # nobody listens there
    program = "import sys; sys.path[:0] = sys.argv[1].split(':'); import maple_agents.admission.telling, yaml"
    words = [told["child_python"], "-BIS", "-c", program, told["child_path"]]
    assert subprocess.run(words, env={}, timeout=30, check=False).returncode == 0


def test_without_a_daemon_there_is_none(installed):
    """Nobody would ask it."""
    assert not {"child", "child_python", "child_path"}.intersection(settings.values(Release(installed.release)))


@pytest.mark.parametrize("fault", ["another may write", "a colon", "gone"])
def test_what_another_may_change_is_not_named(tmp_path, monkeypatch, python, fault):
    """It would run in every user's name."""
    folder = tmp_path / ("a:b" if fault == "a colon" else "packages")
    package = folder / "maple_agents" / "admission"
    package.mkdir(parents=True)
    (package / "child.py").write_text("")
    (folder / "maple_agents" / "__init__.py").write_text("")
    tmp_path.parent.chmod(0o755)
    monkeypatch.setattr(reading_child, "_folder", lambda name: str(folder))
    monkeypatch.setattr(reading_child, "_is_open", lambda paths: True)  # the temporary folder is not
    expected = {"child": str(package / "child.py"), "child_python": str(python.path), "child_path": str(folder)}
    assert reading_child.keys(python) == ({} if fault == "a colon" else expected)
    if fault == "another may write":
        folder.chmod(0o777)
    elif fault == "gone":
        (package / "child.py").unlink()
    assert reading_child.keys(python) == {}


@pytest.mark.skipif(os.getuid() != 0, reason="for everybody only root installs")
def test_what_not_everybody_may_read_is_not_named(tmp_path):
    """It would fail for all but root."""
    tmp_path.chmod(0o700)
    (tmp_path / "x").mkdir()
    assert not reading_child._is_ours(str(tmp_path / "x"))
    assert reading_child._is_ours("/usr/lib")


def test_an_interpreter_that_is_too_old_is_not_taken(monkeypatch):
    """What reads configs needs 3.11; the helper does not."""
    monkeypatch.setattr(sys, "executable", "/nonexistent/python3")
    monkeypatch.setattr(reading_child, "inspect", lambda path: Interpreter(Path(path), (3, 9, 2)))
    assert reading_child.keys(Interpreter(SYSTEM, (3, 9, 2))) == {}
