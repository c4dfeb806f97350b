"""Which worlds were meant: each condition of each question, over made up launch lines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.plan import declared_worlds as worlds
from maple_submit_filter.plan.declared_worlds import Played, World
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.launch_plan import Allocation, Group, Link, Option
from maple_submit_filter.types.text import Piece, Text

GIVEN = Allocation(2, 8, 4, None, 4, None, (), "", None)
AGENTS = Group("torchrun", (), 2, 4, 8, 8, None, None, True)


def option(name: str, source: bytes, word: bytes, value: Optional[bytes] = None, at: Optional[bytes] = None) -> Option:
    """Return an option that stands as *word* in the script, its value where *at* stands."""
    start = source.index(word)
    shown = at if at is not None else word.partition(b"=")[2]
    begin = source.index(shown, start)
    raw = shown if value is None else value
    span = Span(begin, begin + len(shown))
    text = Text((Piece(raw, begin if raw == shown else -1, None if raw == shown else span),))
    return Option(name, word, text, (1, 1), Span(start, start + len(word)), span)


def agent(*options: Option, name: str = "torchrun", name_span: Optional[Span] = None) -> Link:
    return Link(name, (), tuple(options), name_span, None, False)


def step(*groups: Group, links: tuple[Link, ...] = (), workers: Optional[int] = 4, tasks: Optional[int] = 2) -> Any:
    return SimpleNamespace(
        groups=groups, links=links, workers_per_task=workers, tasks=tasks, line=1, span=Span(0, 1)
    )  # fmt: skip


def played(source: bytes, *steps: Any, given: Allocation = GIVEN) -> Played:
    return Played(source, steps, given)


@pytest.mark.parametrize(
    ("had", "has", "now", "room"),
    [
        (2, 3, [World(2, 4, 8)], True), (2, 2, [World(2, 4, 8)], False), (2, 1, [World(2, 4, 8)], False),
        (None, 3, [World(2, 4, 8)], False), (2, None, [World(2, 4, 8)], False), (2, 3, [World(2, 4, 9)], False),
        (2, 3, [World(2, 4, 8), World(1, 8, 8)], False), (2, 3, [World(3, 4, 12)], False), (2, 3, [], False),
    ],
)  # fmt: skip
def test_what_was_declared_has_room_on_more_nodes(had: Any, has: Any, now: list[World], room: bool) -> None:
    """Just that starts then, and nothing else."""
    before, after = GIVEN._replace(nodes=had), GIVEN._replace(nodes=has)
    assert worlds._has_room_now(step(AGENTS), frozenset(now), before, after) == room


SCRIPT = b"#!/bin/bash\nsrun torchrun --nnodes=2 train.py\n"


@pytest.mark.parametrize(
    ("old", "word", "unseen"),
    [(False, b"torchrun", True), (True, b"torchrun", False), (False, b"train.py", True), (False, None, True),
     (False, b"new", False)],
)  # fmt: skip
def test_what_starts_the_ranks_was_not_seen_before_and_is_no_fix_s_doing(old: bool, word: Any, unseen: bool) -> None:
    """Its word stands on the same line of the user's script, or in none."""
    after = SCRIPT.replace(b"srun", b"new srun")
    at = Span(after.index(word), after.index(word) + len(word)) if word is not None else None
    link = agent(name_span=at)
    was = step(links=(agent(),)) if old else step()
    assert worlds._was_unseen(was, step(links=(link,)), played(SCRIPT), played(after)) == unseen
    assert not worlds._was_unseen(was, step(), played(SCRIPT), played(after))


@pytest.mark.parametrize(
    ("was", "now", "fewer"), [(4, 2, True), (2, 2, False), (2, 4, False), (None, 2, True), (2, None, True)]
)
def test_a_line_starts_fewer_tasks_where_it_is_not_known_to_start_as_many(was: Any, now: Any, fewer: bool) -> None:
    assert worlds._starts_fewer(step(tasks=was), step(tasks=now)) == fewer


@pytest.mark.parametrize(
    ("launcher", "workers", "said", "unsaid"),
    [
        ("torchrun", 1, False, True),
        ("torchrun", 2, False, False),
        ("torchrun", 1, True, False),
        ("srun", 1, False, False),
    ],
)
def test_workers_are_unsaid_where_one_starts_since_nobody_counts_them(
    launcher: str, workers: int, said: bool, unsaid: bool
) -> None:
    source = b"torchrun --nproc-per-node=1\n"
    options = (option("nproc-per-node", source, b"--nproc-per-node=1"),) if said else ()
    of = step(links=(agent(*options, name=launcher),), workers=workers)
    assert worlds._workers_unsaid(AGENTS._replace(launcher=launcher), of) == unsaid
    assert not worlds._workers_unsaid(AGENTS, step(workers=1))


