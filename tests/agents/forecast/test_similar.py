"""Jobs that are like a new one are named, and nothing is forecast from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from maple_agents.forecast.asked_job import about
from maple_agents.forecast.own_jobs import line, similar
from maple_agents.forecast.runs import Asked, Run
from maple_agents.templates.retrieval.passages import Unavailable
from maple_submit_filter.types.job_records import Value, Version

OTHERS = [
    ("sft-8b", "sft-8b train_sft.py meta-llama/Llama-3.1-8B alpaca torch", 2640.0),
    ("resnet", "resnet main.py resnet50 imagenet torch", 900.0),
]


class Meaning:
    """An embedder that knows two things: language, and pictures."""

    name = "two things"

    def vectors(self, texts):
        made = [(math.cos(turn), math.sin(turn)) for turn in ("imagenet" in text for text in texts)]
        return np.asarray(made, np.float32)


class Broken:
    name = "broken"

    def vectors(self, texts):
        raise Unavailable("no weights")


@pytest.mark.parametrize("embedder", [None, Broken()])
def test_by_the_words_they_share(embedder):
    """Where nothing knows meanings, or its weights are not there."""
    found = similar("dpo-8b train_dpo.py meta-llama/Llama-3.1-8B alpaca torch", OTHERS, embedder)
    assert [(one.name, one.seconds) for one in found] == [("sft-8b", 2640.0)]
    assert similar("weather gfs.x", OTHERS, embedder) == [] == similar("a", [], embedder)


def test_by_meaning_where_it_is_known():
    """Words may differ."""
    found = similar("chat tune.py mistral", OTHERS, Meaning())
    assert [one.name for one in found][0] == "sft-8b" and found[0].likeness == pytest.approx(1)


def test_vectors_are_kept_in_ones_own_store(tmp_path, monkeypatch):
    """A job is embedded once on this machine, by whoever asks first; the file is its user's alone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    embedded = []

    class Counting(Meaning):
        def vectors(self, texts):
            embedded.extend(texts)
            return super().vectors(texts)

    monkeypatch.setattr("maple_agents.forecast.own_jobs.configured", Counting)
    versions = [
        Version(name, name, "", 1, 1.0, "slurm", "/p/job.sh", name, "/p", (), b"", name, (),
                (Value("data", data, "", 1, "", "arguments"),))
        for name, data in (("sft", "alpaca"), ("resnet", "imagenet"))
    ]  # fmt: skip
    jobs = [type("Lineage", (), {"newest": version}) for version in versions]
    monkeypatch.setattr("maple_agents.forecast.own_jobs.remembered_jobs", lambda name, path: jobs)
    runs = [
        Run(name, Asked("me", name), 100.0, seconds, "completed") for name, seconds in (("sft", 600.0), ("resnet", 9.0))
    ]
    asked = Asked("me", "chat", about="chat mistral")
    said = line(asked, runs)
    assert said.startswith("similar jobs of yours: sft took 0:10:00") and said.endswith("nothing is forecast from them")
    assert sorted(embedded) == ["chat mistral", "resnet imagenet", "sft alpaca"]
    assert line(asked, runs) == said and len(embedded) == 3
    (store,) = (tmp_path / "cache").rglob("vectors-*.sqlite")
    assert store.stat().st_mode & 0o077 == 0


def test_what_is_compared_is_what_is_known():
    """No file, no folder, no secret: names of what it trains."""
    values = [
        Value("model", "gpt2", "a.py", 1, "p", "program"),
        Value("learning_rate", "1e-4", "", 1, "p", "arguments"),
    ]
    assert about("sft", values) == "sft gpt2"
