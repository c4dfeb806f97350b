"""A model of transformers is asked about a failure by the real code: one that knows nothing changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.miniapps.started import ROOT, frameworks

HERE = Path(__file__).parent
LOG = """step 1 loss 2.0
frobnicator: error: ring buffer wedged
fatal: giving up after 3 tries
"""


def child(script: Path, *words: str | Path) -> str:
    """Run a script in the Python that has torch; return what it printed."""
    paths = [ROOT / "agents", ROOT / "submit_filter", ROOT]
    env = {"PATH": os.environ["PATH"], "HOME": str(words[-1]) + "-home", "OMP_NUM_THREADS": "1",
           "PYTHONPATH": os.pathsep.join(map(str, paths))}  # fmt: skip
    argv = [str(frameworks() / "python"), str(script), *map(str, words)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny Llama, made to read long questions."""
    made = tmp_path_factory.mktemp("models") / "tiny"
    child(HERE.parent / "models" / "tiny_llama.py", made)
    path = made / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "max_position_embeddings": 32768}))
    return made


@pytest.mark.timeout(300)
def test_a_model_that_knows_nothing_changes_nothing(folder: Path, tmp_path: Path) -> None:
    """Its answer has the shape asked for, or is refused; what it quotes stands nowhere, so nothing is taken over."""
    log = tmp_path / "job.out"
    log.write_text(LOG)
    told: dict[str, Any] = json.loads(child(HERE / "advised_locally.py", folder, log))
    assert told["before"] == "unknown"
    assert told["same"], told
    assert len(told["told"]) == 1
    assert "quoted nothing" in told["told"][0] or "cut short" in told["told"][0], told
    assert told["calls"] == []
