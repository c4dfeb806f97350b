"""A cluster in a folder: a double of sbatch, a prefix, a folder in front of it on PATH, and `maple admin`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import maple_submit_filter
import pytest
from click.testing import CliRunner, Result
from maple_daemon.cli.admin import admin
from maple_daemon.install.release import build, interpreter, layout, sources

SBATCH = """#!/bin/sh
test "$1" = --version && exec echo slurm 24.11
echo "Submitted batch job 7"
echo "$@" > {log}
"""


class Cluster(NamedTuple):
    """*root* holds everything; `admin` runs `maple admin` for this cluster's prefix."""

    root: Path
    monkeypatch: pytest.MonkeyPatch

    @property
    def prefix(self) -> Path:
        return self.root / "opt" / "maple"

    @property
    def bin(self) -> Path:
        return self.prefix / "bin"

    @property
    def real(self) -> Path:
        return self.root / "slurm" / "bin" / "sbatch"

    @property
    def path(self) -> str:
        return f"{self.bin}:{self.real.parent}:/usr/bin:/bin"

    @property
    def release(self) -> Path:
        return (self.prefix / "current").resolve()

    def admin(self, command: str, *words: str) -> Result:
        return CliRunner().invoke(admin, [command, "--prefix", str(self.prefix), *words])

    def install(self, *words: str, version: str = "0.1.0", site: str = "ncsa-delta") -> Result:
        self.monkeypatch.setattr(maple_submit_filter, "__version__", version)
        return self.admin("install", "--bin", str(self.bin), "--site", site, *words)

    def sbatch(self, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
        """Run sbatch as a shell would: the first on PATH that can be started."""
        environment = {"PATH": path or self.path, "HOME": str(self.root), "XDG_STATE_HOME": str(self.root / "state")}
        return subprocess.run(
            ["/bin/sh", "-c", 'sbatch "$@"', "sh", *words], env=environment, cwd=self.root, capture_output=True,
            text=True, stdin=subprocess.DEVNULL, timeout=30, check=False,
        )  # fmt: skip

    def listing(self) -> dict[str, tuple[str, int, bytes]]:
        """Return everything below the root: kind or target, mode, bytes."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            if path.is_symlink():
                found[str(path)] = (os.readlink(path), 0, b"")
            elif path.is_dir():
                found[str(path)] = ("folder", path.stat().st_mode, b"")
            else:
                found[str(path)] = ("file", path.stat().st_mode, path.read_bytes())
        return found


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> layout.Release:
    """The front and the helper's package, compiled once: most tests are about where they are put."""
    release = layout.Release(tmp_path_factory.mktemp("made"))
    parts = sources.sources("generic-slurm")
    for folder in (release.front.parent, release.library):
        folder.mkdir()
    once = build.Build(parts, interpreter.pin(), release.root / "nowhere", release.root)
    once.copy_package()
    once.make_front()
    return release


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    """All is compiled by the installation itself, for its own prefix and interpreter."""
    monkeypatch.setattr(build.Build, "copy_package", COPY_PACKAGE)
    monkeypatch.setattr(build.Build, "make_front", MAKE_FRONT)


COPY_PACKAGE, MAKE_FRONT = build.Build.copy_package, build.Build.make_front


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: layout.Release) -> Cluster:
    """A cluster on which nothing is installed yet."""

    def copy_package(new: build.Build) -> None:
        shutil.copytree(made.root, new.release.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("front"))

    def make_front(new: build.Build) -> None:
        shutil.copyfile(made.front, new.release.front) if new.sources.compiler else MAKE_FRONT(new)

    monkeypatch.setattr(build.Build, "copy_package", copy_package)
    monkeypatch.setattr(build.Build, "make_front", make_front)
    whole = Cluster(tmp_path / "cluster", monkeypatch)
    whole.real.parent.mkdir(parents=True)
    whole.real.write_text(SBATCH.format(log=whole.root / "called"))
    whole.real.chmod(0o755)
    (whole.root / "job.sh").write_text("#!/bin/bash\nsrun python train.py\n")
    (whole.root / "called").touch()
    (whole.root / "state").mkdir()
    monkeypatch.setenv("PATH", whole.path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MAPLE", raising=False)
    return whole


@pytest.fixture
def installed(cluster: Cluster) -> Cluster:
    """The same with Maple in front."""
    result = cluster.install()
    assert result.exit_code == 0, result.output
    return cluster


@pytest.fixture
def fails_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, str], None]:
    """Make a function raise as a full disk would."""

    def arm(module: object, name: str) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device", name)

        monkeypatch.setattr(module, name, full)

    return arm
