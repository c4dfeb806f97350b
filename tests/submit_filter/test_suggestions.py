"""What advice proposes is shown as a diff by `maple check`, and by nobody at submission."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.answer.fate import offers, suggested
from maple_submit_filter.bash.check import parses
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

from tests.submit_filter import rule_cases

ADVISED = [
    case
    for folder in (rule_cases.FOLDER, rule_cases.OF_LAUNCH)
    for case in rule_cases.cases(folder)
    if any(line.endswith("tell ask") for line in case.expected)
]
LATE = b"#!/bin/bash\nset -e\n#SBATCH --nodes=2\n"


def _decided(script: bytes, *words: bytes) -> tuple[Decision, Submission]:
    asked = Submission("slurm", (b"sbatch", b"job.sh", *words), script, "file", b"job.sh", b"/work", 1, {}, bool(words))
    return decide(asked, GENERIC_SLURM), asked


def _suggested(script: bytes, *words: bytes) -> Decision:
    decision, asked = _decided(script, *words)
    return suggested(decision, asked, GENERIC_SLURM)


@pytest.mark.parametrize("case", ADVISED, ids=str)
def test_nothing_is_offered_for_advice_at_submission(case: rule_cases.RuleCase) -> None:
    """Whoever submits is not asked about what nobody can prove."""
    read = case.read if case.disk is not None else None
    decision = decide(case.submission, case.site, read, read)
    if not any(one.proven or any(fix.harmless for fix in one.fixes) for one in decision.findings):
        assert decision.offered is None and decision.repaired is None


@pytest.mark.parametrize("case", ADVISED, ids=str)
def test_what_is_suggested_is_a_script_that_bash_takes_and_no_rule_proves_more_against(
    case: rule_cases.RuleCase,
) -> None:
    """And the lines of the script keep their numbers."""
    read = case.read if case.disk is not None else None
    before = decide(case.submission, case.site, read, read)
    offered = suggested(before, case.submission, case.site, read).offered
    if offered is None or offered.script is None:
        return
    assert parses(offered.script)
    assert offered.script.count(b"\n") == (case.submission.script or b"").count(b"\n")
    again = decide(case.submission._replace(script=offered.script, argv=offered.argv), case.site, read, read)
    assert {one.code for one in again.findings if one.proven} <= {one.code for one in before.findings if one.proven}


def test_late_directives_are_shown_above_the_first_command() -> None:
    """With the rule that says so."""
    offered = _suggested(LATE).offered
    assert offered is not None and offered.script == b"#!/bin/bash\n#SBATCH --nodes=2\nset -e\n"
    assert offered.says == ("MPL101 move it above the first command",) and offered.because == (
        (1, "MPL101"),
        (2, "MPL101"),
    )


def test_words_behind_the_script_are_shown_before_it() -> None:
    """The command line changes, and not the script."""
    offered = _suggested(b"#!/bin/bash\nsrun hostname\n", b"--nodes=4").offered
    assert offered is not None and offered.script is None
    assert offered.argv == (b"sbatch", b"--nodes=4", b"job.sh")


def test_a_change_that_would_prove_something_wrong_is_not_suggested() -> None:
    """Of a directive that would be refused once it is read, the script as it is, is the better one."""
    assert _suggested(LATE.replace(b"--nodes=2", b"--nodes=two")).offered is None


def test_what_is_proven_is_offered_as_before() -> None:
    """An offer that needs the user's word is not mixed with advice."""
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=4 --ntasks-per-node=1\nsrun torchrun --nnodes=4 "
    script += (
        b"--nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py\n#SBATCH --time=1:00\n"
    )
    decision, asked = _decided(script)
    assert decision.offered is not None or decision.repaired is not None
    assert suggested(decision, asked, GENERIC_SLURM) is decision


def test_each_way_to_read_a_value_is_an_offer_of_its_own() -> None:
    """The first is the decision's; behind it stands every other fix that does what it says, once."""
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=4 --ntasks-per-node=1\nsrun torchrun --nnodes=4 "
    script += b"--nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py\n"
    decision, asked = _decided(script)
    ways = offers(decision, asked, GENERIC_SLURM)
    assert ways[0] == decision.offered and len({(one.script, one.argv) for one in ways}) == len(ways) == 2
    assert b"--nnodes=2" in (ways[0].script or b"") and b"--nodes=4" in (ways[1].script or b"")


def test_ways_to_spell_one_change_are_one_offer() -> None:
    """Nobody can choose between sentences that are the same; the same change of another line is another offer."""
    lines = [b"srun torchrun --standalone --nproc-per-node=4 %s.py\n" % name for name in (b"train", b"eval")]
    head = b"#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=4 --ntasks-per-node=1\n"
    for said, count in ((lines[:1], 1), (lines, 3)):
        decision, asked = _decided(head + b"".join(said))
        ways = offers(suggested(decision, asked, GENERIC_SLURM), asked, GENERIC_SLURM)
        assert len({(one.says, one.because) for one in ways}) == len(ways) == count


def test_what_is_done_unasked_is_no_offer() -> None:
    """Nor what a clean script could become."""
    decision, asked = _decided(b"#!/bin/bash\nsrun hostname\n")
    assert offers(decision, asked, GENERIC_SLURM) == ()
