"""The double of qsub answers as qsub was measured to, row by row; a real qsub can be held to the same rows."""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any, Iterator

import pytest
import tomllib

from tests.doubles.stand import ROOT, Seen, compiled, on_terminal

TABLES = os.path.join(ROOT, "tests", "cases", "pbs", "tables")
REAL = os.environ.get("MAPLE_TEST_QSUB", "")
HAS = set(os.environ.get("MAPLE_TEST_QSUB_HAS", "").split(","))
KEYS = {
    *("says", "words", "script", "stdin", "environment", "file", "terminal", "signal", "setup", "needs"),
    *("stdout", "stderr", "stderr_has", "usage", "exit", "sets", "unset", "name", "given"),
}
NOBODY = 65534


def rows() -> list[Any]:
    """Every row of every table, by its sentence."""
    found = []
    for path in sorted(glob.glob(TABLES + "/*.toml")):
        with open(path, "rb") as file:
            table = tomllib.load(file)["row"]
        found += [pytest.param(row, id="%s: %s" % (os.path.basename(path)[:-5], row["says"])) for row in table]
    return found


class Place:
    """A folder that any user can work in, with the command to be asked in it."""

    def __init__(self, folder: str, command: str) -> None:
        self.folder, self.command = folder, command
        self.record = folder + "/record"

    def lay_out(self, row: dict[str, Any]) -> None:
        """Put what the row's words name where they say."""
        path = os.path.join(self.folder, row.get("file", "") if "." in row.get("file", "") else "job.sh")
        if row.get("file") == "folder":
            os.mkdir(path)
        elif row.get("file") != "missing":
            with open(path, "wb") as file:
                file.write(row.get("script", "#!/bin/bash\ntrue\n").encode())
            os.chmod(path, 0 if row.get("file") == "unreadable" else 0o644)
        with open(self.folder + "/server", "w") as server:
            for name, value in row.get("setup", {}).items():
                server.write("%s=%s\n" % (name, str(value).replace("\n", "\\n")))

    def environment(self, row: dict[str, Any]) -> dict[str, str]:
        """The environment of the call."""
        own = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "LOGNAME": "alice", "RECORD": self.record}
        base = dict(os.environ) if REAL else {**own, "QSUB_SETUP": self.folder + "/server"}
        return {**base, **row.get("environment", {})}

    def ask(self, row: dict[str, Any]) -> Seen:
        """Make the row's call."""
        words = ["qsub", *row["words"]]
        if "terminal" in row:
            shown, status = on_terminal(
                self.command, words, self.environment(row), self.folder, row["terminal"].encode()
            )
            return Seen(self.written(), shown, shown, status)
        more: dict[str, Any] = {"user": NOBODY, "group": NOBODY} if row.get("file") == "unreadable" else {}
        process = subprocess.Popen(
            words, executable=self.command, cwd=self.folder, env=self.environment(row),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **(more if os.geteuid() == 0 else {}),
        )  # fmt: skip
        if "signal" in row:
            self.wait()
            process.send_signal(getattr(signal, "SIG" + row["signal"]))
        out, err = process.communicate(row.get("stdin", "").encode(), timeout=120)
        return Seen(self.written(), out, err, process.returncode)

    def wait(self) -> None:
        """Return when qsub waits for its job: the double says so, a real one has had two seconds."""
        for _ in range(200):
            if not REAL and b"\nwaits\n" in self.written():
                return
            time.sleep(0.01)
        assert REAL, "the double does not wait"

    def written(self) -> bytes:
        """The double's record."""
        if not os.path.exists(self.record):
            return b""
        with open(self.record, "rb") as file:
            return file.read()


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The qsub that is held to the tables."""
    return REAL or compiled("qsub", str(tmp_path_factory.mktemp("double")))


@pytest.fixture
def place(command: str) -> Iterator[Place]:
    """A fresh folder, not below one that is closed to others."""
    folder = tempfile.mkdtemp(prefix="maple-qsub-")
    os.chmod(folder, 0o777)
    yield Place(folder, command if REAL else shutil.copy(command, folder + "/qsub"))
    shutil.rmtree(folder)


def fits(expected: str, said: bytes, whole: bool = True) -> bool:
    """Whether *said* is the text, with any job's id for `{job}` and any server for `{server}`."""
    job, array = r"\d+\.[\w.-]+", r"\d+\[\]\.[\w.-]+"
    pattern = re.escape(expected).replace(r"\{job\}", "(?P<job>%s)" % job, 1).replace(r"\{job\}", "(?P=job)")
    pattern = pattern.replace(r"\{array\}", array)
    pattern = pattern.replace(r"\{server\}", r"[\w.-]+")
    match = (re.fullmatch if whole else re.search)(pattern.encode(), said)
    return match is not None


def wanted(row: dict[str, Any]) -> dict[str, str]:
    """The texts that must come back whole, by stream."""
    return {name: row[name] for name in ("stdout", "stderr") if name in row}


@pytest.mark.parametrize("row", rows())
def test_qsub_answers_as_it_was_measured_to(place: Place, row: dict[str, Any]) -> None:
    """Both streams and the exit; and from the double what the request amounts to."""
    if REAL and not set(row.get("needs", ())) <= HAS:
        pytest.skip("wants a server with %s" % ", ".join(row["needs"]))
    place.lay_out(row)
    seen = place.ask(row)
    said = {"stdout": seen.stdout, "stderr": seen.stderr}
    assert {name: text for name, text in wanted(row).items() if not fits(text, said[name])} == {}, said
    assert [text for text in row.get("stderr_has", ()) if not fits(text, seen.stderr, whole=False)] == [], said
    assert not row.get("usage") or b"usage" in seen.stderr.lower()
    assert seen.exit == row.get("exit", seen.exit)
    if not REAL:
        assert_amounts_to(row, seen)


def assert_amounts_to(row: dict[str, Any], seen: Seen) -> None:
    """The settings in force, the name and the chunks are those that the row states."""
    said = dict(line.split(b" ", 1) for line in seen.lines(b"set"))
    given = dict(line.split(b" ", 1) for line in seen.lines(b"given"))
    sets = {name.encode(): value.encode() for name, value in row.get("sets", {}).items()}
    assert sets.items() <= said.items()
    assert not set(row.get("unset", ())) & {name.decode() for name in said}
    assert "name" not in row or seen.lines(b"name") == [row["name"].encode()]
    assert "given" not in row or given == {name.encode(): value.encode() for name, value in row["given"].items()}


def test_every_row_says_something_that_could_be_wrong() -> None:
    """No key is misspelt, no two rows have one sentence, and each states more than its exit."""
    every = [one.values[0] for one in rows()]
    assert [row["says"] for row in every if set(row) - KEYS] == []
    sentences = [one.id for one in rows()]
    assert len(set(sentences)) == len(sentences) > 110
    told = {"stdout", "stderr", "stderr_has", "sets", "unset", "name", "given"}
    assert [row["says"] for row in every if not told & set(row)] == []
