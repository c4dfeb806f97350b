"""A cache folder for each test, and an embedder that needs no library beyond numpy."""

from __future__ import annotations

from typing import Callable

import pytest

from tests.agents.retrieval.stand_in import StandIn


@pytest.fixture
def stand_in() -> Callable[..., StandIn]:
    """The class of the stand-in."""
    return StandIn


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep the vectors of a test in a folder of its own; no embedder is configured by the caller's environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MAPLE_EMBEDDER", raising=False)
    return tmp_path / "cache"
