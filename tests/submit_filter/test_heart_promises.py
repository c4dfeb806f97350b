"""Promises of plan, repair and answer as properties, and as tables over all that share one."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Callable, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.answer import advice, packing
from maple_submit_filter.answer.decision import Decision, Rewritten, decide
from maple_submit_filter.answer.earlier import _changed
from maple_submit_filter.answer.fate import FIXED, fates, suggested
from maple_submit_filter.plan import breach_kinds, program_groups
from maple_submit_filter.plan.declared_worlds import World, shapes, sizes
from maple_submit_filter.play.expansion import NODE_LIST
from maple_submit_filter.repair import offers as offering
from maple_submit_filter.repair.certainty import certain
from maple_submit_filter.repair.search import State, shown
from maple_submit_filter.repair.witness import _stands
from maple_submit_filter.site.facts import (
    GENERIC_PBS,
    GENERIC_SLURM,
    GpuRequest,
    NodeKind,
    Partition,
    Site,
    SizeBin,
)
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.launch_plan import Breach
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import Piece, Text

from tests.submit_filter.test_heart import TWO_WORLDS, Trial, edit, submitted, understood

WORDS = st.lists(st.sampled_from([b"a", b"b", b"c", b" "]), max_size=8)


@given(WORDS, WORDS)
def test_a_change_is_what_is_left_between_what_both_begin_and_end_with(old: list[bytes], new: list[bytes]) -> None:
    """Nothing that both begin or end with is part of it, and put back in its place it makes the one of the other."""
    before, gone, come = _changed(old, new)
    gives, comes = ([] if not part else part.split(b"\0") for part in (gone, come))
    places = [at for at in range(len(old) + 1) if [*old[:at], *comes, *old[at + len(gives) :]] == new
              and old[at : at + len(gives)] == gives]  # fmt: skip
    assert places
    assert any(before == next((word for word in old[:at][::-1] if word.strip()), b"") for at in places)
    assert not gives or not comes or (gives[0] != comes[0] and gives[-1] != comes[-1])


LISTS = [("findings",), ("held_back",), ("files",), ("repaired", 1), ("repaired", 2), ("repaired", 3)]


@pytest.mark.parametrize("path", LISTS, ids=str)
@pytest.mark.parametrize(("many", "taken"), [(packing.MOST, True), (packing.MOST + 1, False)])
def test_what_is_kept_of_a_decision_has_its_bound_to_the_item(path: tuple[Any, ...], many: int, taken: bool) -> None:
    """Every list of it: what another process sends may be of any length."""
    made = Rewritten(b"x", (b"sbatch",), ("MPL301 x",), ((1, "MPL301"),))
    whole = Decision("repaired", (Finding("MPL301", "wrong"),), repaired=made, held_back=(("MPL302", "no"),))
    values = json.loads(packing.pack(whole, (packing.FileFacts(b"/a", b"1"),)))
    inside = values
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = inside[path[-1]][:1] * many
    data = json.dumps(values).encode()
    if taken:
        assert packing.unpack(data)
    else:
        with pytest.raises(ValueError, match="not well formed"):
            packing.unpack(data)


SAYS = ("MPL301 two tasks", "MPL301 four tasks (line 3)", "MPL302 another")


@pytest.mark.parametrize(
    ("code", "fixes", "proven", "made"),
    [
        (
            "MPL301",
            ("four tasks", "two tasks"),
            True,
            "four tasks (line 3)",
        ),  # its best fix, of two that are made
        ("MPL301", ("six tasks",), True, "two tasks"),
        ("MPL301", (), True, "two tasks"),
        ("MPL302", ("another",), True, "another"),
        ("MPL30", ("four tasks",), True, "by the change for MPL301 and MPL302"),
        ("MPL303", (), True, "by the change for MPL301 and MPL302"),
        ("MPL301", ("four tasks",), False, "four tasks (line 3)"),  # made though nothing is proven
        ("MPL301", ("six tasks",), False, None),
        ("MPL301", (), False, None),
        ("MPL303", ("four tasks",), False, None),
    ],
)
def test_a_finding_is_told_by_which_change_it_is_fixed(
    code: str, fixes: tuple[str, ...], proven: bool, made: Optional[str]
) -> None:
    """By its own, as it is said, else by those of others; advice by its own alone."""
    found = Finding(code, "wrong", None, proven, fixes=tuple(Fix((), Safety.SAFE, says) for says in fixes))
    decision = Decision("repaired", (found,), repaired=Rewritten(b"x", (b"sbatch",), SAYS, ()))
    said = fates(decision, "repair")(found)
    assert said == "%s: %s" % (FIXED, made) if made is not None else FIXED not in said
    assert fates(decision, "warn")(found).startswith("would be fixed, but the mode is warn") == (made is not None)


@pytest.mark.parametrize(
    ("scheduler", "argv", "script", "says"),
    [
        ("slurm", (b"sbatch", b"--nodes"), b"#!/bin/bash\n", "sbatch refuses the command line"),
        ("slurm", (b"sbatch", b"-N1", b":", b"-N2", b"job.sh"), b"#!/bin/bash\n", "a heterogeneous job"),
        ("slurm", (b"sbatch", b"job.sh"), b"#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n", "a heterogeneous job"),
        ("slurm", (b"sbatch", b"job.sh"), None, "there is no script of this scheduler to read"),
        ("pbs", (b"qsub", b"-l"), b"#!/bin/bash\n", "qsub refuses the command line"),
        ("pbs", (b"qsub", b"job.sh"), None, "there is no script of this scheduler to read"),
        ("pbs", (b"qsub", b"-I"), None, "an interactive job"),
        ("pbs", (b"qsub", b"-I", b"job.sh"), b"#!/bin/bash\n", "an interactive job"),
        ("pbs", (b"qsub", b"--", b"/bin/true"), None, "qsub is given a program in place of a script"),
    ],
)
def test_why_nothing_is_said_of_a_submission_is_said(
    scheduler: str, argv: tuple[bytes, ...], script: Optional[bytes], says: str
) -> None:
    """In the words of its own command, the first reason of several."""
    asked = Submission(scheduler, argv, script, "file", b"job.sh", b"/work", 1000, {})
    assert advice.why(asked).startswith(says)


@pytest.mark.parametrize(
    ("words", "becomes"),
    [((b"qsub", b"job.pbs", b"-l", b"walltime=1:00:00"), (b"qsub", b"-l", b"walltime=1:00:00", b"job.pbs"))],
)
def test_of_words_that_are_refused_those_are_on_offer_that_are_not(words: tuple[bytes, ...], becomes: object) -> None:
    """The script stays; a change of it would not help."""
    asked = Submission("pbs", words, b"#!/bin/bash\npython train.py\n", "file", b"job.pbs", b"/work", 1000, {})
    decision = decide(asked, GENERIC_PBS, None)
    offered = suggested(decision, asked, GENERIC_PBS, None).offered
    assert offered is not None and (offered.script, offered.argv) == (None, becomes)
    assert offered.because == ((0, decision.findings[0].code),)  # no line of the script
    (found,) = decision.findings
    of_script = found.fixes[0]._replace(edits=(Edit(Span(0, 1), b"#", "x"),))
    other = decision._replace(findings=(found._replace(fixes=(of_script,)),))
    assert suggested(other, asked, GENERIC_PBS, None).offered is None


FULL = Partition("gpu", "partition", ("a",), 4, 1, 9, 60, True, "c", True, "form", 8, 30, True, 2,
                 (SizeBin(1, 2, 3),), True, "-gpu")  # fmt: skip
KNOWN = GENERIC_SLURM._replace(
    id="here", version=(25, 11), kinds=(NodeKind("a", 4), NodeKind("b", 8)), partitions=(FULL,),
    partitions_complete=True, kinds_complete=True, default_partition="gpu", default_qos="normal",
    gpu_request=GpuRequest("any", True, "x", "y"), node_name_suffix="-ib", interface="hsn0", srun_inherits_cpus=False,
)  # fmt: skip
UNKNOWN = Site("here", "0", "slurm")


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("scheduler", ("version", "partitions_complete", "kinds_complete", "default_partition", "default_qos",
                       "srun_inherits_cpus")),
        ("network", ("node_name_suffix", "interface")),
        ("gpu_request", ("gpu_request",)),
    ],
)  # fmt: skip
def test_all_that_an_unsure_table_says_is_forgotten_and_nothing_else(table: str, fields: tuple[str, ...]) -> None:
    made = certain(KNOWN._replace(unsure=(table,)))
    assert made == KNOWN._replace(**{name: getattr(UNKNOWN, name) for name in fields})


def test_of_an_unsure_place_or_kind_of_node_its_name_is_left() -> None:
    """The name exists; that it is reached through a route only is how it is called."""
    made = certain(KNOWN._replace(unsure=("partition.gpu", "node.b")))
    assert made.partitions == (Partition("gpu", "partition", sure=False, routed=True),)
    assert made.kinds == (NodeKind("a", 4), NodeKind("b"))


def test_worlds_are_told_from_the_smallest_up() -> None:
    """However they came together; what lies on one node is said so."""
    for workers in range(1, 9):
        worlds = frozenset(World(2, count, 2 * count) for count in (7, workers, 3, 11, 1))
        told = sorted({world.workers or 0 for world in worlds})
        lie = "; ".join("%d on each of 2 nodes" % count for count in told)
        assert shapes(worlds) == "%s (%s)" % (sizes(worlds), lie)
        assert sizes(worlds) == "worlds of %s and 22 ranks" % ", ".join(str(2 * count) for count in told[:-1])
    assert shapes(frozenset([World(1, 4, 4)])) == "a world of 4 ranks (all on one node)"
    assert shapes(frozenset([World(None, 4, 4)])) == "a world of 4 ranks" == sizes(frozenset([World(1, 4, 4)]))


def test_local_ranks_on_nodes_that_nobody_knows_may_be_the_same() -> None:
    """On one that is known they must differ."""
    job = understood(
        b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1\nexport MASTER_ADDR=a\nsrun python train.py\n"
    )
    plan = decide(job.submission, GENERIC_SLURM, None).plan
    assert plan is not None
    (step,) = [one for one in plan.steps if one.groups]
    group = step.groups[0]
    first = group.processes[0]
    wrong = step._replace(breaches=(Breach("T1", {}, {}),))  # type: ignore[call-arg]
    before = State(job, plan._replace(steps=(wrong,)), ())
    for nodes, locals_, right in (
        ((0, 0), (0, 0), False), ((0, 0), (0, 1), True), ((0, 1), (0, 0), True), ((None, None), (0, 0), True),
        ((0, 0), (None, None), True), ((0, None), (0, 0), True),
    ):  # fmt: skip
        processes = tuple(
            first._replace(rank=rank, node=node, local_rank=local)
            for rank, (node, local) in enumerate(zip(nodes, locals_, strict=True))
        )
        made = group._replace(processes=processes, world_size=2, declared=2, master=b"\0host:0\0")
        after = State(job, plan._replace(steps=(step._replace(groups=(made,), breaches=()),)), ())
        assert shown(after, before) == right, (nodes, locals_)


def test_another_way_stands_where_its_finding_is_gone_whatever_is_left() -> None:
    """One that leaves the very finding does not."""
    gone, kept = edit(TWO_WORLDS, b" --wrong", b""), edit(TWO_WORLDS, b"--wrong", b"--wrong2")
    for change, others, stands in ((gone, {}, True), (gone, {b"train.py": ()}, True), (kept, {}, False)):
        trial = Trial(TWO_WORLDS, {b"--wrong": (), **others})
        start = trial.state(understood(TWO_WORLDS))
        finding = start.proven()[0]._replace(says="this")
        start = start._replace(findings=(finding, *start.findings[1:]))

        def again(
            before: Any, source: bytes, words: Any, trial: Trial = trial, at: Optional[Span] = finding.at
        ) -> State:
            after = trial.again(before, source, words)
            told = tuple(
                one._replace(says="this" if b"--wrong" in source and one.at == at else "that") for one in after.findings
            )
            return after._replace(findings=told)

        fix = Fix((change,), Safety.ASK, "another way")
        assert _stands(finding, fix, start, GENERIC_SLURM, again) == stands, (change, others)


LATE = b"#!/bin/bash\n#SBATCH --ntasks-per-node=1 --gpus-per-node=4\n# SBATCH --nodes=2\n" + TWO_WORLDS.replace(
    b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n", b""
)


def test_of_two_ways_to_have_a_line_read_the_first_is_taken() -> None:
    """They are two ways to the same; together they would be none."""
    decision = decide(submitted(LATE), GENERIC_SLURM, None)
    assert decision.repaired is not None
    unread = next(one for one in decision.findings if one.code in offering.UNREAD)
    job = understood(LATE)
    ways = (unread.fixes[0], unread.fixes[0]._replace(says="another way"))
    start = State(job, decision.plan, decision.findings)  # type: ignore[arg-type]

    def again(before: Any, source: bytes, argv: tuple[bytes, ...]) -> Optional[State]:
        asked = before.submission._replace(script=source, argv=argv)
        made = decide(asked, GENERIC_SLURM, None)
        return State(understood(source), made.plan, made.findings)  # type: ignore[arg-type]

    one, both = (offering.offered(start, [unread._replace(fixes=those)], again) for those in (unread.fixes[:1], ways))
    assert one.made.whole and both.base is not start
    assert both.made.taken == one.made.taken and both.made.state.job.source == one.made.state.job.source


def text(raw: bytes) -> Text:
    return Text((Piece(raw),))


def ranks(name: bytes, *values: Optional[bytes], python: bool = True, nodes: tuple[Optional[int], ...] = (0, 1)) -> Any:
    """Return starts of which each is told a value of a variable of its own; None: none."""
    return [
        SimpleNamespace(
            environment={name: text(value)} if value is not None else {}, python=python,
            place=SimpleNamespace(node=node), program=(),
        )
        for value, node in zip(values, nodes)
    ]  # fmt: skip


Of = Callable[[Any], tuple[Breach, ...]]
TOLD: list[tuple[Of, bytes, bytes, bytes, bytes]] = [
    (program_groups._no_port, b"MASTER_PORT", b"70000", b"65536", b"65535"),
    (program_groups._outside, b"MASTER_ADDR", b"node001", b"node002", b"\0host:0\0"),
    (program_groups._listed, b"MASTER_ADDR", NODE_LIST, b"\0host:0\0 \0host:1\0", b"\0host:0\0"),
    (program_groups._listed, b"MASTER_ADDR", b"\0same:cutlist\0", b"\0same:cutlist2\0", b"\0host:0\0"),
]


@pytest.mark.parametrize(("of", "name", "wrong", "other", "right"), TOLD, ids=lambda one: getattr(one, "__name__", ""))
def test_what_the_ranks_of_a_step_are_told_is_wrong_only_where_all_are_told_so(
    of: Of, name: bytes, wrong: bytes, other: bytes, right: bytes
) -> None:
    """One that is told right, or nothing, may lead the others; a single one meets nobody; the first one's is shown."""
    (breach,) = of(ranks(name, wrong, other))
    assert {value.raw for value in breach.texts.values()} == {wrong}
    for values in ((wrong, right), (right, wrong), (wrong, None), (None, wrong), (right, right), (wrong,)):
        assert of(ranks(name, *values)) == (), values
    assert of(ranks(name, wrong, other, python=False)) == ()


