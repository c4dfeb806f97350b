"""What is read in fragments of real logs, and that no total is made up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from maple_agents.progress.formats import compiled, formats, sheets
from maple_agents.progress.recognition import Lines
from maple_agents.progress.tails import Piece
from maple_agents.progress.values import Observation

from tests.agents.progress.fragments import Fragment, fragments, is_total, public, read, told, traps, wrong


@pytest.mark.parametrize("one", list(fragments()), ids=str)
def test_step_total_speed_and_loss_are_as_labelled(one: Fragment, tmp_path: Path) -> None:
    """What the label leaves out is not told."""
    assert wrong(one, tmp_path) == {}


@pytest.mark.parametrize("one", list(traps()), ids=str)
def test_no_total_is_made_up(one: Fragment, tmp_path: Path) -> None:
    """A number that counts an epoch, an evaluation, bytes or files is no total of the run."""
    found = told(read(one.text, tmp_path))
    assert found.get("step") == one.wanted.get("step")
    assert is_total(one, found), (one.wanted.get("total"), found)


def test_there_are_enough_of_each_format() -> None:
    """Twelve of each from public sources at least, 150 in all, and sixty traps."""
    found = Counter(one.format for one in fragments() if public(one) != "made")
    assert min(found.values()) >= 12 and sum(found.values()) >= 150
    assert len(list(traps())) >= 60


@pytest.mark.parametrize("name", sorted(sheets()))
def test_each_format_reads_its_own_examples(name: str) -> None:
    """Alone among the formats it is read as the file says."""
    for example in sheets()[name].example:
        lines = Lines("log", 1.79e9, formats())
        seen = list(lines.signs(Piece(example.line.encode(), 1, 0, True)))
        found = [one for one in seen if isinstance(one, Observation) and one.role == "training"]
        wanted = (example.step, example.epoch, example.loss, example.speed)
        one = found[0] if found else Observation(None, "", "")  # type: ignore[arg-type]
        assert (one.step, one.epoch, one.loss, one.speed.value if one.speed else None) == wanted, example.line


@pytest.mark.parametrize("name", sorted(sheets()))
def test_each_format_says_where_it_is_known_from(name: str) -> None:
    """Sources, releases, and an example."""
    sheet = sheets()[name]
    assert sheet.sources and sheet.versions and sheet.example


def test_every_literal_stands_in_a_line_that_its_pattern_fits() -> None:
    """Else lines would be passed over: each example holds a literal of what reads it."""
    known = compiled(sheets())
    for sheet in sheets().values():
        assert all(any(word in one.line.encode() for word in known.holds) for one in sheet.example)
