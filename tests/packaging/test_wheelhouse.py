"""The wheel, whole: from a wheelhouse, without a network and a checkout, into fresh environments of each Python.

An interpreter is one on PATH, or beside the one that runs this; where there is none of a version, that is said. What
takes minutes is run by `make try-packages` (`MAPLE_TEST_WHOLE`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from maple_submit_filter import __version__

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")
JOB = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --partition=gpuA100x4
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HOST:29500 train.py
"""
SBATCH = '#!/bin/sh\necho "Submitted batch job 7"\ncat "$1"\n'
LATER = "0.9.9"
STORE = """\
import sys
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Counted
store = open_store(sys.argv[1])
if sys.argv[2:]:
    store.count([Counted("2026-11-27", "MPL301", "gpu", "repaired", "completed", 7)])
assert store.check() == []
print(store.counted()[0].jobs)
"""
whole = pytest.mark.skipif(not os.environ.get("MAPLE_TEST_WHOLE"), reason="make try-packages runs it: minutes")
pytestmark = pytest.mark.timeout(900)


def interpreter(version: str) -> str:
    """A Python of that version that starts, "" for none."""
    beside = sorted(Path(sys.base_prefix).parent.glob("%s*/bin/python3" % version))
    for path in (shutil.which("python" + version), *map(str, beside)):
        asked = [path or "false", "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        if path and subprocess.run(asked, capture_output=True, text=True, check=False).stdout == version + "\n":
            return path
    return ""


def ran(words: Sequence[object], **more: object) -> str:
    """What a command prints; it has to succeed."""
    argv = [str(word) for word in words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, "%s\n%s%s" % (" ".join(argv), done.stdout, done.stderr)
    return str(done.stdout)


PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel, built beside a compiler."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    ran([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT])
    (made,) = folder.glob("maple_hpc-*.whl")
    return made


@pytest.fixture(scope="module")
def wheelhouse(wheel: Path) -> Path:
    """The wheel, and for each Python here what it needs, by the hashes of daemon.lock."""
    folder = wheel.parent
    ran([ROOT / "packaging/setup/wheelhouse.sh", folder, *filter(interpreter, PYTHONS)])
    return folder


def test_the_wheel_holds_all_that_it_needs(wheel: Path) -> None:
    """Each site file and template of the tree, units, hooks and pages, and the front, compiled."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name.partition(".data/data/share/")[2] for name in archive.namelist()}
    tracked = ran(["git", "ls-files", "templates", "site_configs"], cwd=ROOT).split()
    assert {"maple/" + path for path in tracked} <= held
    assert {
        "maple/front/front",
        "maple/systemd/maple-daemon.service",
        "maple/slurm/job_ended",
        "maple/ondemand/maple/bin/python",
    } <= held
    assert {"man/man1/maple-check.1", "bash-completion/completions/maple", "doc/maple/administration.md"} <= held


@whole
@pytest.mark.parametrize("version", PYTHONS)
def test_it_is_installed_without_a_network_and_mends_a_job(version: str, wheelhouse: Path, tmp_path: Path) -> None:
    """Into an environment elsewhere, then in front of sbatch, with no compiler on PATH; and away again."""
    python = interpreter(version)
    if not python:
        pytest.skip("no Python %s on this machine, on PATH or beside %s" % (version, sys.base_prefix))
    venv, real, fronts = tmp_path / "venv", tmp_path / "real", tmp_path / "front"
    alone = ["unshare", "--net", "--map-root-user", "env", "-i", "HOME=%s" % tmp_path, "PATH=/bin"]
    ran([python, "-m", "venv", venv])
    options = ["--quiet", "--no-index", "--find-links", wheelhouse]
    ran([*alone, venv / "bin/pip", "install", *options, "maple-hpc[daemon,window]"], cwd=tmp_path)
    for folder in (real, fronts, tmp_path / "none"):
        folder.mkdir()
    (real / "sbatch").write_text(SBATCH)
    (real / "sbatch").chmod(0o755)
    (tmp_path / "job.sh").write_text(JOB)
    (tmp_path / "bin").mkdir()
    for name in ("sh", "cat", "env"):  # and no compiler
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    path = "PATH=%s:%s:%s" % (fronts, real, tmp_path / "bin")
    maple = [*alone, path, venv / "bin/maple"]
    listed = ran([*maple, "site", "list"], cwd=tmp_path)
    assert len(listed.splitlines()) >= len(list((ROOT / "site_configs").glob("*-*.toml")))
    assert "zero3" in ran([*maple, "templates", "list"], cwd=tmp_path)
    where = ["--prefix", tmp_path / "opt", "--bin", fronts, "--site", "ncsa-delta", "--mode", "repair"]
    ran([*maple, "admin", "install", *where], cwd=tmp_path)
    with open(tmp_path / "opt/current/etc/front.conf", "a") as file:
        file.write("helper_ms=20000\n")  # a busy machine is no failure of the wheel's
    said = ran([*alone, path, fronts / "sbatch", "job.sh"], cwd=tmp_path)
    assert said.startswith("Submitted batch job 7\n") and "--ntasks-per-node=1" in said
    ran([*maple, "admin", "uninstall", "--prefix", tmp_path / "opt"], cwd=tmp_path)
    assert os.listdir(fronts) == []


def later(wheel: Path, folder: Path) -> Path:
    """The wheel by a later version."""
    made = folder / wheel.name.replace(__version__, LATER)
    with zipfile.ZipFile(wheel) as was, zipfile.ZipFile(made, "w") as now:
        for entry in was.infolist():
            data = was.read(entry)
            if entry.filename.endswith(("maple_submit_filter/__init__.py", "/METADATA", "/RECORD")):
                data = data.replace(__version__.encode(), LATER.encode())
            entry.filename = entry.filename.replace("maple_hpc-" + __version__, "maple_hpc-" + LATER)
            now.writestr(entry, data)
    return made


@whole
def test_an_upgrade_keeps_settings_and_store_and_can_be_taken_back(
    wheelhouse: Path, wheel: Path, tmp_path: Path
) -> None:
    """Each step one command: pip, install, rollback."""
    venv, opt, fronts, store = (tmp_path / name for name in ("venv", "opt", "front", "maple.db"))
    fronts.mkdir()
    ran([sys.executable, "-m", "venv", venv])
    pip = [venv / "bin/pip", "install", "--quiet", "--no-index", "--find-links", wheelhouse]
    install = [venv / "bin/maple", "admin", "install", "--prefix", opt, "--bin", fronts, "--site", "ncsa-delta"]
    ran([*pip, "maple-hpc[daemon]"])
    ran([*install, "--mode", "repair"])
    ran([venv / "bin/maple", "admin", "mode", "warn", "--prefix", opt])
    assert ran([venv / "bin/python", "-c", STORE, store, "new"]) == "7\n"
    ran([*pip, "--no-deps", later(wheel, tmp_path)])
    ran(install)
    assert LATER in ran([venv / "bin/maple", "--version"]) and LATER in os.readlink(opt / "current")
    assert "warn" in ran([venv / "bin/maple", "admin", "mode", "--prefix", opt])
    assert ran([venv / "bin/python", "-c", STORE, store]) == "7\n"
    ran([venv / "bin/maple", "admin", "rollback", "--prefix", opt])
    ran([*pip, "--no-deps", wheel])
    assert LATER not in os.readlink(opt / "current") + ran([venv / "bin/maple", "--version"])
    assert "warn" in ran([venv / "bin/maple", "admin", "mode", "--prefix", opt])
    assert ran([venv / "bin/python", "-c", STORE, store]) == "7\n"