def kinds(source: bytes) -> set[str]:
    """Return the breaches of all launch lines of a job."""
    plan = decide(submitted(source), GENERIC_SLURM, None).plan
    assert plan is not None
    return {breach.kind for step in plan.steps for breach in step.breaches}


RUN = b"torchrun %b--nproc_per_node=2 %b a.py &\n"


@pytest.mark.parametrize(
    ("more", "lines", "taken"),
    [
        (b"", 2, True),
        (b"", 3, True),
        (b"", 1, False),
        (b"--nnodes=1 --master_port=29600", 2, True),
        (b"--rdzv-backend=c10d --rdzv-endpoint=localhost:29600 --rdzv-id=$i", 2, False),  # the second joins the store
        (b"--rdzv-backend=c10d --rdzv-endpoint=localhost:0", 2, False),
        (b"--standalone", 2, False),
        (b"--nnodes=2 --master_addr=$HEAD", 2, False),
    ],
)
def test_a_port_is_taken_by_static_runs_of_one_node_side_by_side(more: bytes, lines: int, taken: bool) -> None:
    """Two at least, that begin together, and none of them is ended before the next begins."""
    head = b"#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4\nHEAD=$(hostname)\n"
    runs = [RUN % (b"", more.replace(b"$i", b"%d" % at)) for at in range(lines)]
    assert (breach_kinds.PORT_TAKEN in kinds(head + b"".join(runs) + b"wait\n")) == taken
    one_by_one = [run.replace(b" &\n", b"\n") for run in runs]
    for others in (one_by_one, [*runs[:-1], *one_by_one[-1:]], [b"kill %1\n".join(runs)]):
        assert breach_kinds.PORT_TAKEN not in kinds(head + b"".join(others))
