"""A double of libpbs for each test, and what it was called with."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from maple_agents.ask.schedulers.pbs.library import Library

from tests.doubles import qstat as double_of_qstat
from tests.doubles.libpbs import Scenario, build

DOUBLE_OF_QSTAT = double_of_qstat.__file__


@pytest.fixture(scope="session")
def built_libpbs(tmp_path_factory) -> Path:
    """Compile the double once."""
    return build(tmp_path_factory.mktemp("libpbs") / "libpbs-double.so")


@pytest.fixture
def calls(tmp_path) -> Callable[[], list[str]]:
    """Return a function that gives what the double was called with so far, a line a call."""

    def said() -> list[str]:
        log = tmp_path / "libpbs.log"
        return log.read_text(errors="surrogateescape").splitlines() if log.exists() else []

    return said


@pytest.fixture
def libpbs(built_libpbs, tmp_path, monkeypatch) -> Callable[[Scenario], Library]:
    """Return a function that loads a double of its own for this test: its memory is the library's."""

    def load(scenario: Scenario) -> Library:
        mine = tmp_path / "libpbs-mine.so"
        shutil.copy(built_libpbs, mine)
        monkeypatch.setenv("MAPLE_LIBPBS_SCENARIO", str(scenario.write(tmp_path / "scenario")))
        monkeypatch.setenv("MAPLE_LIBPBS_LOG", str(tmp_path / "libpbs.log"))
        return Library(str(mine))

    return load


@pytest.fixture
def any_libpbs(libpbs) -> Library:
    """Return the library that MAPLE_TEST_LIBPBS names, to be asked for real, or else a double that knows a little."""
    real = os.environ.get("MAPLE_TEST_LIBPBS")
    if real:
        return Library(real)
    server = {"server_host": "pbs01", "pbs_version": "23.06.06", "default_queue": "workq"}
    return libpbs(
        Scenario()
        .thing("server", "pbs01", server)
        .thing("queue", "workq", {"enabled": "True", "started": "True"})
        .thing("node", "node1", {"state": "free", "resources_available.ncpus": "64"})
    )


class Recorded:
    """A folder of commands that print what was recorded, and note the words they were called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "called"
        folder.mkdir()

    def answer(self, command: str, *answers: tuple[str, str, str, int]) -> None:
        """Let *command* answer: for each shell pattern of its words, stdout, stderr and exit code; the first counts."""
        cases = ""
        for index, (pattern, out, err, code) in enumerate(answers):
            for kind, text in (("out", out), ("err", err)):
                path = self.folder / ("%s-%d.%s" % (command, index, kind))
                path.write_bytes(text.encode("utf-8", "surrogateescape"))
            base = "%s/%s-%d" % (self.folder, command, index)
            cases += "%s) cat '%s.out'; cat '%s.err' >&2; exit %d;;\n" % (pattern, base, base, code)
        script = self.folder / command
        note = "{ printf '%%s' '%s'; printf ' [%%s]' \"$@\"; echo; } >> '%s'" % (command, self.log)
        script.write_text('#!/bin/sh\n%s\ncase "$*" in\n%s*) exit 99;;\nesac\n' % (note, cases))
        script.chmod(0o755)

    def called(self) -> list[str]:
        """Return a line for each call: the command, then each word in brackets."""
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def qstat(tmp_path, monkeypatch) -> Callable[[Mapping[str, Mapping[str, object]]], Path]:
    """Return a function that puts the double of qstat, which knows these jobs, into a folder."""

    def place(jobs: Mapping[str, Mapping[str, object]]) -> Path:
        folder = tmp_path / "pbs-bin"
        folder.mkdir(exist_ok=True)
        shutil.copy(DOUBLE_OF_QSTAT, folder / "qstat")
        (folder / "qstat").chmod(0o755)
        (folder / "jobs.json").write_text(json.dumps(jobs))
        monkeypatch.setenv("QSTAT_JOBS", str(folder / "jobs.json"))
        return folder

    return place


@pytest.fixture
def recorded(tmp_path) -> Recorded:
    return Recorded(tmp_path / "bin")
