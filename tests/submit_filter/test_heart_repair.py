"""What a repair promises whatever its rules say: all or nothing, every world kept, every word there."""

from __future__ import annotations

from typing import Optional

import pytest
from maple_submit_filter.answer import decision as deciding
from maple_submit_filter.answer.decision import Decision, Rewritten, decide
from maple_submit_filter.answer.fate import offers
from maple_submit_filter.answer.reply import changed_lines, handed_over
from maple_submit_filter.answer.terminal import Report, message
from maple_submit_filter.repair.certainty import NOT_SURE, UNNAMED
from maple_submit_filter.repair.search import State, _its_doing, repair, shown
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.launch_plan import Breach

from tests.bench.scripts import script
from tests.submit_filter.test_heart import TWO_WORLDS, Trial, edit, submitted, understood


def gone(safety: str, *more: Edit) -> Fix:
    return Fix((edit(TWO_WORLDS, b" --wrong", b""), *more), safety, "the word goes")


def test_a_repair_that_leaves_one_contradiction_is_none() -> None:
    """One is cured and the other has no cure, or none that may be made unasked: nothing is changed."""
    other = edit(TWO_WORLDS, b"train.py", b"other.py")
    for cures in ((), (Fix((other,), Safety.ASK, "another program"),)):
        trial = Trial(TWO_WORLDS, {b"--wrong": (gone(Safety.SAFE),), b"train.py": cures})
        made = repair(trial.state(understood(TWO_WORLDS)), (Safety.SAFE,), trial.again)
        assert made.taken and not made.whole and "T1" in {code for code, _ in made.held_back}


def test_what_loses_a_world_is_asked_about_and_never_done_unasked() -> None:
    """However safe its rule calls it; whoever is asked hears of which rule it is, and what becomes of the world."""
    fewer = edit(TWO_WORLDS, b"--nproc-per-node=4", b"--nproc-per-node=2")
    trial = Trial(TWO_WORLDS, {b"--wrong": (gone(Safety.SAFE, fewer),)})
    start = trial.state(understood(TWO_WORLDS))
    assert not repair(start, (Safety.SAFE,), trial.again).whole
    asked = repair(start, (Safety.SAFE, Safety.ASK), trial.again)
    assert asked.whole
    ((code, fix),) = asked.taken
    assert (code, fix.safety) == ("T1", Safety.ASK) and fix.says.startswith("the word goes (") and "8" in fix.says


@pytest.mark.parametrize(
    ("place", "word", "made"),
    [
        (b"$HEAD:29500", b"$HEAD:29500", True),
        (b"$HEAD:29500", b"$NOBODY:29500", False),  # a variable that nothing sets
        (b"$HEAD:29500", b"$(hostname):29500", True),
        (b"srun ", b"srun singularity exec a.sif bash -c 'scontrol show node'; srun ", False),  # what no image has
    ],
)
def test_a_word_that_is_not_there_where_it_is_expanded_is_not_written(place: bytes, word: bytes, made: bool) -> None:
    """Also where nothing else speaks against the fix."""
    both = Fix((edit(TWO_WORLDS, place, word), edit(TWO_WORLDS, b" --wrong", b"")), Safety.SAFE, "another word")
    trial = Trial(TWO_WORLDS, {b"--wrong": (both,)})
    assert repair(trial.state(understood(TWO_WORLDS)), (Safety.SAFE,), trial.again).whole == made


@pytest.mark.parametrize(
    ("at", "blamed"),
    [
        (Span(0, 4), False),
        (Span(0, 5), True),
        (Span(6, 7), True),
        (Span(7, 9), True),
        (Span(8, 9), False),
        (None, True),
    ],
)
def test_a_fix_is_blamed_for_what_stands_where_it_wrote(at: Optional[Span], blamed: bool) -> None:
    """It wrote bytes 4 to 7. What only touches them comes to light whichever way it is cured."""
    job = understood(b"#!/bin/bash\nsrun python train.py\n")
    plan = deciding.examined(job, GENERIC_SLURM).plan
    after = State(job, plan, (Finding("T2", "new", at, True),))
    fix = Fix((Edit(Span(4, 6), b"four", "T1"),), Safety.SAFE, "four")
    assert _its_doing(fix, State(job, plan, ()), after) == blamed
    assert not _its_doing(fix, after, after)  # it was there before


@pytest.mark.parametrize("nodes", [1, 2, 3, None])
def test_a_master_is_shown_right_only_where_every_node_would_reach_it(nodes: Optional[int]) -> None:
    """One that is not known, or that each node takes for itself, is right on one node alone."""
    job = understood(TWO_WORLDS)
    plan = deciding.examined(job, GENERIC_SLURM).plan
    (step,) = [one for one in plan.steps if one.groups]
    breach = Breach("master-local", {}, {})  # type: ignore[call-arg]
    before = State(job, plan._replace(steps=(step._replace(breaches=(breach,)),)), ())
    for master, everywhere in ((None, False), (b"localhost", False), (b"\0host:0", True)):
        group = step.groups[0]._replace(nodes=nodes, master=master)
        after = State(job, plan._replace(steps=(step._replace(groups=(group,)),)), ())
        assert shown(after, before) == (everywhere or nodes == 1), master


