"""The pytest plugin of `python -m tests.bugs`: after collection each bug is tried by the tests that reach its line.

First every test runs once, and the lines of the code in question that it reaches are kept. Then, for each bug, a
fork of this process gets the function with the bug and runs those tests, the shortest first, until one fails. What a
test starts as another program never sees the bug.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import json
import os
import random
import re
import signal
import time
from collections import defaultdict
from types import CodeType, FunctionType
from typing import Optional

import pytest
from _pytest.runner import runtestprotocol

from tests.bugs.python_bugs import Bug, bugs, compiled, watched

SECONDS = 10.0  # of tests a bug may take, as they took without it; beyond it counts as alive
WHOLE = re.compile(r"test_rules_|seen_|test_corpus|test_provoked")


class Trials:
    """The bugs of the folders, a number of each folder, and who noticed them."""

    def __init__(self, folders: list[str], seed: int, each: int, to: str, known: str) -> None:
        self.folders, self.seed, self.each, self.to, self.known = folders, seed, each, to, known
        self.seconds: dict[str, float] = {}
        self.reached: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.items: dict[str, pytest.Item] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep a hundred tests, drawn once and for all, of a file that has the same one for every case of a corpus."""
        files: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            files[item.nodeid.partition("::")[0]].append(item)
        items[:] = [item for name, those in files.items() for item in (those if WHOLE.search(name) else _some(those))]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once that are not known yet, then the bugs."""
        self.items = {item.nodeid: item for item in session.items}
        for folder in self.folders:
            _import_all(folder)
        self._reach()
        done = _lines(self.to)
        with open(self.to, "a", encoding="utf-8") as file:
            for bug in self._chosen():
                if str(bug) in done:
                    continue
                word, who = self._tried(bug)
                file.write(json.dumps({"bug": str(bug), "seed": self.seed, "was": word, "by": who}) + "\n")
                file.flush()
        return True

    def _reach(self) -> None:
        """Find the statements that each test reaches, in a fork, and keep them in a file."""
        was = _before(self.known)
        fresh = [item for name, item in self.items.items() if name not in was]
        child = os.fork()
        if child == 0:
            self._watch(fresh)
            os._exit(0)
        os.waitpid(child, 0)
        for name, (seconds, lines) in _before(self.known).items():
            self.seconds[name] = seconds
            for file, numbers in lines.items() if name in self.items else ():
                for line in numbers:
                    self.reached[file, line].append(name)

    def _watch(self, items: list[pytest.Item]) -> None:
        lines: set[tuple[str, int]] = set()
        builtins.reached_ = lines.add  # type: ignore[attr-defined]
        made = {(file, name): code for folder in self.folders for file in _files(folder)
                for name, code in watched(file, _read(file))}  # fmt: skip
        _swap(made)
        with open(self.known, "a", encoding="utf-8") as kept:
            for item, following in zip(items, [*items[1:], None]):
                lines.clear()
                began = time.process_time()
                failed = _fails(item, following)
                told = [item.nodeid, time.process_time() - began, {} if failed else _by_file(lines)]
                kept.write(json.dumps(told) + "\n")

    def _chosen(self) -> list[Bug]:
        dice, chosen = random.Random(self.seed), list[Bug]()
        for folder in self.folders:
            known = [bug for file in sorted(_files(folder)) for bug in bugs(file, _read(file))]
            chosen += dice.sample(known, min(self.each, len(known)))
        return chosen

    def _tried(self, bug: Bug) -> tuple[str, str]:
        """Return "noticed", "alive" or "unreached", and by which test."""
        names = sorted(self.reached.get((bug.file, bug.statement), ()), key=lambda name: self.seconds[name])
        if not names:
            return "unreached", ""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os._exit(self._in_child(bug, names, write))
        os.close(write)
        ended = os.waitpid(child, 0)[1]
        with os.fdopen(read) as said:
            who = said.read()
        return ("alive", "%d tests" % len(names)) if ended == 0 else ("noticed", who)

    def _in_child(self, bug: Bug, names: list[str], write: int) -> int:
        signal.alarm(int(8 * SECONDS))  # a bug that never ends is noticed too
        _swap({(bug.file, bug.function): compiled(bug, _read(bug.file))})
        spent = 0.0
        for name in names:
            spent += self.seconds[name]
            if spent > SECONDS:
                return 0
            if _fails(self.items[name], None):
                os.write(write, name.encode()[:4000])
                return 1
        return 0


def _import_all(folder: str) -> None:
    """A module that is imported late has no function yet that could get another code."""
    at = folder.index("maple_")
    for file in _files(folder):
        importlib.import_module(file[at:].removesuffix(".py").removesuffix("/__init__").replace("/", "."))


def _some(items: list[pytest.Item]) -> list[pytest.Item]:
    return random.Random(0).sample(items, 100) if len(items) > 100 else items


def _fails(item: pytest.Item, following: Optional[pytest.Item]) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _lines(to: str) -> set[str]:
    """Return the bugs that a run before has tried already."""
    if not os.path.exists(to):
        return set()
    with open(to, encoding="utf-8") as file:
        return {json.loads(line)["bug"] for line in file}


def _by_file(lines: set[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for file, line in sorted(lines):
        found[file].append(line)
    return found


def _before(known: str) -> dict[str, tuple[float, dict[str, list[int]]]]:
    if not os.path.exists(known):
        return {}
    with open(known, encoding="utf-8") as file:
        return {name: (seconds, lines) for name, seconds, lines in map(json.loads, file)}


def _swap(made: dict[tuple[str, str], CodeType]) -> None:
    """Give every function object the code that is made for it. No test has run in this process: nothing is kept."""
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            thing.__code__ = made.get((thing.__code__.co_filename, thing.__code__.co_qualname), thing.__code__)


def _files(folder: str) -> list[str]:
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".py")]


def _read(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()
