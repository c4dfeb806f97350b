"""Tools that submit on their users' behalf see no difference between the real sbatch and Maple in front of it.

Each runs the same small job twice on the lab, once with the bare sbatch and once with Maple installed in front, in the
same folder, with the same PATH. Behind both stands a recorder: what reached the real sbatch, and what it answered.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.lab.processes import folders

HERE = Path(__file__).parent
VENV = Path(os.environ.get("MAPLE_CALLERS_VENV") or HERE.parents[1] / "build" / "callers-venv")
CALLERS = ("submitit", "dask", "parsl", "psij", "maestro", "reframe", "snakemake", "hydra")
LONGEST = 400  # seconds until a caller that hangs is given up

pytestmark = [
    pytest.mark.skipif(not (VENV / "bin/python").exists(), reason="make callers-venv installs the callers"),
    pytest.mark.timeout(3 * LONGEST),
]


class Bench(NamedTuple):
    """A folder to run a caller in; *front* is empty until Maple is installed there, and is first on PATH either way."""

    root: Path
    lab: Any

    @property
    def front(self) -> Path:
        return self.root / "maple" / "bin"

    @property
    def recorder(self) -> Path:
        return self.root / "slurm"

    def environment(self) -> dict[str, str]:
        """Return what a user's shell has; the same for both runs."""
        kept = self.lab.environment(doubles_first=False)
        home = self.root / "home"
        path = [self.front, self.recorder, VENV / "bin", *folders(), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": ":".join(map(str, path)), "SLURM_CONF": kept["SLURM_CONF"], "HOME": str(home), "USER": "root",
            "LOGNAME": "root", "LANG": "C.UTF-8", "TMPDIR": str(home), "XDG_CACHE_HOME": str(home / "cache"),
            "PYTHONHASHSEED": "0",  # Snakemake writes sets onto its command line
        }  # fmt: skip

    def run(self, caller: str, kept: str) -> tuple[str, list[dict[str, Any]], float]:
        """Run a caller; return what it printed, the calls of sbatch, and the seconds it took."""
        work = self.root / "work"
        work.mkdir()
        (self.recorder / "calls.jsonl").unlink(missing_ok=True)
        begun = time.monotonic()
        words = [VENV / "bin/python", HERE / "drivers" / f"{caller}_.py", self.lab.layout.controller, "gpu"]
        done = subprocess.run(words, cwd=work, env=self.environment(), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=LONGEST, check=False)  # fmt: skip
        took = time.monotonic() - begun
        work.rename(self.root / kept)
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        shutil.copy(self.recorder / "calls.jsonl", self.root / f"{kept}.jsonl")
        lines = (self.recorder / "calls.jsonl").read_text().splitlines()
        return done.stdout, [json.loads(line) for line in lines], took

    def install(self) -> None:
        """Put Maple in front, as an administrator does."""
        words = ["install", "--prefix", str(self.root / "maple"), "--bin", str(self.front), "--site", "generic-slurm",
                 "--real-sbatch", str(self.recorder / "sbatch"), "--mode", "repair"]  # fmt: skip
        command = [sys.executable, "-c", "from maple_daemon.cli.admin import admin; admin()", *words]
        subprocess.run(command, env={**os.environ, **self.environment()}, check=True, timeout=LONGEST)
        assert shutil.which("sbatch", path=self.environment()["PATH"]) == str(self.front / "sbatch")


def bench(root: Path, lab: Any) -> Bench:
    """Return a bench with the recorder in place, Maple not yet."""
    made = Bench(root, lab)
    for folder in (made.front, made.recorder, root / "home"):
        folder.mkdir(parents=True)
    shutil.copy(HERE / "recorder.py", made.recorder / "sbatch")
    (made.recorder / "sbatch").chmod(0o755)
    (made.recorder / "real").write_text(shutil.which("sbatch") or "")
    # Snakemake takes SLURM_CONF from its jobs: a cluster has its configuration in /etc, the lab has not.
    conf = made.environment()["SLURM_CONF"]
    srun = shutil.which("srun")
    (made.recorder / "srun").write_text(f'#!/bin/bash\nexport SLURM_CONF={conf}\nexec {srun} "$@"\n')
    (made.recorder / "srun").chmod(0o755)
    return made


class Pair(NamedTuple):
    """The two runs of one caller: what it printed, the calls of sbatch, the seconds it took."""

    bare: tuple[str, list[dict[str, Any]], float]
    through: tuple[str, list[dict[str, Any]], float]


def both(caller: str, place: Bench) -> Pair:
    """Run a caller with the bare sbatch, then with Maple in front of it."""
    bare = place.run(caller, "bare")
    place.install()
    return Pair(bare, place.run(caller, "through"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, lab: Any) -> Iterator[dict[str, Future[Pair]]]:
    """All callers at once, each in a folder of its own: they mostly wait."""
    with ThreadPoolExecutor(len(CALLERS)) as pool:
        places = {caller: bench(tmp_path_factory.mktemp(caller), lab) for caller in CALLERS}
        yield {caller: pool.submit(both, caller, place) for caller, place in places.items()}


def plain(value: Any) -> Any:
    """Return a record with what differs by nature from run to run made equal: ids, times, ports, random names."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>", value)
    value = re.sub(r"\btmp[._]?\w{6,10}\b", "<tmp>", value)
    value = re.sub(r"(?<![0-9a-f])[0-9a-f]{12,64}(?![0-9a-f])", "<hex>", value)
    value = re.sub(r"submitit WARNING .* Bypassing sacct error .*\n", "", value)  # as often as it asked in vain
    return re.sub(r"\d+", "<n>", value)


@pytest.mark.parametrize("caller", CALLERS)
def test_a_caller_sees_no_difference(caller: str, runs: dict[str, Future[Pair]]) -> None:
    """The same result, and what reached sbatch and what came back is the same, word for word and byte for byte."""
    pair = runs[caller].result()
    (said, calls, bare_time), (said_through, calls_through, maple_time) = pair.bare, pair.through
    print(f"{caller}: {len(calls)} submissions, bare {bare_time:.1f} s, through Maple {maple_time:.1f} s")
    assert calls and all(call["exit"] == 0 for call in calls)
    assert plain(said_through) == plain(said)
    assert len(calls_through) == len(calls)
    for bare, through in zip(calls, calls_through):
        assert [key for key in bare if plain(bare[key]) != plain(through[key])] == []
        assert bare.keys() == through.keys()
