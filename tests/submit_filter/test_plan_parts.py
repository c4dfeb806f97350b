"""How what starts is put into launch lines: what is sure, what lies beside, where it starts, over made up starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.plan import build, groups
from maple_submit_filter.play.scene import MOST_COMMANDS, StepShape, Trail
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.launch_plan import Breach, Link

from tests.submit_filter.test_agent_breaches import AGENT
from tests.submit_filter.test_heart_promises import text

SHAPE = StepShape(2, 4, (2, 2), False, "")


def start(agent: Any = None, folder: Optional[bytes] = None, program: Any = (), missing: Any = (), **trail: Any) -> Any:
    return SimpleNamespace(
        agent=agent, trail=Trail(**trail), folder=text(folder) if folder is not None else None,
        program=tuple(map(text, program)), missing=missing,
    )  # fmt: skip


def scene(**more: Any) -> Any:
    named = {"presumes": False, "hidden": False, "starts": [], "shapes": {}, "submitted_in": None, "trapped": False,
             "commands": 0, "beside": [], "unread": [], "other_jobs": False, "misplaced": False}  # fmt: skip
    return SimpleNamespace(**{**named, **more})


@pytest.mark.parametrize(
    ("trail", "more", "sure"),
    [
        ({}, {}, True), ({"maybe": True}, {}, False), ({"doubts": ("x",)}, {}, False), ({}, {"hidden": True}, False),
        ({"maybe": True}, {"presumes": True}, False), ({"doubts": ("x",)}, {"presumes": True}, True),
        ({}, {"presumes": True, "hidden": True}, True),
    ],
)  # fmt: skip
def test_what_starts_is_sure_where_nothing_unread_may_change_any_of_it(trail: Any, more: Any, sure: bool) -> None:
    """What is presumed to change nothing does not, but a line that may not run is no surer for it."""
    assert build._sure([start(), start(**trail)], scene(**more)) == sure


@pytest.mark.parametrize(
    ("shape", "sure", "refused"),
    [(SHAPE, True, False), (None, True, False), (SHAPE._replace(refused="no"), True, True),
     (SHAPE._replace(refused="no"), False, False)],
)  # fmt: skip
def test_what_its_launcher_refuses_is_a_breach_where_it_is_sure(shape: Any, sure: bool, refused: bool) -> None:
    expected = (Breach(kinds.REFUSED, {"nodes": 2}, {}, (b"no",)),) if refused else ()
    assert build._refusals(shape, sure) == expected


@pytest.mark.parametrize("trail", [{}, {"maybe": True}, {"doubts": ("x",)}], ids=str)
def test_a_line_that_starts_nothing_since_it_is_refused_is_a_line_of_the_plan(trail: Any) -> None:
    """By its own line and shape, and proven where it surely runs."""
    at = Trail(span=Span(3, 5), **trail)
    step = build._refused(at, SHAPE._replace(refused="no"), b"a\nb\nc\n"[:3] + b"srun\n")
    assert (step.line, step.span, step.nodes, step.tasks, step.groups, step.maybe) == (
        2, Span(3, 5), 2, 4, (), bool(trail.get("maybe"))
    )  # fmt: skip
    assert bool(step.breaches) == (not trail) and not step.background and step.tasks_per_node is None
    nowhere = build._refused(Trail(), SHAPE, b"\n\n")
    assert (nowhere.line, nowhere.span) == (1, Span(0, 0))


def test_lines_in_the_background_run_beside_each_other_up_to_a_wait() -> None:
    """Agents alone meet."""
    rows = [start(AGENT, background=True, phase=0), start(AGENT, phase=1), start(None, background=True, phase=2)]
    assert build._meeting_phases(rows) == {0} and build._meeting_phases(rows[1:]) == set()


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        ({"nnodes": (1, 1)}, True), ({"nnodes": None}, True), ({"nnodes": (2, 2)}, False), ({"nnodes": (1, 2)}, False),
        ({"nnodes": (1, 1), "empty": ("nnodes",)}, False),
    ],
)  # fmt: skip
def test_lines_that_are_all_for_one_node_each_are_jobs_of_their_own(other: Any, apart: bool) -> None:
    """Of which none was told less than it should; what starts no ranks is none."""
    one = AGENT._replace(nnodes=(1, 1))
    assert build._apart([start(one), start(AGENT._replace(**other))]) == apart
    assert not build._apart([start(one), start(None)])


FOUND = tuple(Breach(kind, {}, {}) for kind in (kinds.AGENTS, kinds.PORT_TAKEN, kinds.GPUS_NODE))


@pytest.mark.parametrize(
    ("trails", "nnodes", "pools", "left"),
    [
        ([{"phase": 0}, {"phase": 0}], (1, 1), [1, 1], 3), ([{"phase": 0}], (1, 1), [1], 3),
        ([{"phase": 0, "background": True}, {"phase": 0}], (1, 1), [2], 1),
        ([{"phase": 0, "background": True}, {"phase": 0}], (2, 2), [2], 3),
        ([{"phase": 0, "background": True}, {"phase": 1, "background": True}], (1, 1), [1, 1], 3),
        ([{"phase": 0, "background": True}] * 3, (1, 1), [3], 1),
    ],
)  # fmt: skip
def test_lines_beside_each_other_are_looked_at_as_one_world(
    monkeypatch: pytest.MonkeyPatch, trails: list[Any], nnodes: Any, pools: list[int], left: int
) -> None:
    """What is found stands at the first; of jobs of their own only that they take one port."""
    asked: list[tuple[int, object]] = []

    def of_agents(starts: Any, shape: Any, *_: Any) -> groups.Verdict:
        asked.append((len(starts), shape))
        return groups.Verdict((), FOUND)

    monkeypatch.setattr(groups, "of_agents", of_agents)
    keys: Any = {(at,): [start(AGENT._replace(nnodes=nnodes), **trail)] for at, trail in enumerate(trails)}
    keys[9,] = [start(None)]
    here = scene(shapes={(at,): (Trail(), SHAPE) for at in range(len(trails))})
    shared = build._meeting_phases([each for row in keys.values() for each in row])
    verdicts = build._pooled(keys, shared, here)
    assert asked == [(many, SHAPE if many == 1 else None) for many in pools]
    assert (9,) not in verdicts and len(verdicts) == len(trails)
    told = [breach for breach in FOUND if left == 3 or breach.kind == kinds.PORT_TAKEN]
    assert [list(verdict.breaches) for verdict in verdicts.values() if verdict.breaches] == [told] * len(pools)
    assert verdicts[0,].breaches


def test_the_shape_of_a_line_is_that_of_the_outermost_launcher_that_has_one() -> None:
    inner = SHAPE._replace(nodes=1)
    shapes = {(1, 2): (Trail(), SHAPE), (1, 2, 3): (Trail(), inner)}
    assert (
        build._shape((1, 2, 3), scene(shapes=shapes)) == SHAPE and build._shape((1, 2), scene(shapes=shapes)) == SHAPE
    )
    assert build._shape((1,), scene(shapes=shapes)) is None
    assert build._shape((1, 2, 3), scene(shapes={(1, 2, 3): (Trail(), inner)})) == inner


@pytest.mark.parametrize(
    ("folders", "presumed", "folder"),
    [
        ((b"/a", b"/a"), None, b"/a"), ((b"/a", b"/b"), None, b""), ((b"/a", None), None, b""),
        ((None, None), None, b""),
        ((b"/\0job\0", b"/\0job\0"), None, b""), ((b"/a", b"/b"), b"/home", b"/home"), ((b"/a",), b"/home", b"/a"),
        ((None,), b"/home", b"/home"),
    ],
)  # fmt: skip
def test_a_line_starts_in_the_folder_that_all_of_its_starts_have(
    folders: Any, presumed: Optional[bytes], folder: bytes
) -> None:
    """Where that is not known, what is presumed lies where the script does."""
    here = scene(submitted_in=text(presumed) if presumed is not None else None)
    assert build._folder([start(folder=each) for each in folders], here) == folder


@pytest.mark.parametrize(
    ("more", "many"),
    [({}, 2), ({"trapped": True}, 0), ({"commands": MOST_COMMANDS}, 2), ({"commands": MOST_COMMANDS + 1}, 0)],
)
def test_the_end_of_the_script_ends_what_surely_runs_beside_it(more: Any, many: int) -> None:
    """Each once; not where it waits in a trap, nor where nobody read it to its end."""
    spans = [Span(0, 1), Span(2, 3), Span(0, 1)]
    beside = [start(span=span) for span in spans] + [start(span=Span(4, 5), maybe=True), start()]
    assert build._left(scene(beside=beside, **more)) == tuple(spans[:many])


def test_a_leading_name_is_one_of_the_first_node_under_which_others_reach_it() -> None:
    """With the suffix of the site, under Slurm."""
    values = {
        b"A": b"\0host:0\0", b"B": b"\0name:0\0", b"C": b"\0host:1\0", b"D": b"\0host:0\0.x", b"F": b"\0addr:0\0",
        b"G": b"\0host:0\0-ib",
    }  # fmt: skip
    shell: Any = SimpleNamespace(value=lambda name: text(values[name]) if name in values else None)
    here = scene(assigned=[*values, b"E"])
    assert build._leads(shell, here, GENERIC_SLURM) == (b"A", b"B")
    assert build._leads(shell, here, GENERIC_SLURM._replace(node_name_suffix="-ib")) == (b"G",)
    assert build._leads(shell, here, GENERIC_PBS._replace(node_name_suffix="-ib")) == (b"A", b"B")


def _link(word: bytes) -> Link:
    return Link("srun", (text(word),), (), None, None, False)


@pytest.mark.parametrize(
    ("trail", "more", "lost", "may"),
    [
        ({}, {}, False, False), ({}, {}, True, True), ({"maybe": True}, {}, False, True),
        ({"doubts": ("x",)}, {}, False, True), ({}, {"other_jobs": True}, False, True),
        ({}, {"misplaced": True}, False, True), ({}, {"unread": [1]}, False, True), ({}, {"hidden": True}, False, True),
        ({"links": (_link(b"srun"),)}, {}, False, False), ({"links": (Link("srun", (),
        (), None, None, False),)}, {}, False,
        False),
    ],
)  # fmt: skip
def test_what_nobody_has_read_may_change_a_line_for_each_of_these_reasons(
    trail: Any, more: Any, lost: bool, may: bool
) -> None:
    """Of a line that starts, and of one whose launcher starts nothing that was seen."""
    for here in (scene(starts=[start(), start(**trail)], **more),
                 scene(shapes={(1,): (Trail(), SHAPE), (2,): (Trail(**trail), SHAPE)}, **more)):  # fmt: skip
        assert build._presumable(here, SimpleNamespace(lost=lost)) == may  # type: ignore[arg-type]
