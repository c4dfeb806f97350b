"""The pytest plugin of `python -m tests.bugs`: each bug is tried by the tests that reach its statement.

First every test runs once, and the statements of the code in question that it reaches are kept. Then, for each bug, a
fork of this process gets the function with the bug and runs those tests until one fails: of each function of the tests
in turn those to which the bug is nearest. What a test starts as another program
never sees the bug.
"""

from __future__ import annotations

import builtins
import gc
import hashlib
import importlib
import os
import random
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Optional

import pytest
from _pytest.runner import runtestprotocol

from tests.bugs.memory import Noticed, Noticing, Place, Reach, Reached
from tests.bugs.python_bugs import Bug, bugs, compiled, shape, told, watched

SECONDS = 30.0  # of tests a bug may take, as they took without it; beyond it counts as alive
SLICE = 100_000  # microseconds of a function of tests, before the next has its turn
NEIGHBOUR = re.compile(r"seen_scripts\.py.*\[\S+ (?:at|on) ")
WHOLE = re.compile(r"test_rules_|seen_|test_corpus|test_provoked")


class Trial(NamedTuple):
    """A bug, as `told` has it, and what became of it: "noticed", "alive", "unreached"."""

    file: str
    function: str
    line: int
    was: str
    becomes: str
    end: str
    by: str


