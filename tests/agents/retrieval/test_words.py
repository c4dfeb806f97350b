"""Passages found by their words: what a query holds is data, and what lies in the cache file is not believed."""

from __future__ import annotations

import os
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.templates.retrieval.index import Words, match, search_words
from maple_agents.templates.retrieval.passages import Passage


def passages(*texts: str) -> list[Passage]:
    return [Passage(str(at), "", text, "test", "here") for at, text in enumerate(texts)]


THREE = passages("gradients are averaged", "weights are sharded over the ranks", "NEAR the title stands a column")
INDEX = Words(THREE)


def test_the_word_finds_its_passage_in_any_form():
    assert [number for number, _ in INDEX.search("sharding a weight", 3)] == [1]
    assert [number for number, _ in INDEX.search("AVERAGE", 3)] == [0]


def test_what_shares_no_telling_word_is_not_found():
    assert INDEX.search("the and of are over", 3) == []
    assert INDEX.search("", 3) == []
    assert INDEX.search("sharded", 0) == []


def test_more_of_the_words_come_first_with_more_weight():
    index = Words(passages("port in use", "address already in use", "address of a port already taken"))
    found = index.search("address already in use: port", 3)
    assert [number for number, _ in found][0] in (1, 2)
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
    assert all(value > 0 for _, value in found)


HOSTILE = [
    '"', '" OR 1=1 --', "title:gradients", "NEAR(gradients weights, 2)", "gradients NOT averaged", "grad*", "^title",
    "{title text}: x", "a AND", "(", "+ - *", "'; DROP TABLE passages; --", "\0", "\ud800", "AND OR NOT",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_operators_in_a_query_are_words_or_nothing(text):
    INDEX.search(text, 3)
    assert [number for number, _ in INDEX.search("gradients " + text, 3)][:1] == [0] or "NEAR" in text


def test_not_and_near_do_not_take_anything_away():
    assert 0 in [number for number, _ in INDEX.search("gradients NOT averaged", 3)]
    assert {0, 1} <= {number for number, _ in INDEX.search("NEAR(gradients weights, 0)", 3)}


@given(st.text())
def test_no_text_is_an_error(text):
    for word in search_words(text):
        assert '"' not in word
    INDEX.search(text, 3)


def test_a_pasted_log_asks_for_a_bounded_number_of_words():
    assert len(search_words(" ".join("word%d" % at for at in range(100_000)))) == 64
    assert match("x" * 100_000).count('"') == 2


@pytest.mark.parametrize("damage", ["", "cut", "noise", "other", "empty"])
def test_a_file_that_is_damaged_or_of_other_passages_is_made_anew(tmp_path, damage):
    path = str(tmp_path / "in a folder" / "words?#%.sqlite")
    assert Words(THREE, path).search("sharded", 1)[0][0] == 1
    before = os.stat(path).st_ino
    with open(path, "r+b") as file:
        if damage == "cut":
            file.truncate(5000)
        if damage == "empty":
            file.truncate(0)
        if damage == "noise":
            file.seek(0)
            file.write(os.urandom(3000))
    other = passages("sharded") if damage == "other" else THREE
    assert Words(other, path).search("sharded", 1)[0][0] == (0 if damage == "other" else 1)
    assert (os.stat(path).st_ino == before) == (damage == "")
    assert os.stat(path).st_mode & 0o077 == 0
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


def test_where_no_file_can_be_written_the_index_lies_in_memory(tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert Words(THREE, str(tmp_path / "file" / "words.sqlite")).search("sharded", 1)[0][0] == 1


def test_who_has_the_old_file_open_goes_on_with_it(tmp_path):
    path = str(tmp_path / "words.sqlite")
    first = Words(THREE, path)
    second = Words(passages("another sharded one"), path)
    assert first.search("ranks", 1)[0][0] == 1
    assert second.search("another", 1)[0][0] == 0


def test_a_file_by_someone_else_cannot_name_passages_that_are_not_there(tmp_path):
    path = str(tmp_path / "words.sqlite")
    Words(THREE, path)
    with sqlite3.connect(path) as rows:
        rows.execute("INSERT INTO passages(rowid, title, text) VALUES (99, 'sharded', 'sharded sharded')")
    assert [number for number, _ in Words(THREE, path).search("sharded", 3)] == [1]
