"""Where what a launcher's agents are told contradicts itself: each condition of each breach, over made up agents."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.plan import breaches, groups
from maple_submit_filter.play.scene import Agent, StepShape
from maple_submit_filter.site.facts import NodeKind
from maple_submit_filter.types.launch_plan import Allocation
from maple_submit_filter.types.text import Text

from tests.submit_filter.test_heart_promises import text
from tests.submit_filter.test_program_breaches import FOUR, HOST, NODE_LIST, shaped

AGENT = Agent(
    "torchrun", (2, 2), 4, b"c10d", text(b"7"), None, text(HOST % 0), text(b"29500"), False, None, None, False
)
STATIC = AGENT._replace(backend=b"static", run_id=None, node_rank=0)
GIVEN = Allocation(2, 2, 1, None, 4, None, FOUR, "", None)
NOT_SAID = b"\0same:x\0"


def start(node: Optional[int], agent: Agent, links: str = "srun torchrun", **more: Any) -> Any:
    trail = {"links": [SimpleNamespace(name=name) for name in links.split()], "key": 1, "background": False, "span": 1}
    place = {"node": node, "task": node, "name": b"here", "cpus": None, "pinned": None}
    return SimpleNamespace(
        agent=agent, dropped=(b"HEAD",),
        trail=SimpleNamespace(**{**trail, **{name: more[name] for name in more if name in trail}}),
        place=SimpleNamespace(**{**place, **{name: more[name] for name in more if name in place}}),
    )  # fmt: skip


def row(*nodes: Optional[int], agent: Agent = AGENT, ranked: bool = False, **more: Any) -> list[Any]:
    """Return an agent on each of these nodes; *ranked*: each has its place in the row for its node rank."""
    return [start(node, agent._replace(node_rank=at) if ranked else agent, **more) for at, node in enumerate(nodes)]


def scene(given: Allocation = GIVEN, **more: Any) -> Any:
    named = {"shares_gpus": False, "strangers": False, "other_jobs": False, "kills": False, "allocation": given}
    return SimpleNamespace(**{**named, **more})


def told(starts: list[Any], shape: Optional[StepShape] = None, of: Any = None) -> list[str]:
    """Return the kinds of what is wrong with these agents."""
    found = breaches.agent_breaches(starts, groups._partition(starts), shape, of or scene())
    return [breach.kind for breach in found]


@pytest.mark.parametrize(
    ("port", "more", "none"),
    [
        (b"29500", {}, False), (b"1", {}, False), (b"65535", {}, False), (b"65536", {}, True), (b"0", {}, True),
        (b"", {}, True), (b"x", {}, True), (b"0000029500", {}, True), (b"000029500", {}, False), (NOT_SAID, {}, False),
        (b"::1]", {}, False), (b"0", {"nnodes": (1, 1)}, False), (b"0", {"nnodes": None}, False),
        (b"x", {"nnodes": (1, 1)}, True), (b"x", {"standalone": True}, False), (b"x", {"backend": b"etcd"}, False),
        (b"x", {"backend": b"static"}, True), (b"0", {"nnodes": (1, 2)}, False),
    ],
)  # fmt: skip
def test_a_port_is_a_number_that_others_can_be_told(port: bytes, more: Any, none: bool) -> None:
    """0 is any free one: right for an agent that meets nobody else."""
    found = breaches._portless(row(0, 1, agent=AGENT._replace(port=text(port), **more)))
    assert [breach.kind for breach in found] == [kinds.NO_PORT] * none
    assert not breaches._portless(row(0, agent=AGENT._replace(port=None)))


@pytest.mark.parametrize(
    ("masters", "nodes", "more", "kind"),
    [
        ((NODE_LIST, NODE_LIST), 2, {}, kinds.MASTER_LIST), ((NODE_LIST, HOST % 0), 2, {}, ""),
        ((b"\0same:cutlist\0",) * 2, 2, {}, kinds.LIST_SAID), ((b"\0same:cutlist\0", HOST % 0), 2, {}, ""),
        ((NODE_LIST,) * 2, 1, {}, ""), ((NODE_LIST,) * 2, None, {}, ""), ((NODE_LIST,) * 2, 2, {"nnodes": (1, 1)}, ""),
        ((NODE_LIST,) * 2, 2, {"nnodes": None}, ""), ((NODE_LIST,) * 2, 2, {"standalone": True}, ""),
        ((HOST % 0,) * 2, 2, {}, ""), ((b"\0same:cutlist\0",) * 2, 1, {}, ""),
    ],
)  # fmt: skip
def test_the_list_of_nodes_is_no_master(masters: Any, nodes: Optional[int], more: Any, kind: str) -> None:
    """Of one node it is its name; where one of them is told a name that one may lead."""
    part = [start(at, AGENT._replace(master=text(master), **more)) for at, master in enumerate(masters)]
    found = breaches._listed(part, scene(GIVEN._replace(nodes=nodes)))
    assert [breach.kind for breach in found] == ([kind] if kind else [])
    assert all(breach.texts["master"] is part[0].agent.master for breach in found)


@pytest.mark.parametrize(
    ("agent", "more", "nodes", "unclear"),
    [
        ({}, {}, 0, False), ({"standalone": True, "nnodes": None}, {}, 0, False), ({"nnodes": None}, {}, 0, True),
        ({"nnodes": (1, 2)}, {}, 0, True), ({"backend": b""}, {}, 0, True), ({"master": None}, {}, 0, True),
        ({"port": None}, {}, 0, True), ({"run_id": None}, {}, 0, True),
        ({"run_id": None, "backend": b"static"}, {}, 0, False), ({"run_id": text(b"\0vary:1\0")}, {}, 0, True),
        ({"master": text(b"\0vary:1\0")}, {}, 0, True), ({"port": text(b"\0vary:1\0")}, {}, 0, True),
        ({"run_id": text(b"\0vary:1\0"), "backend": b"static"}, {}, 0, False), ({"port": text(NOT_SAID)}, {}, 0, False),
        ({"master": text(b"localhost")}, {}, 0, False), ({"master": text(b"localhost")}, {"task": 0}, None, True),
        ({}, {"task": None}, 0, True), ({}, {"task": None, "links": "torchrun"}, 0, False),
        ({"nnodes": (1, 1)}, {"task": None}, 0, True),
        ({"nnodes": (1, 1)}, {"task": None, "links": "torchrun"}, 0, False),
        ({"nnodes": (1, 1), "master": None}, {}, 0, False), ({"nnodes": (1, 1)}, {}, 0, False),
    ],
)  # fmt: skip
def test_it_is_known_whom_an_agent_meets_where_all_that_it_is_told_of_the_place_is(
    agent: Any, more: Any, nodes: Optional[int], unclear: bool
) -> None:
    """A static meeting has no name; who is alone meets nobody; on a node that is unknown localhost may be another's."""
    assert breaches._unclear(start(nodes, AGENT._replace(**agent), **more)) == unclear


