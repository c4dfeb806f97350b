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
from maple_daemon.install import build, compiler, sources

SBATCH = """#!/bin/sh
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
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The front, compiled once: it takes a second, and most tests are about where it is put."""
    made = tmp_path_factory.mktemp("front") / "front"
    parts = sources.sources("generic-slurm")
    compiler.compile_front(parts.compiler, parts.front, made.parent / "nowhere", made)
    return made


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    """The front is compiled by the installation itself, for its own prefix."""
    monkeypatch.setattr(build, "compile_front", compiler.compile_front)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, front: Path) -> Cluster:
    """A cluster on which nothing is installed yet."""
    monkeypatch.setattr(build, "compile_front", lambda *words: shutil.copyfile(front, words[-1]))
    made = Cluster(tmp_path / "cluster", monkeypatch)
    made.real.parent.mkdir(parents=True)
    made.real.write_text(SBATCH.format(log=made.root / "called"))
    made.real.chmod(0o755)
    (made.root / "job.sh").write_text("#!/bin/bash\nsrun python train.py\n")
    (made.root / "called").touch()
    (made.root / "state").mkdir()
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MAPLE", raising=False)
    return made


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
