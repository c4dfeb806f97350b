"""Jobs that are like a new one are named, and nothing is forecast from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from maple_agents.forecast.asked_job import about
from maple_agents.forecast.similar import similar
from maple_agents.templates.retrieval.passages import Unavailable
from maple_submit_filter.types.job_records import Value

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


def test_what_is_compared_is_what_is_known():
    """No file, no folder, no secret: names of what it trains."""
    values = [
        Value("model", "gpt2", "a.py", 1, "p", "program"),
        Value("learning_rate", "1e-4", "", 1, "p", "arguments"),
    ]
    assert about("sft", values) == "sft gpt2"
