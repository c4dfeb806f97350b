"""Vectors kept by the hash of their text: no text is embedded twice, and no damaged row is used."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from maple_agents.templates.retrieval import vectors
from maple_agents.templates.retrieval.vectors import Kept, nearest, path_of

TEXTS = ["weights are sharded", "gradients are averaged", "a hostfile is missing"]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "cache" / "vectors.sqlite")


def test_no_text_is_embedded_twice(path, stand_in):
    first, second = stand_in(), stand_in()
    made = Kept(first, path).vectors([*TEXTS, TEXTS[0]])
    assert first.asked == TEXTS
    again = Kept(second, path).vectors([TEXTS[2], "a new one", TEXTS[0]])
    assert second.asked == ["a new one"]
    assert np.array_equal(again, stand_in().vectors([TEXTS[2], "a new one", TEXTS[0]]))
    assert np.array_equal(made[3], made[0])
    assert os.stat(path).st_mode & 0o077 == 0


def test_no_texts_are_no_rows(path, stand_in):
    assert Kept(stand_in(), path).vectors([]).shape == (0, 384)


def test_embedders_of_other_names_have_files_of_their_own(stand_in):
    assert path_of(stand_in("one")) != path_of(stand_in("other"))
    assert path_of(stand_in(), {}) is None
    assert path_of(stand_in(), {"HOME": "/home/me"}).startswith("/home/me/.cache/maple/retrieval/vectors-")
    assert path_of(stand_in(), {"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}).startswith("/home/me/.cache/")


def change(path, command, *values):
    rows = sqlite3.connect(path)
    with rows:
        rows.execute(command, values)
    rows.close()


DAMAGES = {
    "another vector": "UPDATE vectors SET vector = zeroblob(1536)",
    "half a vector": "UPDATE vectors SET vector = substr(vector, 1, 700)",
    "a text": "UPDATE vectors SET vector = 'not a blob'",
    "another's row": "UPDATE vectors SET vector = (SELECT vector FROM vectors ORDER BY id DESC LIMIT 1), sum = "
    "(SELECT sum FROM vectors ORDER BY id DESC LIMIT 1)",
    "no table": "DROP TABLE vectors",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_made_anew(path, stand_in, damage):
    Kept(stand_in(), path).vectors(TEXTS)
    change(path, DAMAGES[damage])
    embedder = stand_in()
    assert np.array_equal(Kept(embedder, path).vectors(TEXTS), stand_in().vectors(TEXTS))
    assert set(TEXTS[:2]) <= set(embedder.asked)
    Kept(embedder := stand_in(), path).vectors(TEXTS)
    assert embedder.asked == []


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be looked at" * 100, os.urandom(9000)])
def test_a_file_that_is_no_database_is_replaced(path, stand_in, content):
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(content)
    Kept(stand_in(), path).vectors(TEXTS)
    Kept(stand_in(), path).vectors(TEXTS)
    embedder = stand_in()
    assert np.array_equal(Kept(embedder, path).vectors(TEXTS), stand_in().vectors(TEXTS))
    assert embedder.asked == []


def test_a_locked_file_is_left_aside(path, stand_in, monkeypatch):
    monkeypatch.setattr(vectors, "PATIENCE", 0.05)
    Kept(stand_in(), path).vectors(TEXTS)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert np.array_equal(Kept(stand_in(), path).vectors([*TEXTS, "more"]), stand_in().vectors([*TEXTS, "more"]))
    finally:
        other.close()
    embedder = stand_in()
    Kept(embedder, path).vectors(TEXTS)
    assert embedder.asked == []


def test_a_folder_that_cannot_be_written_is_left_aside(tmp_path, stand_in):
    (tmp_path / "file").write_text("no folder")
    path = str(tmp_path / "file" / "vectors.sqlite")
    assert np.array_equal(Kept(stand_in(), path).vectors(TEXTS), stand_in().vectors(TEXTS))


def test_vectors_of_another_width_under_the_same_name_are_not_mixed(path, stand_in):
    Kept(stand_in(), path).vectors(TEXTS)
    assert Kept(stand_in(width=100), path).vectors([*TEXTS, "more"]).shape == (4, 100)


WRITER = """
import sys
sys.path.insert(0, {folder!r})
from stand_in import StandIn
from maple_agents.templates.retrieval.vectors import Kept
for at in range(30):
    Kept(StandIn(), {path!r}).vectors(["text %d" % (at * int(sys.argv[1])), "common %d" % at])
"""


def test_processes_that_write_at_once_lose_nothing(path, stand_in):
    program = WRITER.format(folder=os.path.dirname(__file__), path=path)
    running = [subprocess.Popen([sys.executable, "-c", program, str(one)]) for one in (1, 2, 3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    texts = ["common %d" % at for at in range(30)] + ["text %d" % (at * one) for at in range(30) for one in (1, 2, 3)]
    embedder = stand_in()
    assert np.array_equal(Kept(embedder, path).vectors(texts), stand_in().vectors(texts))
    assert embedder.asked == []


def test_the_oldest_rows_go_when_there_are_too_many(path, stand_in, monkeypatch):
    monkeypatch.setattr(vectors, "MOST", 2)
    Kept(stand_in(), path).vectors(TEXTS)
    embedder = stand_in()
    Kept(embedder, path).vectors(TEXTS[1:])
    assert embedder.asked == []
    Kept(embedder, path).vectors(TEXTS[:1])
    assert embedder.asked == TEXTS[:1]


def test_the_nearest_come_first_and_no_more_than_there_are(stand_in):
    rows = stand_in().vectors(TEXTS)
    found = nearest(rows, stand_in().vectors(["averaged gradients"])[0], 2)
    assert [number for number, _ in found][0] == 1 and len(found) == 2
    assert found[0][1] > found[1][1]
    assert len(nearest(rows, rows[0], 10)) == 3
    assert nearest(rows, rows[0], 1) == [(0, pytest.approx(1))]
    assert nearest(rows[:0], rows[0], 1) == []
