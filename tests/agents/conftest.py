"""The `maple` command as a person calls it, with an engine that decides what the test says."""

from __future__ import annotations

import importlib
import sys
from typing import Callable, NamedTuple

import maple_submit_filter.answer.decision
import pytest
from maple_agents.cli.main import run
from maple_submit_filter.answer.decision import Decision


class Said(NamedTuple):
    """What a call of `maple` gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def maple(capfd, monkeypatch, tmp_path) -> Callable[..., Said]:
    """Return a function that calls `maple` with words, in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("MAPLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> Said:
        code = run([str(word) for word in words])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return call


@pytest.fixture
def decided(monkeypatch) -> Callable[..., list]:
    """Return a function that makes the engine give a decision, and the list of what it was asked."""

    def set_to(decision) -> list:
        asked: list = []

        def decide(submission, site, read=None, peruse=None) -> Decision:
            asked.append((submission, site))
            if isinstance(decision, Exception):
                raise decision
            return decision

        # Who takes the name with `from … import` does so before it stands for something else, or keeps that for ever.
        importlib.import_module("maple_agents.cli.other_cluster")
        importlib.import_module("maple_agents.write.carry.carry")
        monkeypatch.setattr(maple_submit_filter.answer.decision, "decide", decide)
        return asked

    return set_to
