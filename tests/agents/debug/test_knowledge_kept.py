"""The knowledge base is checked once, and read again as it was checked, as long as its files are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.templates import knowledge
from maple_agents.templates.knowledge import entries_in_force

FILE = """revision = 1
why = "a reason"
sources = ["here"]
[entry.late]
cause = "time_limit"
says = "late"
sources = ["here"]
match = ["(?i)Gave Up", "timed out: (?P<what>.+)"]
needs = { "job.state" = ["timeout", "failed"], "plan.nodes" = ">1" }
said = [{ when = { "job.restarts" = 1 }, says = "late again" }]
fixes = [{ kind = "resubmit", says = "again", give = { share = 0.5, count = 2 } }]
[classes.time_limit]
says = "too long"
again = "no"
because = "it is as long again"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base and a cache of the test's own."""
    (tmp_path / "a.toml").write_text(FILE, "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(entries_in_force.own_folders, "cache", lambda: str(tmp_path / "cache/maple"))
    monkeypatch.setattr(
        entries_in_force, "paths", lambda kind: {one.stem: str(one) for one in sorted(tmp_path.glob("*.toml"))}
    )
    entries_in_force.in_force.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    entries_in_force.in_force.cache_clear()


def again() -> entries_in_force.Knowledge:
    """Return what a new process reads."""
    entries_in_force.in_force.cache_clear()
    return entries_in_force.in_force()


def kept(folder: Path) -> Path:
    return folder / "cache/maple" / entries_in_force.FILE


def test_what_was_kept_is_what_was_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, and without looking at the files' tables again."""
    first = entries_in_force.in_force()
    monkeypatch.setattr(entries_in_force, "_read", lambda files: pytest.fail("read again"))
    assert again() == first
    assert first.literals == {"(?i)Gave Up": ["gave up"], "timed out: (?P<what>.+)": ["timed out: "]}


def test_a_changed_file_is_read_again(folder: Path) -> None:
    """By what it holds, not by its time; so is one that has come."""
    knowledge.entries()
    (folder / "a.toml").write_text(FILE.replace('says = "late"\n', 'says = "too late"\n'), "utf-8")
    assert again().entries["late"].says == "too late"
    (folder / "b.toml").write_text(FILE.split("[classes")[0].replace("entry.late", "entry.more"), "utf-8")
    assert sorted(again().entries) == ["late", "more"]


@pytest.mark.parametrize("told", ["", "[]", "{}", '{"of": 1}', '{"entries": {}', "\0"], ids=repr)
def test_a_damaged_one_is_as_none(folder: Path, told: str) -> None:
    """Also one with the right hash and no entries in it."""
    first = entries_in_force.in_force()
    kept(folder).write_text(told, "utf-8")
    assert again() == first
    of = json.loads(kept(folder).read_text("utf-8"))["of"]
    kept(folder).write_text(json.dumps({"of": of, "entries": {"late": {"odd": 1}}}), "utf-8")
    assert again() == first


def test_a_file_of_another_user_is_as_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write it decides what a log means."""
    first = entries_in_force.in_force()
    told = json.loads(kept(folder).read_text("utf-8"))
    told["entries"]["late"]["says"] = "something else"
    kept(folder).write_text(json.dumps(told), "utf-8")
    assert again().entries["late"].says == "something else"
    monkeypatch.setattr(entries_in_force.os, "geteuid", lambda: 4711)
    assert again() == first


def test_mistakes_are_never_kept(folder: Path) -> None:
    """The next call tells them too."""
    (folder / "a.toml").write_text(FILE.replace("time_limit", "no_class", 1), "utf-8")
    for _ in range(2):
        with pytest.raises(ValueError, match="no such cause"):
            again()
    assert not kept(folder).exists()