def test_what_is_not_handed_over_is_said_and_all_else_stays() -> None:
    """A change that its user silenced is a finding, and why it is not made is kept; an offer beside it goes on."""
    asked = submitted(script(30, 1))
    made = decide(asked, GENERIC_SLURM, None)
    assert made.repaired is not None and handed_over(asked, made) == made
    codes = {code for _, code in made.repaired.because}
    quiet = asked._replace(script=b"#!/bin/bash\n# maple: ignore %s\n" % " ".join(sorted(codes)).encode())
    left = handed_over(quiet, made)
    assert (left.verdict, left.repaired, left.offered) == ("findings", None, None)
    assert {code for code, _ in left.held_back} >= codes
    other = Rewritten(quiet.script, (b"sbatch", b"-N2", b"job.sh"), ("T1 x",), ((0, "T1"),))
    half = handed_over(quiet, made._replace(repaired=None, verdict="findings", offered=other))
    assert half.offered == other and half.held_back == made.held_back


@pytest.mark.parametrize(
    ("at", "where"), [(Span(20, 24), b"job.sh:2: "), (Span(0, 1), b"job.sh:1: "), (None, b"job.sh: ")]
)
def test_a_finding_is_told_with_its_line_where_it_has_one(at: Optional[Span], where: bytes) -> None:
    asked = submitted(b"#!/bin/bash\nsrun python train.py\n")
    found = (Finding("MPL301", "wrong", at, True),)
    lines = message(Report(asked, Decision("findings", found), found, "warn", False, False)).splitlines()
    assert lines[0].startswith(b"maple: " + where + b"error MPL301 wrong")


@pytest.mark.parametrize("size", [199, 200, 201, 5000])
def test_of_a_changed_line_two_hundred_bytes_are_shown(size: int) -> None:
    """Before and after; a line may be megabytes long, and a question must fit a screen."""
    before, after = changed_lines([b"a" * size], [b"b" * size])
    assert before == "maple:   - " + "a" * min(size, 200) and after == "maple:   + " + "b" * min(size, 200)


@pytest.mark.parametrize("before", ["refused", "of the same words", "that loses a world"])
def test_a_fix_behind_one_that_is_not_taken_is_tried(before: str) -> None:
    """Whatever the reason: of all fixes of a finding the best is wanted."""
    fewer = edit(TWO_WORLDS, b"--nproc-per-node=4", b"--nproc-per-node=2")
    loses = Fix((edit(TWO_WORLDS, b" --wrong", b""), fewer), Safety.ASK, "fewer workers")
    refused = Fix((edit(TWO_WORLDS, b"--wrong", b"--wrong --still"),), Safety.ASK, "no cure")
    first = {"refused": (refused,), "of the same words": (loses, loses), "that loses a world": (loses,)}[before]
    trial = Trial(TWO_WORLDS, {b"--wrong": (*first, gone(Safety.ASK))})
    made = trial.repaired(Safety.SAFE, Safety.ASK)
    assert b"--nproc-per-node=4" in made and b"--wrong" not in made


def test_what_is_not_read_as_a_job_is_not_explained() -> None:
    """Also where the site is not sure of its facts."""
    unsure = GENERIC_SLURM._replace(unsure=("network",))
    asked = submitted(script(30, 1), b"--nodes")
    assert deciding.understood(asked._replace(argv=(b"sbatch", b"--nodes")), None) is None
    found = Finding("MPL203", "eight ranks", None, help=NOT_SURE + UNNAMED)
    decision = Decision("findings", (found,))
    assert deciding.explained(decision, asked._replace(argv=(b"sbatch", b"--nodes")), unsure, None) == decision


@pytest.mark.parametrize("contradicted", [False, True])
def test_a_change_that_is_advice_is_offered_too(contradicted: bool) -> None:
    """It cures no contradiction, brings none, and what is contradicted elsewhere is none of its doing."""
    wrong = b"#SBATCH --nodes=2-1\n" if contradicted else b""
    asked = submitted(b"#!/bin/bash\n#SBATCH --gpus-per-node=4 --mem=200\n" + wrong + b"srun python train.py\n")
    made = decide(asked, GENERIC_SLURM, None)
    assert "MPL221" in {one.code for one in made.findings if not one.proven}
    scripts = [one.script or b"" for one in offers(made, asked, GENERIC_SLURM, None)]
    assert any(b"--mem=200G" in one for one in scripts)


@pytest.mark.parametrize("mode", ["observe", "warn", "repair"])
@pytest.mark.parametrize("cured", [False, True])
def test_the_mode_is_named_where_it_is_what_left_a_repair_undone(mode: str, cured: bool) -> None:
    """Of a script without a repair it is not the reason."""
    asked = submitted(b"#!/bin/bash\nsrun python train.py\n")
    found = (Finding("MPL301", "wrong", None, True),)
    made = Rewritten(b"#!/bin/bash\n", (b"sbatch", b"job.sh"), ("MPL301 x",), ((2, "MPL301"),)) if cured else None
    text = message(Report(asked, Decision("findings", found, repaired=made), found, mode, False, False))
    assert (b"because the mode is " + mode.encode() in text) == (cured and mode == "warn")
