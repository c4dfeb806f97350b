"""Where what programs are told of their ranks contradicts itself: each condition of each breach, over made up starts.

A row changes one thing of a job that breaks the invariant; so what is said rests on each of its conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.plan import program_groups as programs
from maple_submit_filter.play.expansion import NODE_LIST
from maple_submit_filter.play.scene import StepShape
from maple_submit_filter.site.facts import NodeKind
from maple_submit_filter.types.launch_plan import Allocation

from tests.submit_filter.test_heart_promises import text

FOUR = (NodeKind("n", gpus=4, gpu_vendor="nvidia"),)
GIVEN = Allocation(2, 4, 2, None, 4, None, FOUR, "", None)
SHAPE = StepShape(2, 4, (2, 2), False, "")


def starts(
    told: dict[str, Any], tasks: Sequence[int] = (0, 1, 2, 3), each: int = 2, missing: Sequence[str] = (),
    dropped: Sequence[str] = (), python: Sequence[bool] = (), program: Callable[[int], list[bytes]] = lambda task: [],
    gpus: Any = None, nodes: Any = None, links: Sequence[str] = ("srun",), background: bool = False, key: object = 1,
) -> list[Any]:  # fmt: skip
    """Return the starts of these tasks, *each* on a node, of which each is *told* values of variables."""
    made = []
    for at, task in enumerate(tasks):
        values = {name.encode(): told_of(value, task) for name, value in told.items()}
        trail = SimpleNamespace(links=[SimpleNamespace(name=name) for name in links], key=key, background=background)
        node = task // each if nodes is None else nodes[at]
        place = SimpleNamespace(node=node, task=task, local_task=task % each, gpus=gpus, cpus=None, pinned=None)
        made.append(SimpleNamespace(
            environment={name: text(value) for name, value in values.items() if value is not None}, place=place,
            trail=trail, missing=tuple(name.encode() for name in missing),
            dropped=tuple(name.encode() for name in dropped), python=python[at] if python else True,
            program=tuple(map(text, program(task))),
        ))  # fmt: skip
    return made


def told_of(value: Any, task: int) -> Optional[bytes]:
    return value(task) if callable(value) else value


def scene(of: Sequence[Any] = (), given: Allocation = GIVEN, **more: Any) -> Any:
    named = {"shares_gpus": False, "strangers": False, "other_jobs": False, "allocation": given, "starts": list(of)}
    return SimpleNamespace(**{**named, **more})


def number(task: int) -> bytes:
    return b"%d" % task


def always(value: bytes, but: bytes = b"", at: int = 3) -> Callable[[int], bytes]:
    """Return the value for all but one of the tasks."""
    return lambda task: but if but and task == at else value


HOST = b"\0host:%d\0"
SET = {"RANK": number, "WORLD_SIZE": b"4", "MASTER_ADDR": HOST % 0, "MASTER_PORT": b"29500", "LOCAL_RANK": b"0"}


def shaped(**more: Any) -> StepShape:
    return SHAPE._replace(**more)


BOTH = [kinds.ENV_RANK, kinds.WORLD_SIZE]


def test_a_rank_that_all_have_does_not_hide_a_wrong_world() -> None:
    """Nor the other way round; a world of one, or of the nodes, is none that a program goes by."""
    for world, kinds_of in ((b"8", BOTH), (b"3", BOTH), (b"1", []), (b"2", [])):
        of = starts({**SET, "RANK": b"0", "WORLD_SIZE": world})
        assert [breach.kind for breach in programs._program_breaches(of, SHAPE, scene(of))] == kinds_of
    apart = starts({**SET, "RANK": b"0", "WORLD_SIZE": b"8", "MASTER_ADDR": always(b"a", b"b")})
    assert programs._program_breaches(apart, SHAPE, scene(apart)) == []


@pytest.mark.parametrize(
    ("told", "more", "kind", "rank", "names"),
    [
        ({}, {}, None, None, ()),
        ({"RANK": b"0"}, {}, kinds.ENV_RANK, 0, ()), ({"RANK": b"3"}, {}, kinds.ENV_RANK, 3, ()),
        ({"RANK": b""}, {}, kinds.ENV_RANK, None, ()),
        ({"RANK": b"", "WORLD_SIZE": b"9"}, {}, kinds.ENV_RANK, None, ()),
        ({"RANK": b"0", "WORLD_SIZE": b"8"}, {"strangers": True}, None, None, ()),  # they may start the rest
        ({"RANK": lambda task: b"%d" % (task // 2)}, {}, kinds.ENV_RANK, None, (b"repeated",)),
        ({"RANK": lambda task: b"%d" % (task // 2), "WORLD_SIZE": b"8"}, {}, None, None, ()),
        ({"RANK": lambda task: b"%d" % (task + 1)}, {}, kinds.ENV_RANK, None, (b"repeated",)),
        ({"RANK": lambda task: b"%d" % (task + 1), "WORLD_SIZE": b"5"}, {}, None, None, ()),
        ({"WORLD_SIZE": b"3"}, {}, kinds.WORLD_SIZE, None, ()), ({"WORLD_SIZE": b"5"}, {}, kinds.WORLD_SIZE, None, ()),
        ({"WORLD_SIZE": b"3"}, {"strangers": True}, kinds.WORLD_SIZE, None, ()),
        ({"WORLD_SIZE": b"5"}, {"strangers": True}, None, None, ()),  # they may start the rest
        ({"WORLD_SIZE": always(b"5", b"6")}, {}, None, None, ()), ({"RANK": always(b"0", b"x")}, {}, None, None, ()),
        ({"RANK": b"0"}, {"python": (True, True, False, True)}, None, None, ()),
        ({"RANK": b"0"}, {"shape": shaped(tasks=None)}, None, None, ()),
        ({"RANK": b"0"}, {"shape": None}, None, None, ()),
        ({"RANK": b"0", "WORLD_SIZE": b"2"}, {"tasks": (0, 1), "shape": shaped(tasks=2)}, kinds.ENV_RANK, 0, ()),
        ({"RANK": b"0", "WORLD_SIZE": b"1"}, {"tasks": (0,), "shape": shaped(tasks=1)}, None, None, ()),
        ({"MASTER_ADDR": b"localhost"}, {}, kinds.MASTER_LOCAL, None, ()),
        ({"RANK": lambda task: b"" if task == 3 else b"0"}, {}, None, None, ()),
    ],
)  # fmt: skip
def test_ranks_that_a_script_hands_out_are_each_there_once(
    told: dict[str, Any], more: dict[str, Any], kind: Optional[str], rank: Optional[int], names: tuple[bytes, ...]
) -> None:
    """And as many as the world has, which nobody else may fill."""
    shape, strangers = more.get("shape", SHAPE), more.get("strangers", False)
    of = starts({**SET, **told}, **{name: value for name, value in more.items() if name not in ("shape", "strangers")})
    found = programs._program_breaches(of, shape, scene(of, strangers=strangers))
    assert [(breach.kind, breach.names) for breach in found] == ([(kind, names)] if kind else [])
    for breach in found:
        world = told_of({**SET, **told}["WORLD_SIZE"], 0)
        assert breach.numbers == {"tasks": len(of), "world size": int(world or b"0"), "rank": rank, "nodes": 2}
        assert {"master", "port", "rank-text", "world-text"} <= breach.texts.keys()
        assert all(breach.texts[name] is of[0].environment[raw] for name, raw in programs._NAMED[:4])
        assert "local-text" not in breach.texts  # 0 is right for all where each sees a device of its own


@pytest.mark.parametrize(
    ("world", "told", "more", "kind"),
    [
        (b"1000", {}, {}, None), (b"999", {}, {}, kinds.WORLD_SIZE), (b"1001", {}, {}, kinds.WORLD_SIZE),
        (b"1001", {}, {"strangers": True}, None), (b"999", {}, {"strangers": True}, kinds.WORLD_SIZE),
        (b"1000", {"MASTER_ADDR": b"localhost"}, {}, kinds.MASTER_LOCAL),
        (b"999", {"MASTER_ADDR": b"localhost"}, {}, kinds.WORLD_SIZE),
        (b"999", {"RANK": lambda task: b"%d" % (task + 1)}, {}, None),  # ranks of another order
        (b"999", {"RANK": b"0"}, {}, None), (b"999", {"RANK": always(b"0", b"x", 999)}, {}, None),
        (b"x", {}, {}, None), (b"999", {}, {"python": (True, False, True)}, None),
        (b"999", {}, {"shape": shaped(tasks=None)}, None), (b"999", {}, {"shape": None}, None),
    ],
)  # fmt: skip
def test_what_is_so_of_the_samples_of_a_large_world_is_so_of_all(
    world: bytes, told: dict[str, Any], more: dict[str, Any], kind: Optional[str]
) -> None:
    shape, strangers = more.get("shape", shaped(nodes=500, tasks=1000, sampled=True)), more.get("strangers", False)
    of = starts({**SET, "WORLD_SIZE": world, **told}, (0, 1, 999), python=more.get("python", ()))
    found = programs._sampled_breaches(of, shape, scene(of, strangers=strangers))
    assert [breach.kind for breach in found] == ([kind] if kind else [])
    for breach in found:
        assert breach.numbers == {"tasks": 1000, "world size": int(world), "rank": None, "nodes": 500}
        assert breach.texts["world-text"].raw == world
        assert all(shown is of[0].environment[raw] for name, raw in programs._NAMED for shown in [breach.texts[name]])


def test_what_only_some_are_told_is_shown_as_the_first_is_told_it() -> None:
    """What it is not told is not shown."""
    told = {**SET, "MASTER_PORT": lambda task: b"1" if task else None, "WORLD_SIZE": b"9"}
    of = starts(told)
    found = programs._program_breaches(of, SHAPE, scene(of))
    assert [breach.kind for breach in found] == [kinds.WORLD_SIZE] and "port" not in found[0].texts
    sampled = programs._sampled_breaches(of, shaped(sampled=True), scene(of))
    assert [breach.kind for breach in sampled] == [kinds.WORLD_SIZE] and "port" not in sampled[0].texts


@pytest.mark.parametrize(
    ("local", "gpus", "early"),
    [
        (b"0", (b"0", b"1"), True), (b"0", (b"0",), False), (b"0", None, False), (b"", (b"0",), True),
        (b"", None, True), (number, (b"0", b"1"), False), (always(b"0", b"1"), (b"0", b"1"), False),
        (None, (b"0", b"1"), False),
    ],
)  # fmt: skip
def test_one_local_rank_for_all_is_a_mistake_where_they_see_the_same_devices(
    local: Any, gpus: Any, early: bool
) -> None:
    """Where each sees one of its own, 0 is right for all; an empty one is right for none."""
    of = starts({**SET, "LOCAL_RANK": local, "RANK": b"0"}, gpus=gpus)
    assert programs._locals_early(of, ()) == early
    (breach,) = programs._program_breaches(of, SHAPE, scene(of))
    assert ("local-text" in breach.texts) == early


def test_of_devices_of_their_own_local_rank_0_is_no_mistake() -> None:
    """Two tasks of which each sees two others."""
    of = starts({**SET, "CUDA_VISIBLE_DEVICES": lambda task: b"0,1" if task % 2 else b"2,3"}, gpus=None)
    assert not programs._locals_early(of, ())


@pytest.mark.parametrize(
    ("world", "mine", "its", "rest"),
    [(b"8", False, True, True), (b"8", True, False, True), (b"8", False, False, False), (b"7", True, True, False)],
)
def test_the_rest_of_a_world_may_start_beside_it(world: bytes, mine: bool, its: bool, rest: bool) -> None:
    """At the same time, and told the same size; the line itself is none of them."""
    of, beside = starts(SET, background=mine), starts({"WORLD_SIZE": world}, background=its, key=2)
    assert programs._others(of, 8, scene([*of, *beside])) == rest
    alone = starts(SET, (0,), background=mine)
    assert programs._others(alone, 8, scene([*alone, *beside])) == rest
    own = starts({"WORLD_SIZE": b"8"}, background=True)
    assert not programs._others(own, 8, scene(own)) and programs._others(own, 8, scene(own, strangers=True))


def test_two_that_draw_a_port_each_differ_and_one_does_not() -> None:
    drawn = [text(b"\0task:%d\0" % at) for at in range(2)]
    assert programs._all_drawn(drawn) and not programs._all_drawn(drawn[:1]) and not programs._all_drawn([])
    assert not programs._all_drawn([drawn[0], text(b"1")]) and not programs._all_drawn([*drawn, None])


def of_master(told: dict[str, Any], **more: Any) -> list[tuple[str, tuple[bytes, ...]]]:
    found = programs._master_breaches(starts({**SET, **told}, **more), {}, {})
    return [(breach.kind, breach.names) for breach in found]


@pytest.mark.parametrize(
    ("told", "more", "kind", "names"),
    [
        ({}, {}, "", ()), ({"MASTER_ADDR": None}, {}, "", ()),
        ({"MASTER_ADDR": None}, {"dropped": ("X", "MASTER_ADDR")}, kinds.MASTER_EMPTY, (b"MASTER_ADDR",)),
        ({"MASTER_ADDR": always(HOST % 0)}, {"dropped": ("MASTER_ADDR",)}, "", ()),
        ({}, {"dropped": ("MASTER_PORT",), "missing": ("MASTER_PORT",)}, kinds.MASTER_EMPTY, (b"MASTER_PORT",)),
        ({}, {"dropped": ("MASTER_PORT",)}, "", ()), ({}, {"missing": ("MASTER_PORT",)}, "", ()),
        ({"MASTER_PORT": number}, {}, kinds.PORT_DIFFERS, ()),
        ({"MASTER_PORT": number}, {"nodes": (0, 0, 0, 0)}, kinds.PORT_DIFFERS, ()),
        ({"MASTER_ADDR": b"localhost"}, {}, kinds.MASTER_LOCAL, ()),
        ({"MASTER_ADDR": b"localhost"}, {"nodes": (0, 0, 0, 0)}, "", ()),
        ({"MASTER_ADDR": b"localhost"}, {"nodes": (0, 0, 1, None)}, "", ()),
        ({"MASTER_ADDR": always(b"localhost", HOST % 0)}, {}, "", ()),
        ({"MASTER_ADDR": always(HOST % 0, b"\0same:x\0")}, {}, "", ()),
        ({"MASTER_ADDR": lambda task: HOST % (task // 2)}, {}, kinds.MASTER_DIFFERS, ()),
        ({"MASTER_ADDR": lambda task: b"\0addr:%d\0" % (task // 2)}, {}, kinds.MASTER_DIFFERS, ()),
        ({"MASTER_ADDR": lambda task: b"\0name:%d\0" % (task // 2)}, {}, kinds.MASTER_DIFFERS, ()),
        ({"MASTER_ADDR": always(HOST % 0, b"elsewhere")}, {}, "", ()),
        ({"MASTER_PORT": lambda task: b"\0task:%d\0" % task}, {}, kinds.PORT_DIFFERS, ()),
        ({"MASTER_PORT": b"\0task:1\0"}, {}, "", ()),
        ({"MASTER_PORT": lambda task: b"\0task:%d\0" % task if task else None}, {}, "", ()),
        ({"MASTER_PORT": lambda task: b"\0vary:%d\0" % task}, {}, "", ()),
        ({"MASTER_ADDR": NODE_LIST}, {}, kinds.MASTER_LIST, ()),
        ({"MASTER_ADDR": always(NODE_LIST, HOST % 0)}, {}, "", ()),
        ({"MASTER_ADDR": HOST % 1}, {}, kinds.MASTER_ELSEWHERE, ()),
        ({"MASTER_ADDR": HOST % 1, "RANK": lambda task: b"%d" % (3 - task)}, {}, "", ()),  # rank 0 is there
        ({"MASTER_ADDR": HOST % 1, "RANK": lambda task: b"%d" % (task + 1)}, {}, "", ()),  # it is none of these
        ({"MASTER_ADDR": b"elsewhere"}, {}, "", ()),
        ({"MASTER_ADDR": lambda task: HOST % 1 if task else None}, {}, "", ()),
        ({"MASTER_ADDR": lambda task: None if task else HOST % 1}, {}, "", ()),
        ({"MASTER_ADDR": lambda task: HOST % 0 if task else None}, {"dropped": ("MASTER_ADDR",)}, "", ()),
        ({"MASTER_ADDR": lambda task: b"localhost" if task else None}, {}, "", ()),
        ({"MASTER_ADDR": always(b"\0same:x\0")}, {}, "", ()),
        ({"MASTER_PORT": lambda task: b"\0task:%d\0" % task if task else b"x"}, {}, "", ()),
    ],
)  # fmt: skip
def test_all_of_a_world_are_told_one_place_to_meet_where_rank_0_is(
    told: dict[str, Any], more: dict[str, Any], kind: str, names: tuple[bytes, ...]
) -> None:
    """What is not known of one of them, or of its node, proves nothing. Two are as many."""
    assert of_master(told, **more) == ([(kind, names)] if kind else [])


@pytest.mark.parametrize(
    ("told", "apart"),
    [
        ({}, False), ({"MASTER_PORT": number}, True), ({"MASTER_PORT": always(b"1", b"2")}, True),
        ({"MASTER_PORT": always(b"1", b"x")}, False), ({"MASTER_PORT": number, "WORLD_SIZE": b"5"}, True),
        ({"MASTER_PORT": number, "WORLD_SIZE": b"3"}, False), ({"MASTER_PORT": number, "WORLD_SIZE": b"x"}, False),
        ({"MASTER_PORT": number, "WORLD_SIZE": always(b"4", b"5")}, False),
        ({"MASTER_PORT": number, "RANK": b"0"}, False), ({"MASTER_PORT": number, "RANK": always(b"0", b"x")}, False),
        ({"MASTER_PORT": number, "RANK": lambda task: b"%d" % (task + 1)}, False),  # rank 4 is none of four
        ({"MASTER_PORT": number, "RANK": lambda task: b"%d" % (task + 1), "WORLD_SIZE": b"5"}, True),
    ],
)  # fmt: skip
def test_processes_of_one_world_are_told_ports_of_their_own(told: dict[str, Any], apart: bool) -> None:
    """Of one world they are where each has another rank, below the size that all are told."""
    assert programs._said_apart(starts({**SET, **told})) == apart
