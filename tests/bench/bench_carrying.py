"""How many scripts are carried, there and back, and how many mistakes are mended: `make bench-carrying`.

A seeded sample of the right scripts of the tests and of the clusters; the same numbers come out each time.
"""

from __future__ import annotations

import functools
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from maple_agents.base.slots import Lacking, Origin, Refused, Slot, Slots
from maple_agents.request.script.foreign_script import at_site, read
from maple_agents.request.script.parts import Foreign
from maple_agents.templates.cluster import Cluster
from maple_agents.write.carry import judgement
from maple_agents.write.carry.carry import carry
from maple_agents.write.clusters import cluster
from maple_agents.write.values import Carried

from tests.agents.synthesis.carrying.test_carry import BESIDE, RIGHT
from tests.reality.operators import MEANT_TO_BREAK
from tests.reality.pbs_operators import PBS_MEANT_TO_BREAK

SEED = 11
PAIRS, BACK, MISTAKES = 240, 90, 200  # how many of each are drawn
PLACES = ("partition", "queue", "qos", "gpu", "filesystems")
LAUNCH_MISTAKES = (  # those of the launch line, after which it is still clear what was meant
    "other-nnodes", "no-node-rank", "no-master", "no-nnodes", "no-ssh-flag", "double-quotes", "no-launcher",
    "srun-to-ibrun", "master-is-localhost", "fixed-node-rank", "mpiexec-to-srun", "no-mpiexec", "counts-of-slurm",
)  # fmt: skip
Worlds = list[tuple[int | None, int | None]]


@pytest.mark.timeout(900)
def test_carrying() -> None:
    """At home nothing changes; elsewhere, there and back, and after one mistake the worlds are as they were meant."""
    begun = time.monotonic()
    chance = random.Random(SEED)
    scripts = list(_scripts())
    pairs = [(one, there) for one in scripts for there in BESIDE if there != one[1]]
    home = Counter(_at_home(*one) for one in scripts)
    away = Counter(_there(*one, there) for one, there in chance.sample(pairs, PAIRS))
    back = Counter(_and_back(*one, there) for one, there in chance.sample(pairs, BACK))
    broken = [(source, one, name) for one in scripts for name, source in _mistakes(*one)]
    mended = Counter(_mended(source, *one) for source, one, _ in chance.sample(broken, MISTAKES))
    print(_table("right scripts on their own cluster", home))
    print(_table("right scripts to another cluster", away))
    print(_table("to another cluster and back", back))
    print(_table("one mistake in the launch line, own cluster", mended))
    print("  in %.0f s" % (time.monotonic() - begun))
    assert set(home) == {"unchanged"}
    assert not [says for found in (away, back, mended) for says in found if says.startswith("WRONG")]


def _scripts() -> Iterator[tuple[str, str, Foreign]]:
    """Yield path, cluster and reading of each script that starts something."""
    for path in RIGHT:
        here = os.path.basename(os.path.dirname(path))
        with open(path, "rb") as file:
            yield path, here, _read(file.read(), path, here)


def _read(source: bytes, path: str, here: str) -> Foreign:
    foreign = read(source, _cluster(here).site.scheduler, path=path.encode())
    return foreign if foreign.site == here else at_site(foreign.job, _cluster(here).site, here)


@functools.cache
def _cluster(site_id: str) -> Cluster:
    return cluster(site_id)


def _at_home(path: str, here: str, foreign: Foreign) -> str:
    return _answer(
        lambda: carry(foreign, _cluster(here)), lambda made: "carried" if not made.unchanged else "unchanged"
    )


def _there(path: str, here: str, foreign: Foreign, there: str) -> str:
    def said(made: Carried) -> str:
        state = judgement.state_of(made.script, foreign, _cluster(there))
        return "carried" if state is not None and not state.proven() else "WRONG: the rules find something"

    return _answer(lambda: _carried(foreign, there), said)


def _and_back(path: str, here: str, foreign: Foreign, there: str) -> str:
    """Carry there and back; the places have other names there, so the way back says them again."""

    def said(out: Carried) -> str:
        names = {name: foreign.slots.text(name) for name in PLACES if name in foreign.slots}  # type: ignore[arg-type]
        again = _read(out.script, path, there)
        return _answer(lambda: _carried(again, here, **names), lambda made: _compared(made, foreign, here))

    return _answer(lambda: _carried(foreign, there), said)


def _compared(made: Carried, foreign: Foreign, here: str) -> str:
    if _worlds(made.script, foreign, here) == _worlds(foreign.source, foreign, here):
        return "the same worlds"
    whole = {kind.gpus for kind in foreign.plan.allocation.node_kinds} == {foreign.slots.number("ranks_per_node")}
    return "other worlds, of whole nodes" if whole else "other worlds, where it used a part of its nodes"


def _mistakes(path: str, here: str, foreign: Foreign) -> Iterator[tuple[str, bytes]]:
    """Yield the script with one mistake, and its name, for each that can be made in it."""
    known = MEANT_TO_BREAK if foreign.scheduler == "slurm" else PBS_MEANT_TO_BREAK
    for name in LAUNCH_MISTAKES:
        source = known[name](foreign.source, random.Random(name + path[-40:])) if name in known else None
        if source is not None and source != foreign.source:
            yield name, source


def _mended(source: bytes, path: str, here: str, right: Foreign) -> str:
    def said(made: Carried) -> str:
        same = _worlds(made.script, right, here) == _worlds(right.source, right, here)
        return "%s: %s worlds" % ("unchanged" if made.unchanged else "mended", "the same" if same else "other")

    return _answer(lambda: carry(_read(source, path, here), _cluster(here)), said)


def _worlds(script: bytes, foreign: Foreign, site_id: str) -> Worlds:
    state = judgement.state_of(script, foreign, _cluster(site_id))
    assert state is not None
    return [(group.nodes, group.world_size) for step in state.plan.steps for group in step.groups]


def _carried(foreign: Foreign, there: str, **more: str) -> Carried | Lacking:
    values = {"account": "abc", "walltime": "00:20:00", **BESIDE[there], **more}
    said = Slots(Slot(name, value, Origin("option")) for name, value in values.items())  # type: ignore[arg-type]
    return carry(foreign, _cluster(there), said)


def _answer(work: Callable[[], Carried | Lacking], said: Callable[[Carried], str]) -> str:
    try:
        made = work()
        return "asks for more" if isinstance(made, Lacking) else said(made)
    except Refused:
        return "refused, with its line or reason"


def _table(title: str, counts: Counter[str]) -> str:
    rows = ["  %5d  %s" % (count, says) for says, count in counts.most_common()]
    return "\n".join(["", "%s: %d" % (title, counts.total()), *rows])
