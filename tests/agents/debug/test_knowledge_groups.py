"""Lists that entries share are said once and named; a mistake in them is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.templates import knowledge
from maple_agents.templates.knowledge import entries_in_force
from maple_agents.templates.knowledge.entries import Entry
from maple_agents.templates.knowledge.entries_in_force import expanded
from maple_agents.templates.knowledge.entry_shapes import entry as entry_of

GROUPS = {"late": ["timed out", "gave up"], "ids": ["slow", "time_limit"]}
HEAD = 'revision = 1\nwhy = "a reason"\nsources = ["here"]\n'
ENTRY = '[entry.%s]\ncause = "time_limit"\nrole = "symptom"\nsays = "late"\nsources = ["here"]\n'


def entry(**more: object) -> Entry:
    return entry_of({"cause": "time_limit", "says": "late", "sources": ["here"], **more})


def test_a_name_stands_for_its_list():
    """In words, consequences and conditions, each word once; all else stays."""
    told = expanded(
        entry(
            match=["slow", "@late", "gave up"],
            without=["@late"],
            explains=["@ids"],
            excludes=[{"signs": ["other", "@ids"]}, {"log.progress": ">0"}],
            needs={"job.state": ["@late"]},
        ),
        GROUPS,
    )
    assert told.match == ["slow", "timed out", "gave up"] and told.without == ["timed out", "gave up"]
    assert told.explains == ["slow", "time_limit"] and told.needs == {"job.state": ["timed out", "gave up"]}
    assert told.excludes == [{"signs": ["other", "slow", "time_limit"]}, {"log.progress": ">0"}]


def test_words_with_the_sign_inside_are_words():
    """pdsh@node is what a log says."""
    plain = entry(match=["pdsh@n1: ", "@ late", r"@\\S+"])
    assert expanded(plain, GROUPS) is plain


@pytest.mark.parametrize(
    "more", [{"match": ["@none"]}, {"explains": ["@none"]}, {"excludes": [{"signs": ["x", "@none"]}]}], ids=str
)
def test_a_name_of_no_group_is_a_mistake(more):
    """It says which names there are."""
    with pytest.raises(ValueError, match="no group @none; there are @late, @ids"):
        expanded(entry(**more), GROUPS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base of the test's own."""
    monkeypatch.setattr(
        entries_in_force, "paths", lambda kind: {one.stem: str(one) for one in sorted(tmp_path.glob("*.toml"))}
    )
    entries_in_force.in_force.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    entries_in_force.in_force.cache_clear()


def test_a_group_of_another_file_is_known(folder):
    """A site's own entry may use the lists that are there."""
    (folder / "a.toml").write_text(HEAD + ENTRY % "one" + 'match = ["@late"]\n', "utf-8")
    (folder / "z.toml").write_text(HEAD + '[groups]\nlate = ["timed out"]\n', "utf-8")
    assert knowledge.mistakes() == [] and entries_in_force.entries()["one"].match == ["timed out"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('match = ["@late"]\n', "entry.two: there is no group @late"),
        ('match = ["late"]\nexplains = ["nobody"]\n', "entry.two: there is no entry and no class nobody"),
        ('match = ["("]\n', "is no regular expression"),
        ('match = ["late"]\n[groups]\none = ["x"]\n', "groups.one: another file has one of that name"),
        ('match = ["late"]\n' + ENTRY % "one", "entry.one: another file has one of that name"),
    ],
)
def test_a_mistake_is_told_with_its_place(folder, more, said):
    """In place of the first file's mistakes all are told; `maple templates lint` prints them."""
    (folder / "a.toml").write_text(HEAD + ENTRY % "one" + 'match = ["late"]\n[groups]\none = ["x"]\n', "utf-8")
    (folder / "b.toml").write_text(HEAD + ENTRY % "two" + more, "utf-8")
    assert len(knowledge.mistakes()) == 1 and said in knowledge.mistakes()[0]


def test_what_is_in_force_has_no_mistake():
    """And the lint of all templates says the same."""
    assert knowledge.mistakes() == []


def test_the_lint_tells_of_the_knowledge(folder):
    """One command checks all that lies in the templates."""
    from maple_agents.templates import lint

    (folder / "a.toml").write_text(HEAD + ENTRY % "one" + 'match = ["@late"]\n', "utf-8")
    assert "entry.one: there is no group @late; there are none" in lint.mistakes()
