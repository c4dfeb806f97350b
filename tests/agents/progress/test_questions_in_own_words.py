"""Questions in a user's own words: what a model may choose, and that no lie of one is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.progress.answers import QUESTIONS
from maple_agents.progress.own_words import ABOUT

from tests.agents.models.served import saying, served
from tests.agents.progress.lies import Transcript, believed, log, transcripts

LIES = [one for one in transcripts() if not one.means]
RIGHT = [one for one in transcripts() if one.means]


@pytest.mark.parametrize("case", LIES, ids=str)
def test_no_lie_is_believed(case: Transcript, tmp_path: Path) -> None:
    """Neither a question of its own, nor an answer, nor a quote that stands nowhere."""
    assert believed(case, tmp_path) == ""


def test_there_are_thirty_lies() -> None:
    """And each question is told to a model in words."""
    assert len(LIES) >= 30 and set(ABOUT) == set(QUESTIONS)


@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_a_choice_with_its_line_is_believed(case: Transcript, tmp_path: Path) -> None:
    """In whatever language the words are."""
    assert believed(case, tmp_path) == case.means


def test_the_answer_is_ours(maple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """As of the question itself, with the words that asked it (the log is old: code 3); a lie is one line and 2."""
    (tmp_path / "a.log").write_text(log())
    for one, code in ((RIGHT[0], 3), (LIES[3], 2)):
        with served(saying(one.said)) as server:
            monkeypatch.setenv("MAPLE_MODEL", server.url + "#test")
            said = maple("progress", "a.log", "--ask", one.asked)
        assert said.code == code, said
        if code == 2:
            assert said.out == "" and said.err.count("\n") == 1 and "not believed" in said.err
            continue
        plain = json.loads(maple("progress", "a.log", "--ask", "eta").out)
        told = json.loads(said.out)
        assert told.pop("asked") == one.asked
        assert {**told, "at": 0, "answer": told["answer"].keys()} == {
            **plain,
            "at": 0,
            "answer": plain["answer"].keys(),
        }


def test_without_a_model_the_questions_are_named(maple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """In one line."""
    monkeypatch.setenv("MAPLE_MODEL", "none")
    (tmp_path / "a.log").write_text(log())
    said = maple("progress", "a.log", "--ask", "when is it done?")
    assert said.code == 2 and "no model is set" in said.err and "eta" in said.err and said.err.count("\n") == 1