@pytest.mark.parametrize(
    ("starts", "shape", "of", "kind"),
    [
        (row(0, 1), None, {}, []), (row(0), None, {}, [kinds.AGENTS]), (row(0, 1, 2), None, {}, [kinds.AGENTS]),
        (row(0), None, {"other_jobs": True}, []), (row(0), None, {"strangers": True}, []),
        (row(0, 1, 2), None, {"other_jobs": True}, [kinds.AGENTS]),
        (row(0, 1, 2), None, {"strangers": True}, [kinds.AGENTS]),
        (row(0, agent=AGENT._replace(master=text(b"elsewhere"))), None, {}, []),
        (row(0, agent=AGENT._replace(master=text(b""))), None, {}, [kinds.MASTER_EMPTY]),
        (row(0, 1, agent=AGENT._replace(standalone=True)), None, {}, []),
        (row(0, 1, agent=AGENT._replace(nnodes=None)), None, {}, []),
        ([*row(0), *row(1, agent=AGENT._replace(nnodes=(3, 3)))], None, {}, []),
        (row(0, 1), shaped(tasks=2, sampled=True), {}, []),
        (row(0, 1), shaped(tasks=3, sampled=True), {}, [kinds.AGENTS]),
        (row(0, 1), shaped(tasks=None, sampled=True), {}, []), (row(0, 1), shaped(tasks=3), {}, []),
    ],
)  # fmt: skip
def test_a_meeting_has_as_many_agents_as_it_waits_for(starts: Any, shape: Any, of: Any, kind: list[str]) -> None:
    """The rest may come from elsewhere where the place is not surely in this job."""
    found = breaches._meeting_breaches(starts, groups._partition(starts), shape, scene(**of))
    assert [breach.kind for breach in found] == kind
    for breach in found:
        total = shape.tasks if shape is not None and shape.sampled else len(starts)
        assert (breach.numbers["agents"], breach.numbers["nnodes"], breach.numbers["workers"]) == (total, 2, 4)
        assert (breach.numbers["job nodes"], breach.numbers["fanned"]) == (2, int(shape is not None))
        shown = breach.texts["master"], breach.texts["port"], breach.texts["run-id"]
        assert shown == (starts[0].agent.master, starts[0].agent.port, starts[0].agent.run_id)


