"""A thousand submissions by many users: memory changes no answer, and answers nothing that was not asked before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from maple_daemon.decide import exact, handlers

from tests.daemon import replay
from tests.daemon.replay import Counts, Replay


def _replayed(tmp_path: Path, number: int, mutated: float, read: bool = True) -> Counts:
    return asyncio.run(Replay(2026, str(tmp_path)).run(number, mutated, read))


def test_answers_are_those_without_memory_and_none_is_of_another_submission(tmp_path: Path) -> None:
    """Edits, renames, arrays, sweeps, changed files, variables, sites and rules; values known are those read anew."""
    counts = _replayed(tmp_path, 250, 0.06)
    assert (counts.unequal, counts.false, counts.differ) == (0, 0, 0), counts
    assert counts.hits > 20 and counts.helped > 10 and counts.mutations > 30, counts
    assert counts.reused > 20 and counts.lineages < counts.versions, counts


@pytest.mark.parametrize("left_out", ["script", "argv", "environment", "facts"])
def test_a_key_without_one_of_its_pieces_would_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    """The replay itself can fail."""

    def key(request: replay.Request, uid: int, facts: bytes) -> bytes:
        one = request.submission
        less = {"script": one.script and one.script[:10], "argv": one.argv[:1], "environment": {}}
        one = one._replace(**{left_out: less[left_out]}) if left_out in less else one
        word = 0 if left_out == "argv" else request.word
        return exact.key_of(request._replace(submission=one, word=word), uid, b"" if left_out == "facts" else facts)

    monkeypatch.setattr(handlers, "key_of", key)
    counts = _replayed(tmp_path, 40, 0.2, read=False)
    assert counts.false > 0, counts
