"""What users get besides the front: `maple` and `maple-fix`, their pages, completions; and what is missing is said."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomllib
from maple_daemon.install import place as user_commands
from maple_daemon.install.release import sources

LACKING = """
import importlib.abc, sys
class Lacking(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError("No module named %r" % name, name=name)
sys.meta_path.insert(0, Lacking())
sys.argv[0] = {command!r}
"""
STARTS = {
    "maple-daemon": "from maple_daemon.cli.daemon import main; main()",
    "maple": "from maple_agents.cli.main import main; main()",
}


def without(names: tuple[str, ...], command: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment that lacks libraries."""
    program = LACKING.format(names=names, command=command) + STARTS[command]
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "names, command, words",
    [
        (("prometheus_client",), "maple-daemon", ("--foreground", "--socket", "/tmp/maple-none.sock")),
        (("structlog",), "maple-daemon", ("--foreground",)),
        (("sqlite_utils",), "maple", ("admin", "purge", "--config", os.devnull)),
    ],
)
def test_a_library_that_is_missing_is_one_line_with_what_installs_it(names, command, words):
    done = without(names, command, *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines() == [f"{command}: {names[0]} is not installed; pip install 'maple-hpc[daemon]'"]


def test_a_service_is_not_installed_where_it_could_not_start(cluster, monkeypatch):
    """The units would name a program that dies at once."""
    monkeypatch.setattr("maple_daemon.install.service.service_files.lacking", lambda extra: ["watchdog"])
    done = cluster.install("--daemon", "--service-uid", "4712", "--units", str(cluster.root / "systemd"))
    assert done.exit_code == 2 and "watchdog" in done.output and "pip install 'maple-hpc[daemon]'" in done.output
    assert not cluster.prefix.exists()


@pytest.fixture
def fit(monkeypatch):
    """The environment of these tests is one for all users."""
    monkeypatch.setattr(
        user_commands, "unfit_program", lambda program: "" if os.access(program, os.X_OK) else "is not there"
    )


def test_maple_is_on_the_path_of_whoever_finds_the_front(cluster, fit):
    """Its pages and completions are where `man` and bash look beside a command: ../share."""
    assert cluster.install().exit_code == 0
    environment = {"PATH": f"{cluster.path}", "HOME": str(cluster.root)}
    for name in user_commands.COMMANDS:
        done = subprocess.run([name, "--help"], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "Usage:" in done.stdout
    share = cluster.bin.parent / "share"
    assert (share / "man/man1/maple-check.1").is_file() and (share / "man/man7/maple.7").is_file()
    assert "_MAPLE_FIX_COMPLETE" in (share / "bash-completion/completions/maple-fix").read_text()
    found = subprocess.run(["man", "-w", "maple-check"], env=environment, capture_output=True, text=True, check=False)
    assert found.returncode != 0 or found.stdout.startswith(str(share))


def test_uninstall_takes_them_away_and_leaves_what_is_not_ours(cluster, fit):
    """A `maple` of somebody else's stays, and is named at once."""
    cluster.bin.mkdir(parents=True)
    (cluster.bin / "maple").write_text("#!/bin/sh\n")
    done = cluster.install()
    assert done.exit_code == 0 and "maple is not placed" in done.output and "not ours" in done.output
    assert (cluster.bin / "maple-fix").is_symlink()
    assert cluster.admin("uninstall").exit_code == 0
    assert os.listdir(cluster.bin) == ["maple"] and not os.path.lexists(cluster.prefix / "share")


def test_a_prefix_with_a_share_of_its_own_keeps_it(cluster, fit):
    """As /usr/local has one."""
    (cluster.prefix / "share").mkdir(parents=True)
    assert cluster.install().exit_code == 0
    assert cluster.admin("uninstall").exit_code == 0
    assert (cluster.prefix / "share").is_dir()


def test_a_command_that_others_could_change_is_not_placed(cluster, monkeypatch):
    """It would run in every user's name."""
    monkeypatch.setattr(user_commands, "who_else_writes", lambda path: "is writable by everybody")
    done = cluster.install()
    assert done.exit_code == 0 and "maple and maple-fix are not placed for all users" in done.output
    assert os.listdir(cluster.bin) == ["sbatch"]


def test_what_lies_in_a_home_is_named(cluster, monkeypatch):
    """The environment may lie elsewhere, and only its Python in a home."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(user_commands, "hidden", lambda path: "/root/python/bin/python3.11")
    assert "needs /root/python/bin/python3.11, in a home" in " ".join(cluster.install().output.split())


def test_doctor_sees_a_command_that_was_replaced(cluster, fit):
    """And says what to do."""
    cluster.install()
    (cluster.bin / "maple").unlink()
    (cluster.bin / "maple").symlink_to("/bin/true")
    said = cluster.admin("doctor").output
    assert "is not what Maple installed" in said
    assert Path(os.readlink(cluster.bin / "maple-fix")).name == "maple-fix"


def test_the_wheel_holds_what_an_installation_looks_for():
    """Each folder is there, and `share` of an environment is laid out as the installation expects it."""
    root = Path(__file__).parents[2]
    told = tomllib.loads((root / "pyproject.toml").read_text())
    data = told["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert all((root / folder).is_dir() for folder in data)
    for folder, place in sources.DOCUMENTS.items():
        assert data[f"packaging/{folder}"] == f"share/{place}"
    assert {data[f"packaging/{hooks}"] for hooks in ("slurm", "pbs")} == {"share/maple/slurm", "share/maple/pbs"}


def test_a_wheel_built_beside_a_compiler_holds_a_front_that_runs(tmp_path):
    """It is one of this platform then; unpacked anywhere, the front tells that there is no sbatch to become."""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=root,
                   check=True, capture_output=True)  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    assert not wheel.name.endswith("-any.whl")
    with zipfile.ZipFile(wheel) as parts:
        (name,) = (one for one in parts.namelist() if one.endswith("share/maple/front/front"))
        front = Path(parts.extract(name, tmp_path))
        assert "maple_agents/request/tagger/weights.bin" in parts.namelist()
        pages = {name.partition("share/doc/maple/")[2] for name in parts.namelist()} - {""}
    assert pages == {str(page.relative_to(root / "docs")) for page in (root / "docs").rglob("*") if page.is_file()}
    front.chmod(0o755)
    done = subprocess.run([front], env={"PATH": "/proc/nowhere"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (127, b"maple: cannot run the real sbatch: No such file or directory\n")