def apart(**more: tuple[Any, Any]) -> list[Any]:
    """Return two agents that are told different things."""
    return [start(at, AGENT._replace(**{name: text(pair[at]) for name, pair in more.items()})) for at in range(2)]


@pytest.mark.parametrize(
    ("starts", "kind"),
    [
        (apart(master=(HOST % 0, HOST % 1)), kinds.MASTER_DIFFERS), (apart(port=(b"1", b"2")), kinds.PORT_DIFFERS),
        (apart(run_id=(b"1", b"2")), kinds.RUN_ID_DIFFERS), (row(0, 1, agent=AGENT._replace(master=text(b"localhost"))),
        kinds.MASTER_LOCAL), (apart(master=(HOST % 0, HOST % 1), port=(b"1", b"2")), kinds.MASTER_DIFFERS),
        (apart(port=(b"1", b"2"), run_id=(b"1", b"2")), kinds.PORT_DIFFERS),
        (apart(master=(b"localhost", b"127.0.0.1")), kinds.MASTER_LOCAL),
        (apart(master=(b"localhost", HOST % 0)), kinds.MASTER_DIFFERS),
    ],
)  # fmt: skip
def test_why_agents_are_apart_is_the_first_thing_that_differs(starts: Any, kind: str) -> None:
    """As many start as are waited for, so no more is wrong; beside one too many on a node that is said as well."""

    def why(*agents: Any) -> list[str]:
        found = breaches._meeting_breaches(agents, groups._partition(agents), None, scene())
        return [breach.kind for breach in found]

    assert why(*starts) == [kind]
    assert why(*starts, start(1, starts[1].agent)) == [kind, kinds.AGENTS]
    assert why(*starts, start(2, starts[1].agent)) == [kind]
    fewer = [start(each.place.node, each.agent._replace(nnodes=(3, 3))) for each in starts]
    assert why(*fewer) == [kind, kinds.AGENTS]


