"""Where programs are told what may be wrong, and proves nothing: each condition of each such breach."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.plan import program_groups as programs
from maple_submit_filter.site.facts import NodeKind
from maple_submit_filter.types.launch_plan import Breach

from tests.submit_filter.test_program_breaches import GIVEN, HOST, SET, always, number, scene, shaped, starts

UNKNOWN_KIND = (NodeKind("a", gpus=4), NodeKind("b"))


def only(breaches: Any) -> Optional[Breach]:
    """Return the one breach, None for none."""
    assert len(breaches) <= 1
    return breaches[0] if breaches else None


@pytest.mark.parametrize(
    ("local", "more", "given", "workers"),
    [
        (lambda task: b"%d" % (task + 1), {}, {}, 5), (number, {}, {}, None),
        (lambda task: b"%d" % (task + 2), {}, {}, 6),
        (always(b"0", b"4"), {}, {}, 5), (always(b"0", b"x"), {}, {}, None), (always(b"x", b"4"), {}, {}, 5),
        (b"4", {"missing": ("LOCAL_RANK",)}, {}, None), (b"4", {"shares_gpus": True}, {}, None),
        (b"4", {}, {"node_kinds": UNKNOWN_KIND}, None), (b"8", {}, {"node_kinds": UNKNOWN_KIND}, None),
        (b"4", {}, {"node_kinds": (NodeKind("a", gpus=4), NodeKind("b", gpus=8))}, None),
        (b"8", {}, {"node_kinds": (NodeKind("a", gpus=4), NodeKind("b", gpus=8))}, 9),
        (b"4", {}, {"node_kinds": (), "gpus_per_node": 4}, 5), (b"4", {}, {"node_kinds": (), "gpus_per_node": 5}, None),
        (b"4", {}, {"node_kinds": (), "gpus_per_node": None}, None), (b"4", {}, {"gpus_per_node": 8}, 5),
        (b"4", {"program": lambda task: [b"train.py", b"--backend", b"gloo"]}, {}, None),
        (b"4", {"program": lambda task: [b"train.py", b"--no-cuda"]}, {}, None),
        (b"4", {"program": lambda task: [b"train.py", b"gloom"]}, {}, 5),
    ],
)  # fmt: skip
def test_a_local_rank_is_one_of_a_device_of_its_node(local: Any, more: Any, given: Any, workers: Optional[int]) -> None:
    """Of the largest node it may be; on the CPU there are as many as one likes."""
    shares = more.get("shares_gpus", False)
    of = starts({"LOCAL_RANK": local}, **{name: value for name, value in more.items() if name != "shares_gpus"})
    found = only(programs._beyond_gpus(of, scene(of, GIVEN._replace(**given), shares_gpus=shares)))
    most = (given.get("gpus_per_node") if given.get("node_kinds") == () else None) or (8 if workers == 9 else 4)
    expected = {"workers": workers, "node": most} if workers else None
    assert (found and (found.kind, found.numbers)) == (expected and (kinds.LOCAL_RANK_BEYOND, expected))


def test_what_is_withheld_is_what_all_that_lack_it_were_not_given() -> None:
    """Two tasks of python programs at least; on the node of the batch script none need lack it."""
    named = {"missing": ("RANK", "WORLD_SIZE", "X"), "dropped": ("WORLD_SIZE", "RANK")}
    found = only(programs._withheld(starts({}, **named)))
    assert found is not None and (found.kind, found.names) == (kinds.WITHHELD, (b"RANK", b"WORLD_SIZE"))
    none, some = starts({}, (0, 1)), starts({}, (2, 3), **named)
    found = only(programs._withheld([*none, *some]))
    assert found is not None and found.names == (b"RANK", b"WORLD_SIZE")
    on_first = starts({}, (0, 1), missing=("RANK",), dropped=("RANK",))
    assert only(programs._withheld(on_first)).names == (b"RANK",)  # type: ignore[union-attr]
    for of in (
        starts({}, (2,), **named), starts({}, missing=("RANK",)), starts({}, dropped=("RANK",)), starts({}),
        starts({}, **named, python=(True, True, True, False)), starts({}, **named, links=()),
        [*some, *starts({}, (4, 5), missing=("RANK",), dropped=("RANK",))],  # other things are missing there
        [*some, *starts({}, (4, 5), missing=named["missing"])],  # nor is it the script that has dropped it
    ):  # fmt: skip
        assert programs._withheld(of) == ()


@pytest.mark.parametrize(
    ("told", "more", "of_scene", "said"),
    [
        ({"WORLD_SIZE": b"5"}, {}, {}, True), ({"WORLD_SIZE": b"4"}, {}, {}, False),
        ({"WORLD_SIZE": b"3"}, {}, {}, False),
        ({"WORLD_SIZE": b"x"}, {}, {}, False), ({"WORLD_SIZE": None}, {}, {}, False),
        ({"WORLD_SIZE": b"5"}, {"missing": ()}, {}, False), ({"WORLD_SIZE": b"5"}, {"background": True}, {}, False),
        ({"WORLD_SIZE": b"5"}, {"python": (True, True, True, False)}, {}, False),
        ({"WORLD_SIZE": b"5"}, {}, {"strangers": True}, False), ({"WORLD_SIZE": b"5"}, {}, {"other_jobs": True}, False),
        ({"WORLD_SIZE": b"5"}, {}, {"starts": starts({}, key=2)}, False),
    ],
)  # fmt: skip
def test_a_world_is_said_to_be_larger_than_the_one_launch_of_the_script(
    told: Any, more: Any, of_scene: Any, said: bool
) -> None:
    """Which ranks take part nobody can read then; another start may be the rest."""
    for tasks in ((0, 1, 2, 3), (0,)):
        of = starts(told, tasks, **{"missing": ("RANK",), **more, "python": more.get("python", ())[-len(tasks) :]})
        here = scene([*of, *of_scene.get("starts", ())], **{n: v for n, v in of_scene.items() if n != "starts"})
        found = only(programs._said_world(of, shaped(), here))
        assert (found is not None) == said
        if found is not None:
            assert found.kind == kinds.WORLD_SAID and found.numbers == {"tasks": 4, "world size": 5}
            assert found.texts["world-text"] is of[0].environment[b"WORLD_SIZE"]
        assert programs._said_world(of, None, here) == () == programs._said_world(of, shaped(tasks=None), here)


class Group:
    """A group of which what the rules of this page read is known."""

    def __init__(self, world_size: Optional[int], processes: Any = ()) -> None:
        self.world_size, self.processes = world_size, processes


@pytest.mark.parametrize(
    ("master", "more", "given", "size", "said"),
    [
        (b"localhost", {}, {}, 5, True), (b"127.0.0.1", {}, {}, 5, True), (b"localhost", {}, {}, 4, False),
        (b"localhost", {}, {}, None, False), (HOST % 0, {}, {}, 5, False), (None, {}, {}, 5, False),
        (always(b"localhost", HOST % 0), {}, {}, 5, False), (b"localhost", {}, {"nodes": 1}, 5, False),
        (b"localhost", {}, {"nodes": None}, 5, False), (b"localhost", {}, {"node_kinds": ()}, 5, False),
        (b"localhost", {}, {"node_kinds": UNKNOWN_KIND}, 5, False), (b"localhost", {"shares_gpus": True}, {}, 5, False),
        (b"localhost", {"nodes": (0, 0, 1, 1)}, {}, 5, False), (b"localhost", {"nodes": (0, 0, 1, None)}, {}, 5, True),
        (b"localhost", {"python": (True, True, True, False)}, {}, 5, False),
        (b"localhost", {}, {"node_kinds": (NodeKind("a", gpus=4), NodeKind("b", gpus=8))}, 8, False),
        (b"localhost", {}, {"node_kinds": (NodeKind("a", gpus=4), NodeKind("b", gpus=8))}, 9, True),
    ],
)  # fmt: skip
def test_ranks_of_unknown_nodes_that_meet_at_localhost_are_too_many_for_one(
    master: Any, more: Any, given: Any, size: Optional[int], said: bool
) -> None:
    """A node has room for as many as it has GPUs."""
    shares = more.get("shares_gpus", False)
    named = {"nodes": (None,) * 4, **{name: value for name, value in more.items() if name != "shares_gpus"}}
    of = starts({"MASTER_ADDR": master}, **named)
    found = only(programs._local(of, Group(size), scene(of, GIVEN._replace(**given), shares_gpus=shares)))  # type: ignore[arg-type]
    assert (found is not None) == said
    if found is not None:
        assert (found.kind, found.numbers) == (kinds.LOCAL_SAID, {"nodes": 2})
        assert found.texts["master"] is of[0].environment[b"MASTER_ADDR"]


def seeing(*each: Any, nodes: tuple[Optional[int], ...] = (0, 0, 1, 1)) -> Group:
    """Return a group of as many processes as devices are named, b"" for none and None for what is not known."""
    rows = []
    for gpus, node in zip(each, nodes):
        seen = None if gpus is None else tuple(part for part in gpus.split(b",") if part)
        rows.append(type("Process", (), {"gpus": seen, "node": node})())
    return Group(len(rows), rows)


@pytest.mark.parametrize(
    ("group", "numbers"),
    [
        (seeing(b"0", b"0", b"0", b"1"), (2, 1)), (seeing(b"0", b"1", b"0", b"1"), None),
        (seeing(b"0,1", b"0,1", b"0", b"0"), (2, 1)), (seeing(b"0,1", b"0,1", b"0,1", b"0,1"), None),
        (seeing(b"0", b"0", b"0", b"0", nodes=(0, 0, 0, 1)), (3, 1)), (seeing(b"0", b"0", nodes=(0, 1)), None),
        (seeing(b"0", b"0", None, b"1"), None), (seeing(b"0", b"0", b"0", b"1", nodes=(0, 0, 1, None)), None),
        (seeing(b"", b"", b"0", b"1"), None), (seeing(), None), (seeing(b"0", nodes=(0,)), None),
    ],
)  # fmt: skip
def test_ranks_of_a_node_see_a_device_each(group: Group, numbers: Optional[tuple[int, int]]) -> None:
    """The node that lacks most is told of; where no device is seen none is used."""
    of = starts(SET)
    for start, process in zip(of, group.processes):
        start.place.node = process.node
    found = only(programs._fewer_gpus(of, group, scene(of)))  # type: ignore[arg-type]
    assert (found and (found.numbers["workers"], found.numbers["visible"])) == numbers
    assert found is None or found.kind == kinds.GPUS_FEWER


@pytest.mark.parametrize(
    ("more", "shares", "size", "said"),
    [
        ({}, False, 4, True), ({}, True, 4, False), ({}, False, 1, False), ({}, False, 2, True),
        ({}, False, None, False),
        ({"python": (True, True, True, False)}, False, 4, False), ({"missing": ("MASTER_ADDR",)}, False, 4, False),
        ({"missing": ("MASTER_ADDR",), "links": ("srun", "jsrun")}, False, 4, False),
        ({"program": lambda task: [b"a.py", b"--cpu"]}, False, 4, False), ({"missing": ("RANK",)}, False, 4, True),
    ],
)  # fmt: skip
def test_ranks_that_share_a_device_are_those_of_one_world(more: Any, shares: bool, size: Any, said: bool) -> None:
    """Of programs that meet by torch's rules, on the GPU, of which none is shared on purpose."""
    for tasks in ((0, 1, 2, 3), (0,)):
        of = starts(SET, tasks, **{**more, "python": more.get("python", ())[-len(tasks) :]})
        group = Group(size, seeing(b"0", b"0", b"0", b"0").processes)
        assert bool(programs._fewer_gpus(of, group, scene(of, shares_gpus=shares))) == said  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "more", "given", "device"),
    [
        ((b"4", b"0"), {}, {}, 4), ((b"0", b"7"), {}, {}, 7), ((b"5", b"7", b"4"), {}, {}, 7),
        ((b"3", b"0"), {}, {}, None),
        ((b"0,4", b"0"), {}, {}, None), ((b"GPU-4", b"0"), {}, {}, None), ((b"1234", b"0"), {}, {}, None),
        ((b"999", b"0"), {}, {}, 999), ((None, b"4"), {}, {}, 4), ((b"", b"4"), {}, {}, 4),
        ((b"4", b"0"), {}, {"node_kinds": ()}, None), ((b"4", b"0"), {}, {"node_kinds": UNKNOWN_KIND}, None),
        ((b"4", b"0"), {}, {"node_kinds": (NodeKind("a", gpus=4), NodeKind("b", gpus=8))}, None),
        ((b"4", b"0"), {"tasks": (0,)}, {}, None), ((b"4", b"0"), {"python": (True, True, True, False)}, {}, None),
    ],
)  # fmt: skip
def test_a_rank_is_given_a_device_that_a_node_has(first: Any, more: Any, given: Any, device: Optional[int]) -> None:
    """The first of those it sees is the one it takes."""
    of = starts(SET, **more)
    group = seeing(*first)
    found = only(programs._beyond_devices(of, group, scene(of, GIVEN._replace(**given))))  # type: ignore[arg-type]
    expected = {"device": device, "node": 4} if device is not None else None
    assert (found and (found.kind, found.numbers)) == (expected and (kinds.DEVICE_BEYOND, expected))


