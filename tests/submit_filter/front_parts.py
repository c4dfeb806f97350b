"""Asks single parts of the front (front_parts.c), and holds their answers against those of a second reading."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache

from tests.doubles.stand import FRONT

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-O1", "-g", "-fsanitize=address,undefined")
LINKED = ("answer", "buffer", "process", "words_qsub", "words_sbatch")  # the others are part of the text
Row = tuple[bytes, ...]


def wrong(part: str, expected: Mapping[Row, object]) -> list[tuple[Row, object, str]]:
    """Return rows of fields of which the front says something else, with what was expected and what it says.

    There must be more than one answer: a part that always says the same has not been asked.
    """
    assert len(set(expected.values())) > 1
    rows = list(expected)
    pairs = zip(rows, _asked(part, rows), strict=True)
    return [(row, expected[row], answer) for row, answer in pairs if str(expected[row]) != answer][:5]


def words_of(name: str) -> frozenset[bytes]:
    """Return the words of a list of the front's headers."""
    texts = []
    for header in ("service_words.h", "watched.h"):
        with open(os.path.join(FRONT, header), encoding="utf-8") as file:
            texts += re.findall(r"%s\[\] = \{(.*?)\};" % name, file.read(), re.DOTALL)
    (text,) = texts
    return frozenset(word.encode() for word in re.findall(r'"([^"]+)"', text))


def _asked(part: str, rows: Sequence[Row]) -> list[str]:
    """Ask about all rows in one process, under sanitizers."""
    text = b"".join(
        b"%s %d\n" % (part.encode(), len(row)) + b"".join(b"%d\n%s" % (len(field), field) for field in row)
        for row in rows
    )
    around = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    with tempfile.TemporaryFile() as answers:  # what is said to a pipe that is full is lost
        done = subprocess.run([_driver()], input=text, stdout=answers, stderr=subprocess.PIPE, env=around, timeout=300)
        answers.seek(0)
        assert (done.returncode, done.stderr) == (0, b"")
        return answers.read().decode("latin-1").split("\n")[:-1]


@lru_cache(None)
def _driver() -> str:
    folder = tempfile.mkdtemp(prefix="maple-parts-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path, parts = os.path.join(folder, "parts"), [os.path.join(FRONT, name + ".c") for name in LINKED]
    subprocess.run(["cc", *FLAGS, "-I", FRONT, "-o", path, os.path.join(HERE, "front_parts.c"), *parts], check=True)
    return path
