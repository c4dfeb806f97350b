"""The tables compiled into the front say what the Python side and sbatch itself say."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from maple_submit_filter.host import frames
from maple_submit_filter.launchers.registry import registry
from maple_submit_filter.request.options import NO, OPTIONAL, REQUIRED
from maple_submit_filter.request.slurm.options import SBATCH
from maple_submit_filter.types.submission import SECRET_WORDS, WATCHED_NAMES, WATCHED_PREFIXES

from tests.doubles.stand import FRONT, ROOT

CASES = os.path.join(ROOT, "tests", "cases", "front")


def header(name: str) -> str:
    """The text of a header of the front."""
    with open(os.path.join(FRONT, name)) as file:
        return file.read()


def words_of(table: str) -> tuple[bytes, ...]:
    """The words of one table in watched.h."""
    text = re.search(table + r"\[\] = \{(.*?)\};", header("watched.h"), re.DOTALL)
    assert text is not None
    return tuple(word.encode() for word in re.findall(r'"([^"]+)"', text.group(1)))


def options_in_c() -> dict[str, tuple[int, str]]:
    """Arity and letter of every option that the front knows."""
    rows = re.findall(r"^OPTION\(\"([^\"]+)\", (\d), (?:'(.)'|0)\)$", header("slurm_options.h"), re.MULTILINE)
    assert len(rows) == header("slurm_options.h").count("\nOPTION(")
    return {name: (int(arity), letter) for name, arity, letter in rows}


def test_the_watched_variables_are_the_same_in_c() -> None:
    """In the same order."""
    assert words_of("WATCHED_PREFIXES") == WATCHED_PREFIXES
    assert words_of("WATCHED_NAMES") == WATCHED_NAMES
    assert words_of("SECRET_WORDS") == SECRET_WORDS


def test_the_frames_have_the_same_numbers_and_words_in_c() -> None:
    """Of each field that one side names, with the names of the other where they differ; and no number twice."""
    names = {"R_NONCE": "_NONCE", "R_HASH": "_HASH", "R_SCRIPT": "_NEW_SCRIPT", "R_ARGV": "_NEW_ARGV"}
    names["R_EARLIER"] = "_REPLY_EARLIER"
    in_c = {name: int(number) for name, number in re.findall(r"\b([QR]_[A-Z_]+) = (\d+)", header("frame_tags.h"))}
    assert len(in_c) == 31 and all(getattr(frames, names.get(one, one[1:])) == in_c[one] for one in in_c)
    for side in "QR":
        numbers = [number for name, number in in_c.items() if name.startswith(side)]
        assert len(set(numbers)) == len(numbers)
    ways = re.search(r"WAYS\[\] = \{(.*?)\}", header("frame_tags.h"))
    assert ways is not None and tuple(re.findall(r'"(\w+)"', ways.group(1))) == frames.CAME


def test_a_script_with_a_launcher_that_plans_know_is_asked_about() -> None:
    """All but remote shells, which start nothing without one of the others."""
    words = re.findall(r'"([^"]+)"', header("launcher_words.h").partition("LAUNCHER_WORDS[]")[2])
    names = {name.decode() for name in registry()} - {"ssh", "rsh", "pbs_tmrsh"}
    assert sorted(name for name in names if not any(word in name for word in words)) == []


def test_every_option_that_python_reads_is_known_in_c() -> None:
    """With the same arity and letter; aliases have no letter of their own."""
    arity = {NO: 0, REQUIRED: 1, OPTIONAL: 2}
    letters = {option.name: letter.decode() for letter, option in SBATCH.short.items()}
    read = {name.decode(): (arity[one.value], one.name) for name, one in SBATCH.long.items()}
    known = options_in_c()
    for name, (takes, canonical) in read.items():
        assert known.get(name) == (takes, letters.get(name, "") if name == canonical else ""), name


@pytest.mark.parametrize("case", sorted(name for name in os.listdir(CASES) if name.startswith("sbatch-")))
def test_the_options_of_a_real_sbatch_are_known(case: str) -> None:
    """With the arity and the letter that its own table gives them."""
    known = options_in_c()
    with open(os.path.join(CASES, case)) as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    real = {name: (int(arity), "" if letter == "-" else letter) for name, arity, letter in rows}
    assert len(real) > 90
    # What takes a value in one release may have one in every other: attached, so that it never moves the script's word.
    assert {name: known.get(name) for name in real if known.get(name, (0, ""))[0] != 2 or real[name][0] == 2} == {
        name: one for name, one in real.items() if known.get(name, (0, ""))[0] != 2 or one[0] == 2
    }
    assert {name: letter for name, (_, letter) in real.items()} == {name: known[name][1] for name in real}


def test_the_front_s_parsers_survive_mutated_frames_and_words() -> None:
    """Ten seconds of them under address and undefined-behaviour sanitizers; a fixed seed, so a failure comes again."""
    subprocess.run(["make", "-s", "-C", FRONT, "fuzz"], check=True)
    environment = {"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=1"}
    done = subprocess.run(
        [os.path.join(FRONT, "build", "fuzz"), "20250101", "10"], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout.split()[0]) > 1000


def test_the_front_stays_small() -> None:
    """Fewer than 2,000 lines beside its tables, and no long ones: what can be decided in Python is not decided in C."""
    tables = {
        "launcher_words.h",
        "service_words.h",
        "slurm_options.h",
        "watched.h",
        "sha256_constants.h",
        "frame_tags.h",
    }
    code = [name for name in os.listdir(FRONT) if name.endswith((".c", ".h")) and name not in tables | {"fuzz.c"}]
    assert {"front.c", "front.h", "copy.c"} <= set(code)
    assert sum(header(name).count("\n") for name in code) < 2000
    assert max(len(line) for name in code for line in header(name).splitlines()) <= 130
