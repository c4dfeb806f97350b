"""Ownership: the binding against a double built with the address sanitizer, in a Python of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doubles.libpbs import Scenario, build

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
sys.path[:0] = [sys.argv[1] + "/agents", sys.argv[1] + "/submit_filter"]
from maple_agents.ask.schedulers import SchedulerError
from maple_agents.ask.schedulers.pbs.ifl import Connection
from maple_agents.ask.schedulers.pbs.library import Library
from maple_agents.ask.schedulers.pbs.library import Attribute

library = Library(sys.argv[2])
free = library.functions.pbs_statfree
misuse = {"none": free, "leak": lambda answer: None, "twice": lambda answer: (free(answer), free(answer))}
library.functions.pbs_statfree = misuse[sys.argv[3]]
with Connection(library) as connection:
    kept = [connection.statjob("30")[0].values() for _ in range(3)]
    connection.selstat([Attribute("User_List", "", "alice")])
    for refused in (lambda: connection.statjob("99"), lambda: connection.alterjob("30", [Attribute("a", "b", "c")])):
        try:
            refused()
        except SchedulerError as error:
            print(error)
    connection.statserver(), connection.statque(), connection.statnode()
assert kept[0]["comment"] == "x" * 5000
"""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("sanitized") / "libpbs.so", "-fsanitize=address", "-fno-omit-frame-pointer")


@pytest.fixture
def report(sanitized, tmp_path):
    """Return a function that runs the program with a way of freeing, and gives exit code and what was printed."""

    def run(misuse: str) -> tuple[int, str]:
        scenario = (
            Scenario()
            .job("30.pbs01", {"job_state": "R", "Job_Owner": "alice@pbs01", "comment": "x" * 5000})
            .thing("queue", "workq", {"enabled": "True"})
            .thing("node", "node1", {"state": "free"})
            .thing("server", "pbs01", {"pbs_version": "23.06.06"})
            .fault("alterjob", 15010, result=15010)
            .refuse("a.b", "c", 15014, "Illegal attribute")
        )
        runtime = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        env = {
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": runtime,
            "ASAN_OPTIONS": "detect_leaks=1",
            "PYTHONMALLOC": "malloc",
            "MAPLE_LIBPBS_SCENARIO": str(scenario.write(tmp_path / "scenario")),
        }
        words = [sys.executable, "-I", "-c", PROGRAM, str(ROOT), str(sanitized), misuse]
        said = subprocess.run(words, env=env, capture_output=True, text=True, errors="replace", timeout=120)
        return said.returncode, said.stdout + said.stderr

    return run


def test_every_list_is_given_back_once_and_nothing_is_read_after(report):
    """The interpreter leaks some of its own at exit; nothing that libpbs allocated may be among it."""
    _, said = report("none")
    assert "unknown job" in said.lower() and "Illegal attribute a.b" in said  # it really ran to its end
    assert "Traceback" not in said
    assert "pbs_stat" not in said and "pbs_selstat" not in said


def test_the_sanitizer_sees_a_list_that_is_not_given_back(report):
    _, said = report("leak")
    assert "LeakSanitizer" in said and "pbs_statjob" in said


def test_the_sanitizer_sees_a_list_that_is_given_back_twice(report):
    code, said = report("twice")
    assert code != 0 and "AddressSanitizer: heap-use-after-free" in said and "pbs_statfree" in said
