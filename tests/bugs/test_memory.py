"""What a run of bugs keeps is believed only as long as the code is the same, and a bug is noticed anew each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bugs import __main__ as command
from tests.bugs.memory import Noticing, Reached

STATEMENTS = [("a.py", "f", 0), ("a.py", "f", 3), ("b.py", "g", 1)]


def reached(path: Path, **shapes: str) -> Reached:
    return Reached(str(path / "reached"), STATEMENTS, {name + ".py": [shape] for name, shape in shapes.items()})


def test_a_test_is_run_again_where_a_file_that_it_reaches_has_another_shape(tmp_path: Path) -> None:
    """The others keep what was seen of them."""
    first = reached(tmp_path, a="1", b="1")
    assert first.kept() == {}
    first.add("of a", 0.5, {("a.py", "f", 3)})
    first.add("of both", 1.0, {("a.py", "f", 0), ("b.py", "g", 1), ("gone.py", "h", 1)})
    first.add("of none", 2.0, set())
    kept = reached(tmp_path, a="1", b="1").kept()
    assert {name: (row.seconds, row.of("a.py"), row.all()) for name, row in kept.items()} == {
        "of a": (0.5, 1, 1), "of both": (1.0, 1, 2), "of none": (2.0, 0, 0)
    }  # fmt: skip
    assert [first.statements["a.py"][at] for at in kept["of a"].places["a.py"]] == [("a.py", "f", 3)]
    assert set(reached(tmp_path, a="1", b="2").kept()) == {"of a", "of none"}
    assert set(reached(tmp_path, a="1", b="1").kept()) == {"of a", "of none"}  # what was thrown away is gone


def test_who_noticed_a_bug_is_asked_first_and_asked_again(tmp_path: Path) -> None:
    """The bug itself is not taken for noticed: another test, or none, may notice it now."""
    bug, other = ("a.py", "f", "x < 1", "x <= 1"), ("a.py", "f", "x < 1", "x < 2")
    Noticing(str(tmp_path / "noticed")).add(bug, "second")
    later = Noticing(str(tmp_path / "noticed"))
    assert later.first(bug, ["first", "second", "third"]) == ["second", "first", "third"]
    assert later.first(bug, ["first"]) == ["first"] and later.first(other, ["first", "second"]) == ["first", "second"]
    assert later.knows(bug, "second") and not later.knows(bug, "first") and not later.knows(other, "second")


@pytest.mark.parametrize("words", [["--help"], ["x"], ["1", "y"], ["1", "2", "no/such/folder"], ["-1"]])
def test_words_that_are_none_of_its_own_start_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """What it takes is said."""
    monkeypatch.setattr(command, "Trials", None)
    assert command.main(words) == 2
    assert capsys.readouterr().out.startswith("usage: python -m tests.bugs [SEED [EACH [FOLDER ...]]]")