def own(task: int) -> bytes:
    return HOST % (task // 2)


@pytest.mark.parametrize(
    ("words", "more", "apart"),
    [
        (lambda task: [b"a.py", b"--master", own(task)], {}, True),
        (lambda task: [b"a.py", b"--master", HOST % 0], {}, False),
        (lambda task: [b"a.py", b"--dist-url=tcp://" + own(task) + b":1"], {}, True),
        (lambda task: [b"a.py", b"--name=" + own(task)], {}, False),
        (lambda task: [b"a.py", b"--log", own(task)], {}, False),
        (lambda task: [own(task)], {}, False),
        (lambda task: [b"--master", b"x" if task == 3 else own(task)], {}, False),
        (lambda task: [b"a.py", b"--log", own(task), b"--master", own(task)], {}, False),
        (lambda task: [b"a.py", b"--log", b"x", b"--master", own(task)], {}, True),
        (lambda task: [b"--master", own(task)], {"nodes": (0, 0, 0, 0)}, False),
        (lambda task: [b"--master", own(task)], {"nodes": (0, 0, 0, 1)}, True),
        (lambda task: [b"--master", own(task)], {"python": (True, True, True, False)}, False),
    ],
)  # fmt: skip
def test_programs_of_several_nodes_are_told_their_own_as_the_place_to_meet(words: Any, more: Any, apart: bool) -> None:
    """By an option that is called so; what else a program is told of its node is right."""
    of = starts({}, program=words, **more)
    found = only(programs._told_apart(of))
    assert (found is not None) == apart
    assert found is None or (found.kind, b"host:0" in found.texts["master"].raw) == (kinds.TOLD_APART, True)


AT = [b"train.py", b"--epochs", b"3", b"--master_addr"]


def own_node(task: int) -> list[bytes]:
    """Return the words of a program that is told its own node for the master's."""
    return [*AT, HOST % (task // 2)]


@pytest.mark.parametrize("tasks", [(0,), (0, 2), (0, 1), (0, 2, 4), (0, 1, 2, 3)], ids=str)
def test_what_several_ranks_are_told_is_told_of_two_and_more(tasks: Any) -> None:
    """One rank meets nobody; to be told apart takes two nodes. Programs that are not python's say nothing."""
    told = {"MASTER_ADDR": b"node001", "MASTER_PORT": b"65536"}
    of = starts(told, tasks, program=own_node)
    several, apart = len(tasks) > 1, len({task // 2 for task in tasks}) > 1
    ways = (programs._outside, programs._no_port, programs._told_apart)
    found = [[breach.kind for breach in way(of)] for way in ways]
    assert found == [[kinds.MASTER_OUTSIDE] * several, [kinds.NO_PORT] * several, [kinds.TOLD_APART] * apart]
    other = starts(told, tasks, program=own_node, python=(*[True] * (len(tasks) - 1), False))
    assert [way(other) for way in ways] == [()] * 3


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (own_node, True), (lambda task: [*AT, HOST % 0], False), (lambda task: [HOST % (task // 2)], False),
        (lambda task: [b"a.py", b"--name", HOST % (task // 2)], False),
        (lambda task: [b"a.py", b"--dist-url=tcp://" + HOST % (task // 2)], True),
        (lambda task: [b"a.py", b"--name=" + HOST % (task // 2)], False),
        (lambda task: [*AT, HOST % 0 if task else b"node001"], False),
        (lambda task: [*AT, b"%d" % task], False), (lambda task: [*AT, b"\0name:%d\0" % (task // 2)], True),
    ],
)  # fmt: skip
def test_a_program_is_told_apart_by_the_word_that_names_the_meeting(program: Any, said: bool) -> None:
    """Its own node on each; under a name that is none of a meeting's it may be anything."""
    found = only(programs._told_apart(starts({}, program=program)))
    assert (found is not None) == said
    assert found is None or found.texts["master"].raw == program(0)[-1]
