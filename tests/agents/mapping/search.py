"""Searchers on the same space of mappings, judged fairly: `python -m tests.agents.mapping.search`.

The space is what the language can say of one job: the order of axes, the way of dealing, the order of the nodes. Each
searcher is given the same number of estimates; best after 10, 100 and 1,000, median of five seeds. OpenTuner and
Nevergrad run in an environment of their own (`requirements-search.txt`, `build/search-venv`), which calls this module
with a name and a case, and reads what each estimate came to.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice, permutations
from pathlib import Path
from typing import NamedTuple

from maple_agents.mapping import groups, language, tuning
from maple_agents.mapping.language import Mapping

ROOT = Path(__file__).parents[3]
VENV = ROOT / "build" / "search-venv"
AFTER = (10, 100, 1000)
SEEDS = 5
_TRAFFIC = {"tp": "traffic tp allreduce 64MiB x32", "dp": "traffic dp allreduce 4GB", "pp": "traffic pp p2p 64MiB x16"}


class Case(NamedTuple):
    """A job on a network. *leaves*: a letter for the leaf of each node, in the order that the scheduler gives."""

    name: str
    cluster: str
    axes: str
    leaves: str

    @property
    def traffic(self) -> list[str]:
        """The statements about what its axes exchange."""
        return [line for name, line in _TRAFFIC.items() if name in self.axes]

    @property
    def mapping(self) -> Mapping:
        """The mapping as its user would write it."""
        return language.read("\n".join((f"cluster {self.cluster}", f"axes {self.axes}", *self.traffic, "")))


CASES = (
    Case("regular, two leaves to and fro", "node 8 / gpu 4", "tp 4, dp 4, pp 2", "abababab"),
    Case("leaves of 6, 3 and 3 nodes", "node 12 / gpu 4", "tp 4, dp 4, pp 3", "abcabcabcaaa"),
)


class Space:
    """What can be said of a job: a point is an order of axes, a way of dealing, an order of nodes."""

    def __init__(self, case: Case) -> None:
        self.mapping, self.leaves = case.mapping, case.leaves
        mesh = self.mapping.mesh
        assert mesh is not None
        self.sizes = {axis.name: axis.size for axis in mesh.axes if axis.size > 1}
        self.orders = list(permutations(self.sizes))
        self.ways = dict(tuning._dealt(self.mapping))
        self.known: dict[tuple[int, str, str], float] = {}

    @cached_property
    def trials(self) -> list[tuning.Trial]:
        """All orders and ways, nodes as given and by leaf."""
        return tuning.trials(self.mapping, self.leaves)

    def seconds(self, order: int, way: str, nodes: list[int]) -> float:
        """Return the estimate at a point; it is the same wherever the leaves are."""
        leaves = alike([self.leaves[node] for node in nodes])
        if (order, way, leaves) not in self.known:
            mesh = groups.mesh(self.orders[order], self.sizes)
            self.known[order, way, leaves] = tuning._seconds(self.mapping, mesh, self.ways[way], list(leaves))
        return self.known[order, way, leaves]


def alike(leaves: Sequence[str]) -> str:
    """Return leaves by other names, in the order in which they come: what is alike but for names is estimated once."""
    names = {leaf: chr(ord("a") + at) for at, leaf in enumerate(dict.fromkeys(leaves))}
    return "".join(names[leaf] for leaf in leaves)


def default(space: Space, seed: int, most: int) -> Iterator[float]:
    """Yield the estimate of the mapping as written."""
    yield tuning.as_written(space.mapping, space.leaves)


def enumeration(space: Space, seed: int, most: int) -> Iterator[float]:
    """Yield all orders and ways, nodes as given and by leaf, in an order that the seed shuffles."""
    every = [trial.seconds for trial in space.trials]
    random.Random(seed).shuffle(every)
    yield from every


def tune(space: Space, seed: int, most: int) -> Iterator[float]:
    """Yield what `maple map tune` does: all of these, then places of nodes that change."""
    every = [trial.seconds for trial in space.trials]
    random.Random(seed).shuffle(every)  # which is the best of them is known when all are estimated
    yield from every
    if tuning.is_irregular(space.leaves):
        climbed = tuning.climbed(space.mapping, space.leaves, space.trials[0], seed)
        yield from (seconds for seconds, _ in islice(climbed, min(tuning.SEARCHED, most - len(every))))


def climbing(space: Space, seed: int, most: int) -> Iterator[float]:
    """Yield the estimates of hill climbing from the mapping as written: an axis order, a way or two nodes change."""
    chance = random.Random(seed)
    order, way, nodes = 0, "block", list(range(len(space.leaves)))
    best = float("inf")
    for _ in range(most):
        new = (order, way, list(nodes))
        kind = chance.randrange(4)
        if kind == 0:
            new = (chance.randrange(len(space.orders)), way, new[2])
        elif kind == 1:
            new = (order, chance.choice(list(space.ways)), new[2])
        else:
            one, other = chance.sample(range(len(nodes)), 2)
            new[2][one], new[2][other] = new[2][other], new[2][one]
        seconds = space.seconds(*new)
        yield seconds
        if seconds <= best:
            best, (order, way, nodes) = seconds, new


def nevergrad(space: Space, seed: int, most: int) -> Iterator[float]:
    """Yield the estimates of Nevergrad's NGOpt; the order of nodes is that of as many numbers."""
    import nevergrad as ng  # type: ignore[import-not-found]
    import numpy

    point = ng.p.Instrumentation(
        ng.p.Choice(list(range(len(space.orders)))), ng.p.Choice(list(space.ways)),
        ng.p.Array(shape=(len(space.leaves),)),
    )  # fmt: skip
    point.random_state.seed(seed)
    optimizer = ng.optimizers.NGOpt(parametrization=point, budget=most)
    for _ in range(most):
        asked = optimizer.ask()
        order, way, keys = asked.args
        seconds = space.seconds(order, way, [int(node) for node in numpy.argsort(keys)])
        optimizer.tell(asked, seconds)
        yield seconds


