"""`maple new --verify` on a real scheduler: what is handed over has run, and what did not run is not handed over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.lab.sites import shape_of_site

MAPLE = str(Path(sys.executable).parent / "maple")
REQUEST = "DDP with train.py --lr 1e-4 on 2 nodes of Delta, 10 minutes, account abcd-delta-gpu"


def test_a_script_is_handed_over_when_it_has_run(lab_of: Callable, tmp_path: Path) -> None:  # type: ignore[type-arg]
    """On the lab in the site's shape; where the scheduler refuses it, nothing is written."""
    lab = lab_of(shape_of_site("ncsa-delta"))
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    env = lab.environment(MAPLE_ROLE="plain", **state)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MAPLE, "new", *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
        )

    done = call(REQUEST, "--verify", "-o", "job.sh")
    assert done.returncode == 0 and "passed" in done.stderr, done.stderr
    assert "train.py --lr 1e-4\n" in (tmp_path / "job.sh").read_text()
    refused = call(REQUEST, "--set", "partition=nowhere", "--set", "gpus_per_node=4", "--verify", "-o", "other.sh")
    assert refused.returncode in (1, 2) and not (tmp_path / "other.sh").exists(), refused.stderr
    assert "Traceback" not in refused.stderr
