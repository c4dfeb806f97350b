"""The lines that the second voter learns from: enough of them, each of a class and of a source that is named."""

from __future__ import annotations

from collections import Counter

from maple_agents.diagnose.recognise.neighbours import FOLLOWS, in_force, masked
from maple_agents.templates.knowledge.entries import CLASSES

from tests.agents.debug.labelled_lines import VOCABULARY, of_sources


def test_messages_of_programs_have_a_class_and_a_source():
    """Of each file the first line names a program with its release; nothing stands there twice for one program."""
    rows = list(of_sources())
    assert len(rows) > 2400 and {row.cause for row in rows} <= {*CLASSES, FOLLOWS} - {"unknown"}
    assert all(path.read_text("utf-8").startswith("= ") for path in VOCABULARY.glob("*.txt"))
    assert [row for row in rows if not row.thread.removeprefix("source ").strip() or not masked(row.text).strip()] == []
    assert [row for row, count in Counter(rows).items() if count > 1] == []


def test_the_index_in_force_was_made_from_them():
    """Five thousand lines, of every class that a log can show."""
    index = in_force()
    assert index is not None and len(index.labels) >= 5000
    assert {*CLASSES} - {"unknown"} <= {*index.names} | {"none"}
