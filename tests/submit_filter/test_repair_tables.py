"""What a repair is held against, a table each: what it costs, what its changes are witnessed by, what is better."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.repair import cost as costs
from maple_submit_filter.repair import offers as offering
from maple_submit_filter.repair import witness
from maple_submit_filter.repair.certainty import NOT_SURE, UNNAMED, named
from maple_submit_filter.repair.cost import asks_for_less, cost, shells
from maple_submit_filter.repair.offers import completed
from maple_submit_filter.repair.search import State, _better, _no_worse
from maple_submit_filter.request.pbs import select
from maple_submit_filter.request.slurm import values
from maple_submit_filter.site.facts import GENERIC_SLURM, Demand, NodeKind
from maple_submit_filter.types.edits import ArgvEdit, Edit, Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Origin, Setting
from maple_submit_filter.types.launch_plan import Allocation
from maple_submit_filter.types.text import as_clock

from tests.submit_filter.test_heart import TWO_WORLDS, Trial, edit, understood

LEVEL, LITERAL, WIDE, READ = costs._LEVEL, costs._LITERAL, costs._WIDE, costs._READ
HEAD = b"#SBATCH --nodes=2\nGPUS=4 NAME=x\n"
PLAIN = HEAD + b"srun torchrun --nproc-per-node=2 sh -c 'a'\n"
READS = PLAIN + b"echo $SLURM_NTASKS\n"
ASSIGNED = {b"GPUS": (Span(HEAD.index(b"GPUS"), HEAD.index(b"GPUS") + 6),)}


@pytest.mark.parametrize(
    ("source", "old", "new", "dear"),
    [
        (PLAIN, b"torchrun", b"torch", 0),
        (PLAIN, b"torchrun", b"bash -c 'torchrun'", LEVEL),
        (PLAIN, b"torchrun", b"bash -c 'sh -c \\$X'", 3 * LEVEL),
        (PLAIN, b"sh -c 'a'", b"sh -c 'b'", 0),  # it was there
        (PLAIN, b"sh -c 'a'", b"bash -c 'sh -c b'", LEVEL),
        (PLAIN, b"sh -c 'a'", b"b", 0),  # that one goes is no gain
        (PLAIN, b"-node=2", b"-node=4", LITERAL),
        (PLAIN, b"-node=2", b"-node=4 4", 2 * LITERAL),
        (PLAIN, b"-node=2", b"-node=8", 0),
        (PLAIN, b"--nodes=2", b"--nodes=4", 0),  # no variable is expanded in a directive
        (PLAIN, b"torchrun", b"t" * (120 - len(PLAIN.split(b"\n")[2]) + 8), 0),
        (PLAIN, b"torchrun", b"t" * (120 - len(PLAIN.split(b"\n")[2]) + 9), WIDE),
        (b"\nsrun a\n", b"a", b"a" * 115, 0),  # the line begins behind the empty one
        (b"\nsrun a\n", b"a", b"a" * 116, WIDE),
        (b"srun a", b"a", b"a" * 116, WIDE),
        (READS, b"--nodes=2", b"--nodes=8", READ),
        (READS, b"-node=2", b"-node=8", 0),
        (READS, b"#SBATCH --nodes=2", b"#SBATCH -N2", READ),
    ],
)
def test_a_change_costs_its_characters_and_what_is_dear(source: bytes, old: bytes, new: bytes, dear: int) -> None:
    fix = Fix((edit(source, old, new),), Safety.SAFE, "x")
    assert cost(fix, source, ASSIGNED) == len(old) + len(new) + dear
    words = ArgvEdit(0, (b"sbatch", b"-N2"), "x")
    assert cost(fix._replace(argv_edits=(words,)), source, ASSIGNED) == len(old) + len(new) + dear + 9
    twice = cost(fix._replace(edits=fix.edits * 2), source, ASSIGNED)
    assert twice == 2 * cost(fix, source, ASSIGNED)
    assert shells(fix, source) * LEVEL == (dear if dear % LEVEL == 0 and dear != READ else 0)


@pytest.mark.parametrize(
    ("before", "after", "less"),
    [
        ("--nodes=2", "--nodes=1", True), ("--nodes=2", "--nodes=2", False), ("--nodes=2", "--nodes=3", False),
        ("--nodes=2", "", False), ("", "--nodes=1", False), ("--time=10", "--time=9", True),
        ("--time=10", "--time=00:10:00", False), ("--mem=4G", "--mem=4095M", True), ("--mem=4G", "--mem=4096M", False),
        ("--mem=0", "--mem=4G", False), ("--mem-per-cpu=2G", "--mem=1G", False), ("--ntasks=4", "--ntasks=2", False),
        ("--nodes=2 --time=10", "--nodes=3 --time=9", True),
    ],
)  # fmt: skip
def test_what_is_less_of_what_is_asked_for(before: str, after: str, less: bool) -> None:
    """Of nodes, time and memory; what is not said any more, or is all there is, is none of it."""
    jobs = [understood(b"#!/bin/bash\n#SBATCH --job-name=x %b\nsrun a\n" % words.encode()) for words in (before, after)]
    assert asks_for_less(*jobs) == less


def setting(name: str, value: Optional[str], kind: str = "directive") -> Optional[Setting]:
    return Setting(name, value.encode(), Origin(kind)) if value is not None else None


SITE = GENERIC_SLURM._replace(demands=(Demand(("filesystems",), "refused", "", usual="home:flare"),))
START: Any = SimpleNamespace()


@pytest.mark.parametrize(
    ("name", "old", "new", "beside", "seen"),
    [
        ("output", "a", "b", (), True),
        ("output", None, "b", (), True),
        ("mail-user", "a", None, (), True),
        ("time", "60", "01:00:00", (), True),
        ("time", "60", "02:00:00", (), False),
        ("time", "x", "y", (), False),
        ("mem", "4G", "2G", (), True),
        ("mem", "2G", "4G", (), False),
        ("cpus-per-task", "8", "7", (), True),
        ("nodes", "2", "3", (), False),
        ("nodes", "2", None, (), False),
        ("nodes", None, "2", (), False),
        ("filesystems", None, "home:flare", (), True),
        ("filesystems", None, "home", (), False),
        ("filesystems", "home", "home:flare", (), False),
        ("ngpus", "4", None, (("select", "2", "2:ngpus=4"),), True),
        ("ngpus", "4", None, (("select", "2", "2:ngpus=5"),), False),
        ("ngpus", "4", None, (("select", None, "2:ngpus=4"),), False),
        ("ngpus", "4", None, (("select", "2", None),), False),
        ("ngpus", None, "4", (("select", "2", "2:ngpus=4"),), False),
        ("select", "2", "2:ngpus=4", (("ngpus", "4", None),), True),
        ("select", "2", "2:ngpus=4", (("ngpus", "5", None),), False),
        ("select", "2", "2:ngpus=4", (), False),
        ("select", "2", "2:ngpus=4", (("ngpus", None, "4"),), False),
    ],
)
def test_a_difference_of_the_request_needs_a_witness(  # type: ignore[no-untyped-def]
    name, old, new, beside, seen
) -> None:
    """The same in other words, less of what no result depends on, or a value that took another one in."""
    pair = (setting(name, old), setting(name, new))
    pairs = [pair, *((setting(of, was), setting(of, now)) for of, was, now in beside)]
    assert witness._witnessed(pair, pairs, START, SITE) == seen


GIVEN = Allocation(2, 8, 4, 7, 4, 1, (NodeKind("a"),), "gpu", False, (1, 2), 8, 8, 2)


@pytest.mark.parametrize("field", Allocation._fields)
@pytest.mark.parametrize("place", [None, "partition", "constraint", "queue", "nodes"])
def test_what_the_scheduler_gives_stays_but_for_cpus_and_where_that_is_the_change(
    field: str, place: Optional[str]
) -> None:
    pairs = [(setting(place, "a"), setting(place, "b"))] if place is not None else []
    other = GIVEN._replace(**{field: None})
    free = {"cpus_per_task", "node_file"}
    if place in witness.PLACES:
        free |= {"node_kinds", "partition", "shared"}
    assert witness._same_room(GIVEN, other, pairs) == (field in free)


@pytest.mark.parametrize(
    ("tasks", "declared", "full", "made", "outvoted"),
    [
        (8, 4, 8, {8}, True), (4, 4, 8, {4}, True), (8, 4, 4, {4}, True), (8, 4, 2, {8}, False), (8, 16, 8, {8}, False),
        (8, 4, None, {8}, False), (8, 4, 8, {4}, False), (8, 4, 8, {4, 8}, False), (None, 4, 4, {4}, True),
        (8, 8, None, {8}, True), (8, 7, 8, {8}, True), (8, 8, 16, {8}, True),
    ],
)  # fmt: skip
def test_two_of_three_numbers_name_a_world(tasks, declared, full, made, outvoted) -> None:  # type: ignore[no-untyped-def]
    """Tasks, what is said and GPUs; a world larger than all that was asked for may want more nodes."""
    assert witness._outvoted(tasks, declared, full, frozenset(made)) == outvoted


@pytest.mark.parametrize(
    ("tasks", "gpus", "fits"),
    [(4, 4, True), (5, 4, False), (3, 4, True), (None, 4, True), (9, None, True), (9, 0, True)],
)
def test_no_more_tasks_share_a_node_than_it_has_gpus(tasks: Optional[int], gpus: Optional[int], fits: bool) -> None:
    step: Any = SimpleNamespace(tasks_per_node=tasks)
    assert witness._fits(step, GIVEN._replace(gpus_per_node=gpus)) == fits


@pytest.mark.parametrize(
    ("requests", "line", "overruled"),
    [
        ((("argv", "4"), ("directive", "2")), "2", True),
        ((("argv", "4"), ("directive", "2")), "4", False),
        ((("argv", "4"), ("directive", "2")), "3", False),
        ((("argv", "2"), ("directive", "2")), "2", False),
        ((("argv", "4"),), "2", False),
        ((("environment", "4"), ("directive", "2")), "2", False),
        ((("argv", "4"), ("environment", "3"), ("directive", "2")), "3", True),
        ((("argv", "4"), ("environment", "3"), ("directive", "2")), "2", False),
        ((("argv", "4"), ("directive", "x")), "2", False),
        ((("argv", "4:ngpus=4"), ("directive", "2:ncpus=8")), "2", True),
    ],
)
def test_a_command_line_overrules_the_value_next_to_it(  # type: ignore[no-untyped-def]
    requests, line, overruled
) -> None:
    """Which the launch line counts."""
    rows = [setting("nodes", value, kind) for kind, value in requests]
    job: Any = SimpleNamespace(settings=SimpleNamespace(all=lambda name: rows if name == "nodes" else []))
    source = b"#!/bin/bash\n#SBATCH -N2\nsrun torchrun --nnodes=%b --nproc-per-node=4 a.py\n" % line.encode()
    made = Trial(source, {}).state(understood(source)).plan
    assert witness._overruled(job, made.steps[0]) == overruled
    assert not witness._overruled(job, made.steps[0]._replace(links=made.steps[0].links[:1]))


@pytest.mark.parametrize(
    ("had", "left", "better"),
    [
        (("a", "b"), ("a",), True), (("a",), (), True), (("a",), ("a",), False), (("a",), ("c",), True),
        (("a",), ("c", "d"), False), (("a", "b"), ("a", "c"), False), (("a", "b"), ("b", "c"), True),
    ],
)  # fmt: skip
def test_fewer_contradictions_are_better_or_another_in_the_place_of_one(  # type: ignore[no-untyped-def]
    had, left, better
) -> None:
    job = understood(TWO_WORLDS)
    plan = Trial(TWO_WORLDS, {}).state(job).plan
    before, after = (State(job, plan, tuple(Finding("T1", says, None, True) for says in row)) for row in (had, left))
    assert _better(before.findings[0], before, after) == better
    advice = after._replace(findings=(*after.findings, Finding("T2", "more", None, False)))
    assert _better(before.findings[0], before, advice) == better


RUNS = b"#!/bin/bash\n#SBATCH -N1\nsrun a \\\nsrun b\nsrun c\n"


@pytest.mark.parametrize(
    ("before", "after", "no_worse", "in_a_loop"),
    [
        (b"srun a\nsrun b\n", b"srun a\nsrun c\n", True, True), (b"srun a\nsrun b\n", b"srun a\n\n", False, False),
        (b"srun a\n\n", b"srun a\nsrun b\n", False, True), (b"srun a\nsrun b\n", b"srun a \\\n b\n", True, False),
        (b"srun a \\\n b\n", b"srun a \\\n c\n", True, True),
    ],
)  # fmt: skip
def test_what_was_understood_still_is(before: bytes, after: bytes, no_worse: bool, in_a_loop: bool) -> None:
    """As many launch lines, but for those that go on in the line above; in a loop each that there was."""
    states = [Trial(source, {}).state(understood(b"#!/bin/bash\n" + source)) for source in (before, after)]
    assert (_no_worse(*states), _no_worse(*states, loops=True)) == (no_worse, in_a_loop)


class Anew(Trial):
    """A trial in which what is asked for is read again."""

    def again(self, before: Any, source: bytes, _: tuple[bytes, ...]) -> State:
        return self.state(understood(source))


def test_an_offer_asks_for_less_where_that_is_all_that_it_is_about() -> None:
    """Beside another change it would be taken by whoever reads the first line."""
    less = Fix(
        (edit(TWO_WORLDS, b" --wrong", b""), edit(TWO_WORLDS, b"--nodes=2", b"--nodes=1")), Safety.ASK, "one node"
    )
    other = Fix((edit(TWO_WORLDS, b"train.py", b"other.py"),), Safety.ASK, "another program")
    alone, both = (
        Anew(TWO_WORLDS, {b"--wrong": (less,)}),
        Anew(TWO_WORLDS, {b"train.py": (other,), b"--wrong": (less,)}),
    )
    for trial, whole in ((alone, True), (both, False)):
        made = completed(trial.state(understood(TWO_WORLDS)), trial.again)
        assert (made.whole, len(made.taken)) == (whole, 1) and (b"--nodes=1" in made.state.job.source) == whole


def test_of_the_facts_that_advice_rests_on_four_are_named() -> None:
    """Those that are needed; what was not said of facts stays as it is."""
    site = GENERIC_SLURM._replace(unsure=tuple("node.%d" % at for at in range(6)))
    vague = Finding("MPL203", "x", Span(0, 1), False, help=NOT_SURE + UNNAMED)

    def proven(of: Any) -> set[Any]:
        return {("MPL203", Span(0, 1))} if not set(site.unsure[:5]) & set(of.unsure) and of != site else set()

    told = named(vague, site, lambda of: set()).help
    assert told == NOT_SURE + "node.0 and node.1 and node.2 and node.3"
    for other in (vague._replace(proven=True), vague._replace(help="ask for four"), vague._replace(help="")):
        assert named(other, site, lambda of: set()) == other


@given(st.integers(0, 10**7))
def test_a_clock_is_read_by_both_schedulers_as_it_was_written(seconds: int) -> None:
    assert values.seconds(as_clock(seconds)) == seconds == select.seconds(as_clock(seconds))
    assert len(as_clock(seconds)) >= 8


def test_words_that_say_how_a_change_came_make_it_no_other() -> None:
    """What is said of its worlds, and of the counts that are written as numbers."""
    for says in ("one task", "one task (line 4 would start 2)", "one task, with the counts that would change written"):
        assert witness._plain(says) == "one task"
    assert [witness._adds_command(Fix((Edit(Span(0, 0), new, "x"),), Safety.ASK, "x")) for new in (
        b"a && b", b"a; b", b"a\n", b"a;b", b"a & b")] == [True, True, True, False, False]  # fmt: skip
    assert offering.UNREAD == ("MPL101", "MPL102", "MPL109")