@pytest.mark.parametrize(
    ("starts", "of", "kind"),
    [
        (row(0, 1, agent=STATIC, ranked=True), {}, []), (row(0, 1, agent=STATIC), {}, [kinds.NODE_RANK]),
        (row(0, 1, agent=STATIC._replace(node_rank=None)), {}, []),
        (row(0, 1, agent=STATIC._replace(node_rank=None, rankless=True)), {}, [kinds.NODE_RANK]),
        ([*row(0, agent=STATIC), *row(1, agent=STATIC._replace(node_rank=2))], {}, [kinds.NODE_RANK]),
        ([*row(0, agent=STATIC), *row(1, agent=STATIC._replace(node_rank=None))], {}, []),
        ([*row(0, agent=STATIC), *row(1, agent=STATIC._replace(node_rank=None, rankless=True))], {}, []),
        (row(1, 0, agent=STATIC, ranked=True), {}, [kinds.MASTER_ELSEWHERE]),
        (row(1, 0, agent=STATIC._replace(master=text(b"elsewhere")), ranked=True), {}, []),
        (row(1, 0, agent=STATIC._replace(master=None), ranked=True), {}, []),
        (row(None, 0, agent=STATIC, ranked=True), {}, []), (row(0, agent=STATIC._replace(nnodes=(1, 1))), {}, []),
        (row(1, 0, agent=STATIC._replace(standalone=True)), {}, []), (row(0, 0, 1, agent=STATIC), {}, []),
        (row(0, 1, agent=STATIC._replace(nnodes=None)), {}, []),
    ],
)  # fmt: skip
def test_each_agent_of_a_static_meeting_has_a_node_rank_of_its_own_and_0_is_the_master_s(
    starts: Any, of: Any, kind: list[str]
) -> None:
    """Below the number of nodes; what is not known of one proves nothing."""
    found = breaches._static_breaches(starts, None)
    assert [breach.kind for breach in found] == kind
    for breach in found:
        rank = starts[0].agent.node_rank if len({each.agent.node_rank for each in starts}) == 1 else None
        assert breach.numbers == {"nnodes": 2, "agents": len(starts), "node rank": rank}
        assert breach.texts["master"] is starts[0].agent.master


@pytest.mark.parametrize(
    ("starts", "elsewhere"),
    [
        (row(0, 1), False), (row(1, 2), True), (row(1, None), False), (row(1, 2, 3), False), (row(1), False),
        (row(1, 2, agent=AGENT._replace(master=text(b"elsewhere"))), False),
        (row(1, 2, agent=AGENT._replace(master=None)),
        False), (row(1, 2, agent=AGENT._replace(backend=b"etcd")), False),
        (row(1, 2, agent=AGENT._replace(standalone=True)), False), (row(1, agent=AGENT._replace(nnodes=(1, 1))), False),
        (row(1, 2, agent=AGENT._replace(nnodes=None)), False),
    ],
)  # fmt: skip
def test_a_meeting_is_where_one_of_its_agents_runs(starts: Any, elsewhere: bool) -> None:
    """All of them are known, and on which nodes they are."""
    found = breaches._static_breaches(starts, None)
    assert [breach.kind for breach in found] == [kinds.MASTER_ELSEWHERE] * elsewhere
    assert all((breach.numbers, breach.texts["master"].raw) == ({"nnodes": 2}, HOST % 0) for breach in found)


@pytest.mark.parametrize(
    ("total", "nnodes", "starts_of"),
    [(8, (2, 2), None), (7, (2, 2), 6), (9, (2, 2), 8), (1, (2, 2), 0), (None, (2, 2), None), (7, None, None),
     (7, (1, 1), None), (8, (3, 3), 6)],
)  # fmt: skip
def test_a_total_is_shared_evenly_by_the_machines(total: Any, nnodes: Any, starts_of: Optional[int]) -> None:
    found = breaches._total_breaches(row(0, 1, agent=AGENT._replace(total=total, nnodes=nnodes)))
    assert [breach.numbers for breach in found] == (
        [{"total": total, "machines": nnodes[0], "starts": starts_of}] if starts_of is not None else []
    )
    assert all(breach.kind == kinds.WORLD_SIZE for breach in found)


def gpus(starts: list[Any], one_line: bool = True, shares: bool = False, **given: Any) -> list[tuple[str, Any]]:
    found = breaches._gpu_breaches(starts, scene(GIVEN._replace(**given), shares_gpus=shares), one_line)
    return [
        (breach.kind, {name: value for name, value in breach.numbers.items() if value is not None}) for breach in found
    ]