class Trials:
    """The bugs drawn of the folders, a number of each of *those*, and who noticed them.

    *reached* is the file that keeps which test reaches what, *noticed* the one of who noticed a bug in a run before.
    """

    def __init__(
        self, root: str, folders: list[str], those: list[str], seed: int, each: int, reached: str, noticed: str
    ) -> None:
        self.root, self.folders, self.those, self.seed, self.each = root, folders, those, seed, each
        self.kept, self.noticing = reached, Noticing(noticed)
        self.trials = list[Trial]()
        self.again = 0  # bugs that the same test noticed as in a run before
        self.reach: dict[str, Reach] = {}
        self.tests: dict[Place, list[str]] = defaultdict(list)  # that reach a statement
        self.items: dict[str, pytest.Item] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep a hundred cases, drawn once and for all, of a test that has one for every script of a corpus."""
        tests: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            tests[item.nodeid.partition("[")[0]].append(item)
        items[:] = [item for name, those in tests.items() for item in (those if WHOLE.search(name) else _some(those))]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once that are not known yet, then the bugs."""
        self.items = {item.nodeid: item for item in session.items}
        for folder in self.folders:
            _import_all(folder)
        self.living = _living(self.folders)
        self._find_reach()
        for bug in self._chosen():
            self.trials.append(self._trial(bug))
            print(end=".FE"[("noticed", "alive", "unreached").index(self.trials[-1].end)], flush=True)
        return True

    def _trial(self, bug: Bug) -> Trial:
        """Try a bug; a test that noticed it before is tried first, and noticing is kept for the next run."""
        was, becomes = told(bug, _read(bug.file))
        file = os.path.relpath(bug.file, self.root)
        known = (file, bug.function, was, becomes)
        end, by = self._tried(bug, known)
        if end == "noticed":
            self.again += self.noticing.knows(known, by)
            self.noticing.add(known, by)
        return Trial(file, bug.function, bug.line, was, becomes, end, by)

    def _find_reach(self) -> None:
        """Find the statements that each test reaches, in a fork, and keep them in a file."""
        bugs = [bug for folder in self.folders for bug in _bugs(folder)]
        files = sorted({bug.file for bug in bugs})
        statements = [(bug.file, bug.function, bug.statement) for bug in bugs]
        reached = Reached(self.kept, statements, {file: shape(_read(file)) for file in files})
        was = reached.kept()
        fresh = [item for name, item in self.items.items() if name not in was]
        print("%d of %d tests are run to see what they reach" % (len(fresh), len(self.items)), flush=True)
        child = os.fork()
        if child == 0:
            self._watch(fresh, reached)
            os._exit(0)
        os.waitpid(child, 0)
        self.reach = reached.kept()
        for name, row in self.reach.items():
            for file, numbers in row.places.items() if name in self.items else ():
                for at in numbers:
                    self.tests[reached.statements[file][at]].append(name)

    def _watch(self, items: list[pytest.Item], kept: Reached) -> None:
        reached: set[Place] = set()
        builtins.reached_ = reached.add  # type: ignore[attr-defined]
        made = {(file, name): code for folder in self.folders for file in _files(folder)
                for name, code in watched(file, _read(file))}  # fmt: skip
        self.living.swap(made)
        for item, following in zip(items, [*items[1:], None]):
            reached.clear()
            began = time.process_time()
            if _fails(item, following):
                print("fails without any bug, and is left out: %s" % item.nodeid)
            else:
                kept.add(item.nodeid, time.process_time() - began, reached)

    def _chosen(self) -> list[Bug]:
        """Draw by place: code that comes or goes elsewhere leaves the sample as it is."""

        def lot(bug: Bug) -> str:
            return hashlib.sha256(("%d %s" % (self.seed, bug.place(self.root))).encode()).hexdigest()

        return [bug for folder in self.those for bug in sorted(_bugs(folder), key=lot)[: self.each]]

    def _tried(self, bug: Bug, known: Noticed) -> tuple[str, str]:
        """Return what became of a bug, and by which test."""
        there = self.tests.get((bug.file, bug.function, bug.statement), ())
        names = self.noticing.first(known, self._in_turn(there, bug.file))
        if not names:
            return "unreached", ""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _end_with(self, bug, names, write)
        os.close(write)
        ended = os.waitpid(child, 0)[1]
        with os.fdopen(read) as said:
            who = said.read()
        return ("alive", "%d tests" % len(names)) if ended == 0 else ("noticed", who or "no end")

    def _in_turn(self, names: Iterable[str], file: str) -> list[str]:
        """Return the tests so that each function of them has its say, the nearest first: a slice of time a turn.

        Near is a test of whose statements most are the bug's *file*: a table of made up plans, a rule's own cases. A
        table is tried whole in its first turn, of a thousand scripts some in each. Each neighbour of a script is a
        function of its own: one of them has the value that the others lack.
        """
        spent = Counter[str]()
        rows, reach = [], self.reach
        for name in sorted(names, key=lambda name: (-reach[name].of(file), reach[name].all(), reach[name].seconds)):
            function = name if NEIGHBOUR.search(name) else name.partition("[")[0]
            share = reach[name].of(file) / reach[name].all()
            rows.append((spent[function] // SLICE, -share, reach[name].seconds, name))
            spent[function] += int(1e6 * reach[name].seconds)
        return [row[-1] for row in sorted(rows)]

    def in_child(self, bug: Bug, names: list[str], write: int) -> int:
        """Run the tests with the bug; return 1 where one fails, and write its name."""
        signal.setitimer(signal.ITIMER_PROF, 8 * SECONDS)  # a bug that never ends is noticed too
        signal.alarm(int(100 * SECONDS))
        gc.disable()
        self.living.swap({(bug.file, bug.function): compiled(bug, _read(bug.file))})
        spent = 0.0
        for name in names:
            if spent + self.reach[name].seconds > SECONDS:
                continue
            spent += self.reach[name].seconds
            if _fails(self.items[name], None):
                os.write(write, name.encode()[:4000])
                return 1
        return 0


def _end_with(trials: Trials, bug: Bug, names: list[str], write: int) -> None:
    """End this process, a bug that cannot be put in as one that lives."""
    code = 0
    try:
        code = trials.in_child(bug, names, write)
    finally:
        os._exit(code)


def _import_all(folder: str) -> None:
    """A module that is imported late has no function yet that could get another code."""
    at = folder.index("maple_")
    for file in _files(folder):
        importlib.import_module(file[at:].removesuffix(".py").removesuffix("/__init__").replace("/", "."))


def _some(items: list[pytest.Item]) -> list[pytest.Item]:
    return random.Random(0).sample(items, 100) if len(items) > 100 else items


def _fails(item: pytest.Item, following: Optional[pytest.Item]) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


class _Living(NamedTuple):
    """Every function object of the code in question by file and name, and what keeps results there."""

    functions: dict[tuple[str, str], list[FunctionType]]
    keepers: list[Any]

    def swap(self, made: dict[tuple[str, str], CodeType]) -> None:
        """Give the functions the code that is made for them, and drop what collecting the tests has kept."""
        for place, code in made.items():
            for function in self.functions.get(place, ()):
                function.__code__ = code
        for keeper in self.keepers:
            keeper.cache_clear()


def _living(folders: list[str]) -> _Living:
    """Look once: a fork that looks through all objects copies them all."""
    functions, keepers = defaultdict[tuple[str, str], list[FunctionType]](list), []
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(tuple(folders)):
            functions[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
        elif isinstance(thing, _KEEPER) and _file_of(thing.__wrapped__).startswith(tuple(folders)):
            keepers.append(thing)
    gc.freeze()
    return _Living(functions, keepers)


def _file_of(function: Any) -> str:
    code = getattr(function, "__code__", None)  # what is written in C has none
    return "" if code is None else str(code.co_filename)


_KEEPER = type(lru_cache(lambda: None))


@lru_cache(None)
def _bugs(folder: str) -> list[Bug]:
    return [bug for file in _files(folder) for bug in bugs(file, _read(file))]


def _files(folder: str) -> list[str]:
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".py"))


@lru_cache(None)
def _read(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()
