"""`python -m tests.bugs.by_hand [near] [NAME ...]`: bugs of by_hand.toml, each in a copy of the code, and who notices.

A bug of the front that the tests `near` it do not notice goes through all tests of the front, unless `near` is
said. One of Python goes through the tests that it names, one that breaks a promise through those that
docs/invariants.md names for it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from glob import glob
from typing import Any

import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FRONT = os.path.join("submit_filter", "front")
PACKAGES = ("submit_filter", "agents", "daemon")
SLOW = ("install", "slurm", "tables")  # they build or start more than a front
LONG = 900.0  # seconds; what takes more waits for something
TESTS = [
    path
    for path in sorted(glob(os.path.join(ROOT, "tests", "submit_filter", "test_front_*.py")))
    if not path.endswith(tuple("_%s.py" % word for word in SLOW))
]


def main(words: Sequence[str]) -> int:
    """Try the bugs, all or those whose name holds one of the words; return how many were not noticed.

    One whose words are gone, or stand twice, is passed over and counted with those.
    """
    near, names = "near" in words, [word for word in words if word != "near"]
    bugs = [bug for bug in known() if not names or any(name in bug["name"] for name in names)]
    noticed = 0
    for bug in bugs:
        times = places(bug)
        who = tried(bug, near) if times == 1 else "`was` stands %d times in %s" % (times, bug["file"])
        noticed += times == 1 and bool(who)
        print("%-8s %s: %s" % ("ASTRAY" if times != 1 else "noticed" if who else "ALIVE", bug["name"], who), flush=True)
    print("%d of %d noticed" % (noticed, len(bugs)))
    return len(bugs) - noticed


def known() -> list[dict[str, Any]]:
    """Return the bugs of by_hand.toml."""
    with open(os.path.join(HERE, "by_hand.toml"), "rb") as file:
        return list(tomllib.load(file)["bug"])


def places(bug: dict[str, Any]) -> int:
    """Return how often the words that a bug changes stand in its file: it can be put in where they stand once."""
    path = os.path.join(ROOT, bug["file"])
    return _text(path).count(bug["was"]) if os.path.exists(path) else 0


def tried(bug: dict[str, Any], near: bool) -> str:
    """Return the first test that fails with the bug, "" where none does."""
    with tempfile.TemporaryDirectory(prefix="maple-bug-") as folder:
        part = FRONT if bug["file"].startswith(FRONT) else bug["file"].split("/")[0]
        shutil.copytree(
            os.path.join(ROOT, part), os.path.join(folder, part), ignore=shutil.ignore_patterns("build", "__pycache__")
        )
        _put_in(bug, os.path.join(folder, bug["file"]))
        asked = {"MAPLE_TEST_FRONT": os.path.join(folder, FRONT)}
        if part != FRONT:
            asked = {"PYTHONPATH": _tree(folder, part)}
        if part != FRONT or "promise" in bug:
            return _failing(asked, bug["tests"] if "tests" in bug else promises()[bug["promise"]])
        chosen = [name for word in bug["near"] for name in _named(word)]
        return _failing(asked, chosen) or ("" if near else _failing(asked, TESTS))


def promises() -> dict[str, list[str]]:
    """Return the tests that the page of promises names for each."""
    with open(os.path.join(ROOT, "docs", "invariants.md"), encoding="utf-8") as file:
        rows = [line.split("|") for line in file if line.startswith("| ")]
    return {
        row[1].strip(): [os.path.join(ROOT, "tests", name) for name in re.findall(r"`([\w/]+\.py::test_\w+)`", row[2])]
        for row in rows
    }


def _tree(folder: str, changed: str) -> str:
    """Complete a tree in which one package is a changed copy; return the search path of its packages."""
    for name in os.listdir(ROOT):
        if name != changed:
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    return os.pathsep.join(os.path.join(folder, package) for package in PACKAGES)


def _named(word: str) -> Iterator[str]:
    """Yield the tests of the front whose names hold a word."""
    for path in TESTS:
        with open(path, encoding="utf-8") as file:
            yield from (
                "%s::%s" % (path, name) for name in re.findall(r"^def (test_\w*%s\w*)" % word, file.read(), re.M)
            )


def _put_in(bug: dict[str, Any], path: str) -> None:
    text = _text(path).replace(bug["was"], bug["is"])
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _failing(environment: dict[str, str], tests: Sequence[str]) -> str:
    """Return the first of the tests that fails, "" where none does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-k", "not sanitized"]
    around = {**os.environ, **environment}
    try:
        done = subprocess.run([*command, *tests], cwd=ROOT, env=around, capture_output=True, text=True, timeout=LONG)
    except subprocess.TimeoutExpired:
        return "tests that never end"
    if done.returncode == 0 and " passed" not in done.stdout:
        sys.exit("no test ran: %s" % done.stdout[-300:])  # each was skipped, so nobody has looked
    if done.returncode == 0:
        return ""
    if "ERROR " in done.stdout:
        sys.exit(done.stdout[-600:])  # most likely the bug is none that the compiler takes
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return lines[0] if lines else "pytest ended with %d: %s" % (done.returncode, (done.stdout + done.stderr)[-200:])


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