def of(workers: Optional[int], visible: Optional[int] = None, **more: Any) -> Agent:
    """Return an agent of so many workers, that see so many devices."""
    seen = tuple(b"%d" % at for at in range(visible)) if visible is not None else None
    return AGENT._replace(workers=workers, visible=seen, **more)


BASE = {"job": 4, "node": 4}
EIGHT = (NodeKind("a", gpus=4), NodeKind("b", gpus=8))
WIDER: Any = {"node_kinds": EIGHT, "gpus_per_node": None}
TOTAL: Any = {"gpus_per_node": None, "gpus_asked": 7}
OF_ALL: Any = {"node": 4, "workers": 4, "all": 7, "agents": 2}


@pytest.mark.parametrize(
    ("starts", "given", "found"),
    [
        (row(0, 1, agent=of(4)), {}, []), (row(0, 1, agent=of(5)), {}, [(kinds.GPUS_NODE, {**BASE, "workers": 5})]),
        (row(0, 1, agent=of(None)), {}, []), (row(0, 1, agent=of(5, cpu=True)), {}, []),
        ([*row(0, agent=of(5)), *row(1, agent=of(5, cpu=True))], {}, []),
        ([*row(0, agent=of(5)), *row(1, agent=of(6))], {}, []),
        (row(0, 1, agent=of(5)), WIDER, []),
        (row(0, 1, agent=of(9)), WIDER, [(kinds.GPUS_NODE, {"node": 8, "workers": 9})]),
        (row(0, 1, agent=of(9)), {"node_kinds": (*EIGHT, NodeKind("c")), "gpus_per_node": None}, []),
        (row(0, 1, agent=of(2, 1)), {}, [(kinds.GPUS_VISIBLE, {**BASE, "workers": 2, "visible": 1})]),
        (row(0, 1, agent=of(2, 2)), {}, []), (row(0, 1, agent=of(2, 0)), {}, []),
        ([*row(0, agent=of(2, 1)), *row(1, agent=of(2))], {}, []),
        ([*row(0, agent=of(2, 1)), *row(1, agent=of(2, 2))], {}, []),
        (row(0, 1, agent=of(4)), TOTAL, [(kinds.GPUS_ASKED, OF_ALL)]), (row(0, 1, agent=of(3)), TOTAL, []),
        (row(0, 1, agent=of(4)), {**TOTAL, "gpus": 7}, [(kinds.GPUS_JOB, OF_ALL)]),
        (row(0, 1, agent=of(4)), {**TOTAL, "gpus_asked": 8}, []),
        (
            row(0, 1, agent=of(4)), {"gpus_per_node": 3},
            [(kinds.GPUS_ASKED, {**BASE, "job": 3, "workers": 4, "all": 6, "agents": 2, "together": 1})],
        ),
        (row(0, 1, agent=of(4, 4)), {"gpus_per_node": 3}, []),
        (row(0, agent=of(3)), {"gpus_per_node": 3}, []),
    ],
)  # fmt: skip
def test_no_more_ranks_take_a_gpu_than_there_are(starts: Any, given: Any, found: Any) -> None:
    """On the largest node it may be, of those that are visible, of those that were asked for; nobody shares them."""
    assert gpus(starts, **given) == found
    assert gpus(starts, shares=True, **given) == []


