"""Cases run on labs in the shape of their sites, several at a time; each process writes down what it was given.

`MAPLE_FACTS` is the folder a stand-in writes its rank facts to (one JSON file a process), `MAPLE_DOUBLE_DEADLINE` how
long stand-ins wait for each other before they give up as the real ones would after ten minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import tempfile
import threading
from collections import defaultdict
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from tests.lab import Ended, Lab, LabError, Submitted
from tests.lab.shape import Shape
from tests.reality.corpus import Case, lay

DEADLINE = "3"  # seconds a stand-in waits; the lab's network takes milliseconds
LABS = 6  # labs at a time; each runs one job at a time, for two jobs on one node would fight for port 29500
LIMIT = 75.0  # seconds a job may take, its time in the queue included

Fact = Mapping[str, Any]


class Ran(NamedTuple):
    """What one submission did.

    *state* as in sacct, "REFUSED" when the submit command said no, "HUNG" when it was still there, "NEVER" when no host
    of a PBS lab can take it.
    """

    case: Case
    state: str
    exit_code: int
    facts: tuple[Fact, ...]
    output: str
    addresses: Mapping[str, str]  # of the lab's hosts
    nodes: tuple[str, ...] = ()  # hosts of the job in its own order, where the facts do not say them (PBS)

    @property
    def leaves(self) -> tuple[Fact, ...]:
        """Return the facts of processes that hold a rank."""
        return tuple(fact for fact in self.facts if fact["rank"] is not None)


class Work(NamedTuple):
    """One case to run. *extra*: files to put beside it, by name."""

    case: Case
    extra: Mapping[str, bytes] = {}


def run_all(works: Sequence[Work], shape_of: Callable[[str], Shape], *, labs: int = LABS,
            deadline: str = DEADLINE) -> list[Ran]:  # fmt: skip
    """Return what each case did, in order. *labs* labs are up at a time."""
    batches: queue.Queue[list[int]] = queue.Queue()
    by_site: dict[str, list[int]] = defaultdict(list)
    for index, work in enumerate(works):
        by_site[work.case.site].append(index)
    for indices in sorted(by_site.values(), key=len, reverse=True):
        size = max(8, -(-len(indices) // labs))
        for start in range(0, len(indices), size):
            batches.put(indices[start : start + size])
    results: dict[int, Ran] = {}
    errors: list[BaseException] = []

    def serve() -> None:
        while not errors:
            try:
                batch = batches.get_nowait()
            except queue.Empty:
                return
            try:
                lab = _started(shape_of(works[batch[0]].case.site))
                try:
                    results.update(_through(lab, [(index, works[index]) for index in batch], deadline))
                finally:
                    lab.stop()
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(labs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(works))]


def _started(shape: Shape) -> Lab:
    """Return a lab that is up; two that start at once may choose the same ports, and one of them then chooses again."""
    for attempt in range(3):
        try:
            return Lab(shape).start()
        except LabError:
            if attempt == 2:
                raise
    raise AssertionError


def _through(lab: Lab, works: Sequence[tuple[int, Work]], deadline: str) -> Iterator[tuple[int, Ran]]:
    with tempfile.TemporaryDirectory(prefix="maple-reality-") as folder:
        os.chmod(folder, 0o755)
        for index, work in works:
            cwd = lay_out(work, os.path.join(folder, str(index)))
            yield index, _result(lab, work.case, cwd, _submit(lab, work.case, cwd, deadline))
            shutil.rmtree(cwd, ignore_errors=True)


def lay_out(work: Work, cwd: str) -> str:
    """Make the folder a case is submitted from, with its script and files."""
    lay(cwd, work.case.files)
    os.makedirs(os.path.join(cwd, "facts"), exist_ok=True)
    for name, content in work.extra.items():
        path = os.path.join(cwd, name)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
            if content.startswith(b"#!"):
                os.chmod(path, 0o755)
    if work.case.script is not None:
        with open(os.path.join(cwd, work.case.file_name), "wb") as file:
            file.write(work.case.script)
    return cwd


def _submit(lab: Lab, case: Case, cwd: str, deadline: str) -> Submitted:
    words = [case.file_name if word == "{}" else word for word in case.words]
    env = lab.environment(MAPLE_FACTS=os.path.join(cwd, "facts"), MAPLE_DOUBLE_DEADLINE=deadline)
    env.update(case.environment)
    stdin = (case.script or b"").decode("utf-8", "surrogateescape") if case.stdin else ""
    return lab.sbatch(*words, cwd=cwd, env=env, stdin=stdin, timeout=40)


def _result(lab: Lab, case: Case, cwd: str, sent: Submitted) -> Ran:
    if sent.id is None:
        return Ran(case, "REFUSED", sent.returncode, (), sent.stderr + sent.stdout, {})
    ended: list[Ended] = []
    state = "HUNG"
    try:
        for number in _members(case, sent.id):
            ended.append(lab.wait(number, LIMIT))
        state = next((one.state for one in ended if one.state != "COMPLETED"), "COMPLETED")
    except TimeoutError:
        lab.run(["scancel", str(sent.id)])
        with contextlib.suppress(TimeoutError):
            lab.wait(sent.id, 20)
    code = max((one.exit_code or one.signal for one in ended), default=-1)
    addresses = dict(zip((host for host, _ in lab.shape.hosts()), lab.layout.addresses))
    return Ran(case, state, code, facts(os.path.join(cwd, "facts")), logs(cwd), addresses)


def _members(case: Case, first: int) -> range:
    """Return the ids of an array's members: the last one runs under the array's own id, the others follow it."""
    found = re.search(rb"--array=(\d+)-(\d+)", case.script or b"")
    return range(first, first + (int(found[2]) - int(found[1]) + 1 if found else 1))


def facts(folder: str) -> tuple[Fact, ...]:
    """Return what the ranks wrote down."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                found.append(json.load(file))
    return tuple(found)


def logs(cwd: str, names: str = r"\.(out|err|log|txt|o|e|o\d+|e\d+)$|^log|^out") -> str:
    """Return the ends of the files that a job wrote into its folder and that are called like logs."""
    texts = []
    for name in sorted(os.listdir(cwd)):
        path = os.path.join(cwd, name)
        if re.search(names, name) and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read()[-4000:])
    return "\n".join(texts)
