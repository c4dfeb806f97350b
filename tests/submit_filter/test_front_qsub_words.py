"""The front, what is read later, and the double of qsub agree on which word is the script, whatever the line."""

from __future__ import annotations

import os
import random
import re
import subprocess
from typing import Optional

import pytest
from maple_submit_filter.request.options import NO
from maple_submit_filter.request.pbs import options as qsub_words
from maple_submit_filter.request.pbs.options import QSUB

from tests.doubles.stand import FRONT, ROOT, Seen, Stand, compiled

FILES = ("job.sh", "-dash.sh", "sub/other.sh", "1")
FLAGS = "fhVXz"
WITH_VALUE = {
    "l": "walltime=1",
    "W": "umask=022",
    "j": "oe",
    "p": "5",
    "r": "y",
    "J": "1-4",
    "S": "/bin/sh",
    "v": "A=1",
}
ANY_VALUE = "APC"  # take whatever word stands there
NOISE = ("--", "-", "-Z", "-:", "-h-", "--version", "--help", "", "-I", "-uroot", "-zI", "-")


def line(draw: random.Random) -> list[str]:
    """A command line: mostly options that qsub takes, then mostly one script."""
    words: list[str] = []
    for _ in range(draw.randrange(5)):
        kind = draw.randrange(8)
        letter, value = draw.choice(sorted(WITH_VALUE.items()))
        bundle = "-" + "".join(draw.sample(FLAGS, draw.randrange(3)))
        if kind < 2:
            words.append(bundle)
        elif kind < 4:
            words.append(bundle + letter + value)
        elif kind < 5:
            words += [bundle + letter, value]
        elif kind < 6:
            words.append("-" + draw.choice(ANY_VALUE))  # the next word is its value, or there is none
        else:
            words.append(draw.choice(NOISE))
    words += draw.sample(FILES, draw.choice((0, 1, 1, 1, 1, 2)))
    return words


def lines() -> list[list[str]]:
    """Five hundred of them, the same each time."""
    draw = random.Random(20250101)
    return [line(draw) for _ in range(500)]


@pytest.fixture(scope="module")
def front() -> list[tuple[str, int]]:
    """How the front takes each line."""
    subprocess.run(["make", "-s", "-C", FRONT, "fuzz"], check=True)
    text = b"".join(b"".join(word.encode() + b"\0" for word in words) + b"\n" for words in lines())
    done = subprocess.run(
        [os.path.join(FRONT, "build", "fuzz"), "words", "qsub"], input=text, capture_output=True, check=True
    )
    return [(way, int(word)) for way, word in (one.split() for one in done.stdout.decode().splitlines())]


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Stand:
    """The double of qsub, and every file that a line can name, each with a content of its own."""
    folder = str(tmp_path_factory.mktemp("words"))
    one = Stand(folder, "/bin/true", compiled("qsub", folder), "qsub")
    one.setup()
    for name in FILES:
        one.write(name, b"# " + name.encode())
    return one


def read_by(seen: Seen) -> Optional[bytes]:
    """The script that the double read; None where it read none, or started no batch job in the caller's name."""
    said = {one.split(b" ")[0] for one in seen.lines(b"set")}
    if said & {b"interactive", b"user"} or not seen.values(b"script") or b"script file::" in seen.stderr:
        return None
    return seen.script


def test_the_front_takes_for_the_script_what_qsub_takes(double: Stand, front: list[tuple[str, int]]) -> None:
    """File, standard input, or none to be looked at; over five hundred lines each of them often."""
    wrong = []
    for words, (way, word) in zip(lines(), front):
        script = read_by(double.run(False, words, stdin=b"# stdin"))
        if script != content(way, words, word):
            wrong.append((words, way, word, script))
    assert wrong == []
    assert min([way for way, _ in front].count(way) for way in ("file", "stdin", "left")) > 50


def content(way: str, words: list[str], word: int) -> Optional[bytes]:
    """What the front would read; None where it looks at no script or finds none."""
    if way == "stdin":
        return b"# stdin"
    return b"# " + words[word - 1].encode() if way == "file" and words[word - 1] in FILES else None


def test_a_submission_read_later_takes_the_same_words_as_the_front(front: list[tuple[str, int]]) -> None:
    """On the same lines."""
    taken = [qsub_words.read([b"qsub", *(word.encode() for word in words)]) for words in lines()]
    assert [(one.came, one.word) if one else ("left", 0) for one in taken] == front


def letters(text: str) -> dict[str, int]:
    """The letters of a getopt string, and whether each takes a value."""
    return {letter: int(colon == ":") for letter, colon in re.findall(r"([A-Za-z])(:?)", text)}


def test_the_letters_of_qsub_are_the_same_everywhere() -> None:
    """In the front, where command lines are read later, and where directives are read, as a real qsub has them."""
    with open(os.path.join(ROOT, "tests", "cases", "front", "qsub-23.06.06-options.txt")) as file:
        real = {line.split()[0]: int(line.split()[1]) for line in file if not line.startswith("#")}
    with open(os.path.join(FRONT, "words_qsub.c")) as file:
        in_c = re.findall(r'OPTIONS\[\] = "([^"]+)"', file.read())
    read = {letter.decode(): int(one.value != NO) for letter, one in QSUB.short.items()}
    assert len(real) == 28
    assert letters(in_c[0]) == letters(qsub_words.OPTIONS.decode()) == read == real