@pytest.mark.parametrize(
    ("agents", "each", "visible", "more", "twice"),
    [
        (2, 4, None, {}, True), (2, 2, None, {}, False), (2, 3, None, {}, True), (1, 4, None, {}, False),
        (2, 2, 2, {}, True), (2, 1, 2, {}, False), (2, 4, None, {"launcher": "accelerate"}, False),
    ],
)  # fmt: skip
def test_agents_of_one_node_take_no_gpu_twice(agents: int, each: int, visible: Any, more: Any, twice: bool) -> None:
    """Of torchrun, whose ranks take the device of their number; of one line, whose agents start side by side."""
    starts = row(*(0,) * agents, agent=of(each, visible, **more))
    found = gpus(starts, gpus_per_node=None)
    named = {"workers": each, "node": 4, "together": agents, "nodes": 1}
    seen = {"visible": visible} if visible is not None else {}
    assert found == ([(kinds.GPU_TWICE, {**named, **seen})] if twice else [])
    assert gpus(starts, one_line=False, gpus_per_node=None) == []


@pytest.mark.parametrize(
    ("agent", "nodes", "kind"),
    [
        ({}, (0, 1), []), ({"empty": ("nproc-per-node",)}, (0, 1), [kinds.OPTION_EMPTY]),
        ({"empty": ("master-addr", "nnodes")}, (0, 1), [kinds.MASTER_EMPTY]),
        ({"empty": ("nnodes", "rdzv-endpoint")}, (0,), [kinds.MASTER_EMPTY]),
        ({"master": text(b"node001")}, (0, 1), [kinds.MASTER_OUTSIDE]),
        ({"master": text(b"node001"), "nnodes": None}, (0,), [kinds.MASTER_OUTSIDE]),
        ({"master": text(b"node001"), "nnodes": (1, 1)}, (0,), []),
        ({"master": text(b"node001"), "standalone": True}, (0, 1), []),
        ({"master": text(b"node001"), "port": text(b"x")}, (0, 1), [kinds.NO_PORT]),
        ({"master": text(b"node001"), "workers": 5}, (0, 1), [kinds.MASTER_OUTSIDE, kinds.GPUS_NODE]),
        ({"port": text(b"x"), "workers": 5}, (0, 1), [kinds.NO_PORT, kinds.GPUS_NODE]),
        ({"nnodes": None, "port": text(b"x"), "workers": 5}, (0, 1), [kinds.GPUS_NODE]),
        ({"nnodes": (2, 2), "total": 7}, (0, 1), [kinds.WORLD_SIZE]),
        ({"master": text(b"node001"), "total": 7}, (0, 1), [kinds.WORLD_SIZE]),
    ],
)  # fmt: skip
def test_of_an_option_that_is_empty_nothing_else_is_said_and_of_a_strange_master_last(
    agent: Any, nodes: tuple[int, ...], kind: list[str]
) -> None:
    """What nobody knows of the meeting says nothing of it; how many ranks take a GPU is another matter."""
    starts = row(*nodes, agent=AGENT._replace(**agent))
    assert told(starts) == kind
    found = breaches.agent_breaches(starts, groups._partition(starts), None, scene())
    for breach in found if AGENT._replace(**agent).empty else ():
        assert (breach.numbers, breach.names) == ({"options": len(agent["empty"])}, (b"HEAD",))
        assert breach.texts["option"].raw == agent["empty"][0].encode()
        assert breach.texts["master"] is starts[0].agent.master


@pytest.mark.parametrize(
    ("raw", "local", "outside"),
    [
        (b"localhost", True, False), (b"LOCALHOST", True, False), (b"127.0.0.1", True, False),
        (b"127.1.2.3", True, False),
        (b"::1", True, False), (b"10.0.0.1", False, False), (HOST % 0, False, False), (b"node001", False, True),
        (b"x\0same:submithost\0", False, True), (b"none", False, False), (b"head", False, False),
        (b"1node", False, False),
        (b"127.\0job\0", False, False), (b"node1\0job\0", False, False), (b"auto", False, False),
    ],
)  # fmt: skip
def test_an_address_is_one_of_its_user_or_of_no_node_of_the_job(raw: bytes, local: bool, outside: bool) -> None:
    assert (breaches.is_local(text(raw)), breaches.is_outside(text(raw))) == (local, outside)
    none: Optional[Text] = None
    assert not breaches.is_local(none) and not breaches.is_outside(none)
