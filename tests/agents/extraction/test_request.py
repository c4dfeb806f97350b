"""Requests in words are read as people mean them; where they do not say one thing, nothing is read."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from maple_agents.base.slots import INTEGERS, NAMES, Slot
from maple_agents.request.language.languages import MOST
from maple_agents.request.words import read, refusal

from .requests import Case, cases, differences

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_request_says_what_people_read_in_it(case: Case) -> None:
    """Every slot that is there is read, and none that is not; contradictions and refusals are found."""
    assert differences(case) == []


def test_there_are_requests_of_every_kind() -> None:
    """At least 300, of them some that contradict themselves, some that are refused, and every slot in some."""
    named = {name for case in CASES for name in case.slots}
    assert len(CASES) >= 300
    assert sum(case.open for case in CASES) >= 20
    assert sum(case.refused for case in CASES) >= 15
    assert named == set(NAMES)


@pytest.mark.parametrize("case", [case for case in CASES if case.slots], ids=str)
def test_every_slot_shows_where_it_was_read(case: Case) -> None:
    """The span lies in the request and holds words; of a program they are its very words, of a count the number."""
    for slot in read(case.says).slots.values():
        words = case.says[slot.origin.start : slot.origin.end]
        assert words.strip()
        assert slot.origin.where == " ".join(words.split())
        assert _holds(slot, words, case.says)


def _holds(slot: Slot, words: str, says: str) -> bool:
    if slot.name == "program":  # arguments that were said apart from it stand behind it
        return str(slot.value).startswith(words) and all(word in says for word in str(slot.value).split())
    if slot.name in ("account", "partition", "queue", "qos", "container"):
        return str(slot.value) in words
    return slot.name not in INTEGERS or any(character.isalnum() for character in words)


def test_the_parts_of_a_program_are_its_own() -> None:
    """Options behind the program are its arguments, not the job's, whatever they are called."""
    slots = read("run train.py --nodes 7 --time 3:00:00 --account x9 --batch 8 GPUs per node").slots.as_json()
    assert slots == {"program": "train.py --nodes 7 --time 3:00:00 --account x9 --batch 8"} or "nodes" not in slots


@pytest.mark.parametrize(
    "text", ["", " \n", "x" * 1_000_000, "4 nodes " * 200_000, "\x00 4 nodes", "\u202e4 nodes", "１２"]
)
def test_what_is_no_text_says_nothing(text: str) -> None:
    """It is refused in one line, and read as nothing, at once."""
    line = refusal(text)
    assert line
    assert "\n" not in line
    assert dict(read(text).slots) == {}


@pytest.mark.parametrize(
    "hostile", ['"; rm -rf ~ #', "$(id)", "`id`", "a;reboot", "../../etc/passwd", "${HOME}", "<script>"]
)
def test_an_account_is_never_a_piece_of_shell(hostile: str) -> None:
    """What no account is called never becomes one."""
    asked = read("2 nodes, account: %s, 1 hour" % hostile)
    assert all(character not in asked.slots.text("account") for character in ';$`"<>{}/# ')
    assert asked.slots.number("nodes") == 2


NASTY = {
    "counts": "4 of the of the of the " * 200,
    "numbers": "4 x 4 x 4 x " * 600,
    "glued": "1x" * 3900,
    "keys": "a=" * 3900,
    "colons": "filesystems : : : : : : " * 300,
    "charge": "charge to " * 790,
    "negations": "not " * 1900 + "4 nodes",
    "corrections": "4 nodes no make that 8 " * 330,
    "quotes": "'\"`" * 2600,
    "assignments": "A=b " * 1900,
    "slashes": "a/" * 3900,
    "options": "--nodes " * 950,
    "array": "array " * 1300,
    "past": "my last job was " * 480,
    "sites": "on delta to anvil " * 430,
    "blanks": "account" + " " * 7900 + "x",
    "programs": "python " * 1100,
    "durations": "1h " * 2600,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", NASTY)
def test_no_request_takes_for_ever(name: str) -> None:
    """Whatever stands in a request that is short enough, its words are read to the end."""
    assert len(NASTY[name]) <= MOST
    read(NASTY[name])


def test_reading_needs_no_heavy_library() -> None:
    """Words are read without pydantic, numpy, rich or click: they are imported by whoever needs them."""
    code = (
        "import sys; from maple_agents.request.words import read; read('train.py on 2 nodes of Delta with DDP');"
        "print([name for name in ('pydantic', 'numpy', 'rich', 'click', 'torch') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
