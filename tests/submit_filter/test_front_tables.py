"""The tables compiled into the front say what the Python side and sbatch itself say."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess

import pytest
from maple_submit_filter.launchers.registry import registry

from tests.doubles.stand import FRONT, ROOT

_spec = importlib.util.spec_from_file_location("headers", os.path.join(ROOT, "packaging", "docs", "headers.py"))
assert _spec is not None and _spec.loader is not None
written = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(written)

CASES = os.path.join(ROOT, "tests", "cases", "front")


def header(name: str) -> str:
    """The text of a header of the front."""
    with open(os.path.join(FRONT, name)) as file:
        return file.read()


def options_in_c() -> dict[str, tuple[int, str]]:
    """Arity and letter of every option that the front knows."""
    rows = re.findall(r"^OPTION\(\"([^\"]+)\", (\d), (?:'(.)'|0)\)$", header("slurm_options.h"), re.MULTILINE)
    assert len(rows) == header("slurm_options.h").count("\nOPTION(")
    return {name: (int(arity), letter) for name, arity, letter in rows}


@pytest.mark.parametrize("name", sorted(written.headers()))
def test_a_table_is_as_it_is_written(name: str) -> None:
    """From what Python reads; `make docs` writes it."""
    assert header(name) == written.headers()[name]


def test_no_field_of_a_frame_has_the_number_of_another() -> None:
    """Of a request, and of a reply."""
    in_c = re.findall(r"\b([QR])_[A-Z_]+ = (\d+)", header("frame_tags.h"))
    assert len(in_c) == len(set(in_c)) == 31


def test_a_script_with_a_launcher_that_plans_know_is_asked_about() -> None:
    """All but remote shells, which start nothing without one of the others."""
    words = re.findall(r'"([^"]+)"', header("launcher_words.h").partition("LAUNCHER_WORDS[]")[2])
    names = {name.decode() for name in registry()} - {"ssh", "rsh", "pbs_tmrsh"}
    assert sorted(name for name in names if not any(word in name for word in words)) == []


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
