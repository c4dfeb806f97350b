"""The pytest plugin of `python -m tests.bugs`: each bug is tried by the tests that reach its statement.

First every test runs once, and the statements of the code in question that it reaches are kept. Then, for each bug, a
fork of this process gets the function with the bug and runs those tests until one fails: of each function of the tests
in turn the one that reaches most of the bug's file, the short ones first. What a test starts as another program
never sees the bug.
"""

from __future__ import annotations

import builtins
import gc
import hashlib
import importlib
import json
import os
import random
import re
import signal
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Optional

import pytest
from _pytest.runner import runtestprotocol

from tests.bugs.python_bugs import Bug, bugs, compiled, shape, told, watched

SECONDS = 20.0  # of tests a bug may take, as they took without it; beyond it counts as alive
WHOLE = re.compile(r"test_rules_|seen_|test_corpus|test_provoked")
Statement = tuple[str, str, int]


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
    """The bugs of the folders, a number of each folder, and who noticed them.

    *known* is the file that keeps which test reaches what, *before* that of bugs noticed in a run before.
    """

    def __init__(self, root: str, folders: list[str], seed: int, each: int, known: str, before: str) -> None:
        self.root, self.folders, self.seed, self.each, self.known, self.before = (
            root,
            folders,
            seed,
            each,
            known,
            before,
        )
        self.trials = list[Trial]()
        self.seconds: dict[str, float] = {}
        self.places: dict[str, array[int]] = {}  # statements reached, by their numbers
        self.numbers: dict[str, set[int]] = defaultdict(set)  # of the statements of a file
        self.reached: dict[Statement, list[str]] = defaultdict(list)
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
        self._reach()
        before = _noticed(self.before)
        with open(self.before, "a", encoding="utf-8") as file:
            for bug in self._chosen():
                texts = told(bug, _read(bug.file))
                what = (os.path.relpath(bug.file, self.root), bug.function, bug.line, *texts)
                trial = before[what] if what in before else Trial(*what, *self._tried(bug))
                self.trials.append(trial)
                if trial.end == "noticed" and what not in before:
                    file.write(json.dumps(trial) + "\n")
                    file.flush()
        return True

    def _reach(self) -> None:
        """Find the statements that each test reaches, in a fork, and keep them in a file."""
        statements = self._statements()
        was = _known(self.known, statements)
        fresh = [item for name, item in self.items.items() if name not in was]
        child = os.fork()
        if child == 0:
            self._watch(fresh, statements)
            os._exit(0)
        os.waitpid(child, 0)
        for at, statement in enumerate(statements):
            self.numbers[statement[0]].add(at)
        for name, (seconds, places) in _known(self.known, statements).items():
            self.seconds[name], self.places[name] = seconds, array("L", places)
            for place in places if name in self.items else ():
                self.reached[statements[place]].append(name)

    def _statements(self) -> list[Statement]:
        """Return every statement that holds a bug."""
        every = ((bug.file, bug.function, bug.statement) for folder in self.folders for bug in _bugs(folder))
        return sorted(set(every))

    def _watch(self, items: list[pytest.Item], statements: list[Statement]) -> None:
        reached: set[Statement] = set()
        builtins.reached_ = reached.add  # type: ignore[attr-defined]
        number = {statement: at for at, statement in enumerate(statements)}
        made = {(file, name): code for folder in self.folders for file in _files(folder)
                for name, code in watched(file, _read(file))}  # fmt: skip
        self.living.swap(made)
        with open(self.known, "a", encoding="utf-8") as kept:
            for item, following in zip(items, [*items[1:], None]):
                reached.clear()
                began = time.process_time()
                if _fails(item, following):
                    print("fails without any bug, and is left out: %s" % item.nodeid)
                    continue
                places = sorted(number[statement] for statement in reached if statement in number)
                kept.write(json.dumps([item.nodeid, time.process_time() - began, places]) + "\n")

    def _chosen(self) -> list[Bug]:
        """Draw by place: code that comes or goes elsewhere leaves the sample as it is."""

        def lot(bug: Bug) -> str:
            return hashlib.sha256(("%d %s" % (self.seed, bug.place(self.root))).encode()).hexdigest()

        return [bug for folder in self.folders for bug in sorted(_bugs(folder), key=lot)[: self.each]]

    def _tried(self, bug: Bug) -> tuple[str, str]:
        """Return what became of a bug, and by which test."""
        there = self.reached.get((bug.file, bug.function, bug.statement), ())
        names = self._in_turn(there, self.numbers[bug.file])
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

    def _in_turn(self, names: Iterable[str], near: set[int]) -> list[str]:
        """Return the first test of each function, then the next of each: all of them have their say.

        Of a function those come first that reach most of the statements *near*: one that passes by a rule that has
        nothing to say reaches few of it. Those of a turn come by the time that they take: long ones hold up no other.
        """
        turn = Counter[str]()
        rows, apart = [], {name: -len(near.intersection(self.places[name])) for name in names}
        for name in sorted(apart, key=lambda name: (apart[name], len(self.places[name]), self.seconds[name])):
            function = name.partition("[")[0]
            rows.append((turn[function], self.seconds[name], name))
            turn[function] += 1
        return [row[-1] for row in sorted(rows)]

    def in_child(self, bug: Bug, names: list[str], write: int) -> int:
        """Run the tests with the bug; return 1 where one fails, and write its name."""
        signal.setitimer(signal.ITIMER_PROF, 8 * SECONDS)  # a bug that never ends is noticed too
        signal.alarm(int(100 * SECONDS))
        gc.disable()
        self.living.swap({(bug.file, bug.function): compiled(bug, _read(bug.file))})
        spent = 0.0
        for name in names:
            if spent + self.seconds[name] > SECONDS:
                continue
            spent += self.seconds[name]
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


def _rows(file: str) -> list[list[Any]]:
    with open(file, encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def _noticed(file: str) -> dict[tuple[str, str, int, str, str], Trial]:
    trials = [Trial(*row) for row in _rows(file)] if os.path.exists(file) else []
    return {trial[:5]: trial for trial in trials}


def _known(file: str, statements: list[Statement]) -> dict[str, tuple[float, list[int]]]:
    """Return what each test reaches; what was seen of code in another shape is thrown away."""
    files = sorted({name for name, _, _ in statements})
    now = hashlib.sha256("\n".join(line for name in files for line in [name, *shape(_read(name))]).encode()).hexdigest()
    if os.path.exists(file):
        first, *rows = _rows(file)
        if first == [now]:
            return {name: (float(seconds), places) for name, seconds, places in rows}
    with open(file, "w", encoding="utf-8") as kept:
        kept.write(json.dumps([now]) + "\n")
    return {}


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