@pytest.mark.parametrize(
    ("group", "workers", "world"),
    [
        (AGENTS, 4, World(2, 4, 8)), (AGENTS, None, World(None, None, 8)), (AGENTS._replace(declared=None), 4,
        World(None, 4, None)), (AGENTS._replace(launcher="srun", nodes=3), 4, World(3, 4, 8)),
        (AGENTS._replace(declared=9), 4, World(2, 4, 9)),
    ],
)  # fmt: skip
def test_a_world_is_declared_by_its_size_and_the_workers_of_each_agent(
    group: Group, workers: Any, world: World
) -> None:
    """Of a program by where it starts."""
    assert worlds._declared(group, step(workers=workers)) == world


@pytest.mark.parametrize(
    ("before", "own"),
    [
        (b"torchrun --nnodes 2\n", False),
        (b"torchrun \xe2\x80\x93nnodes=2\n", True),
        (b"x\ntorchrun --nnodes=2\n", False),
    ],
)
def test_a_count_is_the_user_s_own_where_its_words_stood_on_the_line(before: bytes, own: bool) -> None:
    """It was not read before and is now."""
    after = b"torchrun --nnodes=2\n"
    read = agent(option("nnodes", after, b"--nnodes=2"))
    assert worlds._is_users_own(worlds.NODES, agent(), read, played(before), played(after)) == own
    assert not worlds._is_users_own(worlds.NODES, read, read, played(before), played(after))
    assert not worlds._is_users_own(worlds.NODES, agent(), agent(), played(before), played(after))
    assert not worlds._is_users_own(worlds.WORKERS, agent(), read, played(before), played(after))


@pytest.mark.parametrize(
    ("was", "now", "more", "is_count"),
    [
        (b"a100:4", b"4", b"", True), (b"a100:4", b"8", b"", False), (b"4", b"4", b"", False),
        (b":4", b"4", b"", False),
        (b"a100:", b"", b"", False), (b"a:b:4", b"4", b"", True), (b"\0same:x\0:4", b"4", b"", False),
        (b"a100:4", b"4", b"N=$((GPUS * 2))\n", False), (b"a100:4", b"4", b"N=$((OTHER * 2))\n", True),
        (b"a100:4", b"4", b"N=$((GPUS_2 * 2))\n", True),
    ],
)  # fmt: skip
def test_a_type_with_a_count_became_the_count_alone(was: bytes, now: bytes, more: bytes, is_count: bool) -> None:
    """Where no sum is made with the variable that held it."""
    source = more + b"torchrun --nproc-per-node=$GPUS\n"
    old = agent(option("nproc-per-node", source, b"--nproc-per-node=$GPUS", was))
    new = agent(option("nproc-per-node", source, b"--nproc-per-node=$GPUS", now))
    assert worlds._is_its_count(worlds.WORKERS, old, new, source) == is_count
    for pair in ((agent(), new), (old, agent())):
        assert not worlds._is_its_count(worlds.WORKERS, *pair, source)


@pytest.mark.parametrize(
    ("given", "gpus"),
    [
        ({}, 4), ({"gpus_per_node": None}, None), ({"gpus_per_node": None, "gpus": 6}, 3),
        ({"gpus_per_node": None, "gpus": 5}, None), ({"gpus_per_node": None, "gpus_asked": 6}, 3),
        ({"gpus_per_node": None, "gpus": 6, "nodes": None}, None), ({"gpus_per_node": 0}, 0),
    ],
)  # fmt: skip
def test_the_gpus_of_a_node_are_those_asked_for_or_an_even_share(given: Any, gpus: Optional[int]) -> None:
    assert worlds._gpus(GIVEN._replace(**given)) == gpus
    full = worlds.filling(GIVEN._replace(**given))
    assert (full is not None) == bool(gpus)


def test_the_agent_of_a_line_is_the_first_launcher_that_starts_workers() -> None:
    first, second = agent(name="torchrun"), agent(name="accelerate")
    assert worlds._agent(step(links=(agent(name="srun"), first, second))) is first
    assert worlds._agent(step(links=(agent(name="srun"),))) is None is worlds._agent(step())
    assert [worlds._line(b"a\nb\nc", number) for number in (1, 2, 3)] == [b"a", b"b", b"c"]
