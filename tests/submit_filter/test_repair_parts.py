"""What shows a repair right, and what makes an offer sure: each condition of each question, over made up plans."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.repair import search, witness
from maple_submit_filter.site.facts import GENERIC_SLURM, NodeKind, Partition
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Origin, Setting
from maple_submit_filter.types.launch_plan import Allocation, Breach, Group, Link, Option, Process

from tests.submit_filter.test_heart_promises import text

HOST = b"\0host:0\0"


def processes(*ranks: Optional[int], each: int = 2) -> tuple[Process, ...]:
    return tuple(
        Process(at // each, at, at % each, rank, 4, None, None, None, None, False) for at, rank in enumerate(ranks)
    )


WHOLE = Group("srun", processes(0, 1, 2, 3), 2, 2, 4, 4, HOST, b"29500", True)
AGENTS = WHOLE._replace(launcher="torchrun", processes=processes(None, None, None, None))


@pytest.mark.parametrize(
    ("of", "more", "before", "whole"),
    [
        (WHOLE, {}, None, True), (WHOLE, {"world_size": None}, None, False), (WHOLE, {"declared": 8}, None, False),
        (WHOLE, {"declared": None}, None, True), (WHOLE, {"processes": processes(0, 1, 2)}, None, False),
        (WHOLE, {"processes": processes(0, 1, 2, 2)}, None, False),
        (WHOLE, {"processes": processes(1, 2, 3, 4)}, None, False),
        (WHOLE, {"processes": processes(0, 1, 2, None)}, None, False),
        (WHOLE, {"processes": processes(0, 2), "complete": False}, None, True),
        (WHOLE, {"processes": processes(0, 0), "complete": False}, None, False),
        (WHOLE, {"processes": processes(0, 4), "complete": False}, None, False),
        (WHOLE, {"processes": processes(0, None), "complete": False}, None, False),
        (AGENTS, {}, None, True), (AGENTS, {"world_size": None}, None, False), (AGENTS, {"declared": 8}, None, False),
        (WHOLE, {"master": None}, None, True), (WHOLE, {"master": b"\0addr:0\0"}, None, True),
        (WHOLE, {"master": b"\0name:0\0"}, None, True), (WHOLE, {"master": b"localhost"}, None, False),
        (WHOLE, {"master": b"localhost", "nodes": 1}, None, True),
        (WHOLE, {"master": b"localhost", "nodes": None}, None, False),
        (AGENTS, {"master": b"localhost"}, None, False),
    ],
)  # fmt: skip
def test_a_world_is_whole_where_each_of_its_ranks_is_there_and_finds_the_master(
    of: Group, more: Any, before: Any, whole: bool
) -> None:
    """As large as it is declared; who is told a name for all nodes finds it on each."""
    assert search._is_whole(of._replace(**more), before) == whole


def test_local_ranks_that_were_not_so_before_differ_on_a_node() -> None:
    """What a fix has not touched may be as it was; an agent gives them itself."""
    same = tuple(process._replace(local_rank=0) for process in WHOLE.processes)
    twice = WHOLE._replace(processes=same)
    assert search._locals(twice) == ((0, 0), (0, 0), (1, 0), (1, 0))
    assert not search._is_whole(twice, None) and not search._is_whole(twice, search._locals(WHOLE))
    assert search._is_whole(twice, search._locals(twice)) and search._is_whole(WHOLE, search._locals(twice))
    assert search._is_whole(twice._replace(launcher="torchrun"), None)
    unknown = tuple(process._replace(node=None) for process in same)
    assert search._locals(WHOLE._replace(processes=unknown)) == ()
    assert search._locals(WHOLE._replace(processes=(same[0]._replace(local_rank=None), same[1]))) == ((0, 0),)


@pytest.mark.parametrize(
    ("had", "has", "otherwise"),
    [(2, 2, 0), (2, 1, 1), (2, 3, 0), (2, None, 1), (None, 1, 0), (None, None, 0)],
)
def test_a_job_of_fewer_nodes_is_another(had: Optional[int], has: Optional[int], otherwise: int) -> None:
    """Nor is one whose nodes are known no more."""
    before, after = (
        SimpleNamespace(plan=SimpleNamespace(allocation=SimpleNamespace(nodes=many))) for many in (had, has)
    )
    assert search._asks_otherwise(before, after) == otherwise  # type: ignore[arg-type]


def step(*groups: Group, unknown: Any = (), links: Any = (), breaches: Any = (), **more: Any) -> Any:
    named = {"groups": groups, "unknown": unknown, "links": links, "breaches": breaches, "line": 1, "tasks": 2,
             "program": (b"python",), "workers_per_task": None}  # fmt: skip
    return SimpleNamespace(**{**named, **more})


OPEN = AGENTS._replace(world_size=None, declared=None)


@pytest.mark.parametrize(
    ("new", "old", "unknown", "as_unknown"),
    [
        (OPEN, (OPEN,), (), True), (OPEN, (AGENTS,), (), False), (OPEN, (OPEN._replace(declared=4),), (), False),
        (AGENTS, (OPEN,), (), True), (AGENTS._replace(declared=8), (OPEN,), (), False),
        (AGENTS._replace(declared=None), (OPEN,), (), True), (OPEN._replace(declared=4), (OPEN,), (), False),
        (OPEN, (OPEN._replace(master=b"x"),), (), False), (OPEN, (OPEN._replace(launcher="accelerate"),), (), False),
        (OPEN, (OPEN._replace(master=b"x"), OPEN), (), True), (OPEN, (), ("x",), True), (OPEN, (), (), False),
        (OPEN._replace(launcher="srun"), (OPEN._replace(launcher="srun"),), (), False),
        (OPEN._replace(launcher="srun"), (), ("x",), False), (OPEN, (AGENTS._replace(world_size=None),), (), False),
    ],
)  # fmt: skip
def test_no_more_is_unknown_of_an_agents_world_than_was(new: Group, old: Any, unknown: Any, as_unknown: bool) -> None:
    """Its master is the same, and its size is known now or was not; what was refused starts the rest by itself."""
    assert search._as_unknown(new, step(*old), step(new, unknown=unknown)) == as_unknown


@pytest.mark.parametrize(
    ("kind", "old", "new", "shown"),
    [
        (kinds.AGENTS, (WHOLE,), (WHOLE,), True), (kinds.AGENTS, (WHOLE,), (WHOLE._replace(world_size=None),), False),
        (kinds.WORLD_SAID, (WHOLE,), (WHOLE._replace(world_size=None),), True), (kinds.AGENTS, (OPEN,), (OPEN,), True),
        (kinds.MASTER_LOCAL, (OPEN,), (OPEN,), False), (kinds.MASTER_LOCAL, (WHOLE,), (WHOLE,), True),
        (kinds.MASTER_LOCAL, (WHOLE,), (WHOLE._replace(master=None),), False),
        (kinds.MASTER_LOCAL, (WHOLE,), (WHOLE._replace(master=None, nodes=1),), True),
        (kinds.MASTER_OUTSIDE, (WHOLE,), (WHOLE._replace(master=None),), False),
        (kinds.AGENTS, (WHOLE,), (WHOLE, WHOLE._replace(declared=8)), False), (None, (WHOLE,), (OPEN,), True),
    ],
)  # fmt: skip
def test_a_line_that_was_wrong_is_shown_right_by_each_of_its_worlds(kind: Any, old: Any, new: Any, shown: bool) -> None:
    """What was only told need not be; a master that was wrong has to be known."""
    breaches = (Breach(kind, {}, {}),) if kind is not None else ()
    before, after = (
        SimpleNamespace(plan=SimpleNamespace(steps=(row,)))
        for row in (step(*old, breaches=breaches), step(*new))
    )  # fmt: skip
    assert search.shown(after, before) == shown  # type: ignore[arg-type]


def test_lines_are_paired_by_their_place_or_by_their_line() -> None:
    """What has come to light is paired with none."""
    old, new = [step(line=line) for line in (2, 5)], [step(line=line) for line in (2, 3, 5)]
    assert list(search._pairs(old, new)) == [(old[0], new[0]), (old[1], new[2])]
    assert list(search._pairs(old, new[:2])) == [(old[0], new[0]), (old[1], new[1])]
    assert list(search._pairs(old, new[:1])) == [(old[0], new[0])]


def setting(name: str, value: bytes) -> Setting:
    return Setting(name, value, Origin("directive"))


@pytest.mark.parametrize(
    ("old", "new", "gone", "takes"),
    [
        (b"2", b"2:ngpus=4", ("ngpus", b"4"), True), (b"2", b"2:ngpus=8", ("ngpus", b"4"), False),
        (b"2", b"3:ngpus=4", ("ngpus", b"4"), False), (b"2", b"2:ngpus=4:x=1", ("ngpus", b"4"), False),
        (b"2", b"2", ("ngpus", b"4"), False), (None, b"2:ngpus=4", ("ngpus", b"4"), False),
        (b"2", None, ("ngpus", b"4"), False), (b"2", b"2:ngpus=4", None, False),
    ],
)  # fmt: skip
def test_a_value_takes_another_setting_s_words_in(old: Any, new: Any, gone: Any, takes: bool) -> None:
    pair = tuple(setting("select", value) if value is not None else None for value in (old, new))
    assert witness._takes_in(pair, setting(*gone) if gone else None) == takes  # type: ignore[arg-type]


def link(name: str, **options: bytes) -> Link:
    rows = tuple(
        Option(option.replace("_", "-"), b"--x", text(value), (0, 1), None, None) for option, value in options.items()
    )
    return Link(name, (text(b"x"),), rows, None, None, False)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ({"nnodes": b"2"}, {"nnodes": b"2"}, False), ({"nnodes": b"2"}, {"nnodes": b"3"}, True),
        ({"nnodes": b"2"}, {}, True),
        ({}, {"nnodes": b"2"}, False), ({"nnodes": b"x"}, {"nnodes": b"3"}, False),
        ({"nnodes": b"2"}, {"nnodes": b"x"}, True),
        ({"nproc_per_node": b"2"}, {"nproc_per_node": b"4"}, True),
        ({"max_restarts": b"2"}, {"max_restarts": b"4"}, False),
        ({"nnodes": b"2", "nproc_per_node": b"4"}, {"nnodes": b"2", "nproc_per_node": b"8"}, True),
    ],
)  # fmt: skip
def test_a_count_that_the_user_wrote_for_an_agent_is_another_now(old: Any, new: Any, changed: bool) -> None:
    """Of nodes or workers; one that no number was may become one."""
    for name, counts in (("torchrun", changed), ("srun", False)):
        before, after = (step(links=(link("srun"), link(name, **options))) for options in (old, new))
        assert witness._counts_changed(before, after) == counts


@pytest.mark.parametrize(
    ("old", "new", "program", "same"),
    [
        (("srun", "torchrun"), ("srun", "torchrun"), b"python", True), (("srun", "torchrun"),
        ("torchrun",), b"python", True),
        (("torchrun",), ("srun", "torchrun"), b"python", False), (("srun",), ("srun",), b"other", False),
    ],
)  # fmt: skip
def test_no_launcher_is_new_and_the_program_is_told_what_it_was(old: Any, new: Any, program: bytes, same: bool) -> None:
    """Where none was read, any may be."""
    before, after = (
        step(links=tuple(map(link, names)), program=(word,)) for names, word in ((old, b"python"), (new, program))
    )
    assert witness._same_words(before, after) == same
    assert witness._same_words(step(links=before.links, program=()), after) == (set(new) <= set(old))


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, False), ({"gpus_per_node": 4}, True), ({"gpus": 4}, True), ({"gpus_asked": 4}, True),
        ({"shared": False}, True),
     ({"shared": True}, False), ({"gpus_per_node": 0}, False)],
)  # fmt: skip
def test_gpus_are_asked_for_by_their_number_or_by_whole_nodes(given: Any, said: bool) -> None:
    allocation = Allocation(2, 4, 2, None, None, None, (), "", None)._replace(**given)
    state: Any = SimpleNamespace(plan=SimpleNamespace(allocation=allocation))
    assert witness._gpus_said(state) == said
    assert witness._gpus(state) == (4 if said and given.get("shared") is None else 0)


@pytest.mark.parametrize(
    ("kinds_of", "wanted", "only"),
    [
        ((("a", 4, ("x",)), ("b", 0, ())), 4, True), ((("a", 4, ("x",)), ("b", 4, ())), 4, False),
        ((("a", 4, ("x",)), ("b", 2, ())), 4, True), ((("a", 4, ("x",)), ("b", 2, ("x",))), 4, False),
        ((("a", 4, ("x",)), ("b", 5, ("x",))), 4, True), ((("a", 3, ("x",)),), 4, False), ((), 4, False),
        ((("a", 4, ("x",)), ("b", None, ())), 4, False), ((("a", None, ("x",)),), 4, True),
        ((("a", 1, ("x",)), ("b", 0, ())), None, True), ((("a", 1, ("x",)), ("b", 0, ("x",))), None, False),
    ],
)  # fmt: skip
def test_a_feature_is_the_only_one_where_all_nodes_with_enough_gpus_have_it_and_no_others(
    kinds_of: Any, wanted: Optional[int], only: bool
) -> None:
    site = GENERIC_SLURM._replace(kinds=tuple(NodeKind(name, gpus=gpus, features=has) for name, gpus, has in kinds_of))
    state: Any = SimpleNamespace(plan=SimpleNamespace(allocation=SimpleNamespace(gpus_per_node=wanted)))
    assert witness._only_feature("x", state, site) == only


def state_of(*groups: Group, findings: Any = ()) -> Any:
    return SimpleNamespace(plan=SimpleNamespace(steps=(step(*groups),)), findings=findings)


@pytest.mark.parametrize(
    ("groups", "code", "written"),
    [
        ((WHOLE,), "", True), ((WHOLE, WHOLE), "", True), ((WHOLE, WHOLE._replace(declared=8)), "", False),
        ((WHOLE._replace(world_size=None, declared=None),), "", False), ((), "", True), ((WHOLE,), "MPL101", False),
        ((WHOLE,), "MPL301", True),
    ],
)  # fmt: skip
def test_the_user_s_own_words_say_each_world_once_all_of_them_are_read(groups: Any, code: str, written: bool) -> None:
    end = state_of(findings=(Finding(code, "x"),) if code else ())
    assert witness._as_written(state_of(*groups), end) == written


def test_an_account_pays_for_one_usual_partition() -> None:
    """Those for a purpose are no choice."""
    rows = (
        Partition("gpu", "partition", ("n",), account_ending="-gpu"),
        Partition("cpu", "partition", ("n",), account_ending="-cpu"),
    )
    site = GENERIC_SLURM._replace(partitions=rows)

    def charged(partition: str, account: Optional[bytes], more: Any = ()) -> bool:
        job: Any = SimpleNamespace(settings=SimpleNamespace(value=lambda name: account if name == "account" else None))
        return witness._charged_there(partition, job, site._replace(partitions=(*rows, *more)))

    assert charged("gpu", b"abc-gpu") and not charged("cpu", b"abc-gpu") and not charged("gpu", b"abc-cpu")
    assert not charged("gpu", None) and not charged("gpu", b"") and not charged("gpu", b"abc")
    assert not charged("gpu", b"abc-gpu", (Partition("other", "partition", ("n",), account_ending="-gpu"),))
    assert charged("gpu", b"abc-gpu", (Partition("any", "partition", ("n",)),))