def opentuner(space: Space, seed: int, most: int) -> Iterator[float]:
    """Yield the estimates of OpenTuner's bandit of techniques, with a parameter for each choice and a permutation."""
    import logging
    import tempfile

    import numpy
    from opentuner import ConfigurationManipulator, EnumParameter, PermutationParameter  # type: ignore[import-not-found]
    from opentuner.api import TuningRunManager  # type: ignore[import-not-found]
    from opentuner.measurement.interface import DefaultMeasurementInterface  # type: ignore[import-not-found]
    from opentuner.resultsdb.models import Result  # type: ignore[import-not-found]

    logging.disable(logging.CRITICAL)
    random.seed(seed)
    numpy.random.seed(seed)
    manipulator = ConfigurationManipulator()
    manipulator.add_parameter(EnumParameter("order", list(range(len(space.orders)))))
    manipulator.add_parameter(EnumParameter("way", list(space.ways)))
    manipulator.add_parameter(PermutationParameter("nodes", list(range(len(space.leaves)))))
    import argparse

    import opentuner as whole  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        arguments = argparse.ArgumentParser(parents=whole.argparsers()).parse_args(
            ["--no-dups", "--database", f"{folder}/trials.db", "--test-limit", str(most)]
        )
        interface = DefaultMeasurementInterface(args=arguments, manipulator=manipulator, project_name="mapping")
        manager = TuningRunManager(interface, arguments)
        for _ in range(most):
            asked = manager.get_next_desired_result()
            if asked is None:
                break
            chosen = asked.configuration.data
            seconds = space.seconds(chosen["order"], chosen["way"], list(chosen["nodes"]))
            manager.report_result(asked, Result(time=seconds))
            yield seconds
        manager.finish()


SEARCHERS: dict[str, Callable[[Space, int, int], Iterator[float]]] = {
    "default": default, "enumeration": enumeration, "maple map tune": tune, "hill climbing": climbing,
    "Nevergrad": nevergrad, "OpenTuner": opentuner,
}  # fmt: skip
OTHERS = ("Nevergrad", "OpenTuner")


def set_up() -> None:
    """Make the environment of the others; where the registry does not have them, they are not at hand."""
    if not (VENV / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        needs = str(Path(__file__).with_name("requirements-search.txt"))
        subprocess.run([str(VENV / "bin" / "pip"), "install", "--quiet", "-r", needs], check=False)


def best_after(estimates: list[float]) -> list[float]:
    """Return the best after each of `AFTER` estimates."""
    return [min(estimates[:count]) for count in AFTER]


def runs(name: str, at: int) -> list[list[float]]:
    """Return the estimates of each seed's run; another's in its own environment, [] where that is not at hand."""
    if name in OTHERS:
        return of_other("tests.agents.mapping.search", name, str(at))
    space = Space(CASES[at])
    return [list(SEARCHERS[name](space, seed, AFTER[-1])) for seed in range(SEEDS)]


def of_other(module: str, *words: str) -> list[list[float]]:
    """Return what a module prints in the environment of the others."""
    python = VENV / "bin" / "python"
    if not python.exists():
        return []
    paths = ":".join(str(ROOT / part) for part in (".", "agents", "submit_filter"))
    ran = subprocess.run(
        [str(python), "-m", module, *words], cwd=VENV,
        env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=3600,
    )  # fmt: skip
    return list(json.loads(ran.stdout.splitlines()[-1])) if ran.returncode == 0 else []


def table() -> Iterator[str]:
    """Yield the table: best estimate in milliseconds after 10, 100 and 1,000 trials, the median of the seeds."""
    yield "| Job | Searcher | " + " | ".join(f"{count:,}" for count in AFTER) + " |\n|---|---|---|---|---|"
    for at, case in enumerate(CASES):
        for name in SEARCHERS:
            medians = [statistics.median(one) for one in zip(*map(best_after, runs(name, at)))]
            said = " | ".join(f"{1000 * value:.0f}" for value in medians) if medians else "not at hand | |"
            yield f"| {case.name} | {name} | {said} |"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        case = CASES[int(sys.argv[2])]
        space = Space(case)
        print(json.dumps([list(SEARCHERS[sys.argv[1]](space, seed, AFTER[-1])) for seed in range(SEEDS)]))
    else:
        for line in table():
            print(line, flush=True)
