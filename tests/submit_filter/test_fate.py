"""What `maple check` says of a fix is what submitting does, over every case of the rules."""

from __future__ import annotations

import hashlib
from typing import Optional

import pytest
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.answer.fate import fates
from maple_submit_filter.answer.reply import answered, handed_over
from maple_submit_filter.answer.report import FIXED, report
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy

from tests.submit_filter import rule_cases
from tests.submit_filter.test_offers import CASES, decided


def submitted(case: rule_cases.RuleCase, mode: str, decision: Decision) -> Reply:
    """Return what the front is told to do where the case, of which that was decided, is submitted in *mode*."""
    asked = case.submission
    request = Request(bytes(16), hashlib.sha256(asked.script or b"").digest(), asked, 1, 0, False, True)
    return answered(request, case.site, Policy(mode), mode, decision)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_check_says_of_a_fix_is_what_submitting_does(case: rule_cases.RuleCase) -> None:
    """A finding is fixed automatically if and only if the submitted job differs, and then it is gone."""
    made = decide(case.submission, case.site, case.read)
    decision = handed_over(case.submission, made)
    tells = fates(decision, "repair")
    fixed = [one for one in decision.findings if tells(one).startswith(FIXED)]
    assert bool(fixed) == (submitted(case, "repair", made).change is not None)
    if decision.repaired is not None:
        new = decision.repaired
        script = case.submission.script if new.script is None else new.script
        after = decide(case.submission._replace(script=script, argv=new.argv), case.site, case.read)
        assert not [one for one in after.findings if one.proven]
        assert {one for one in decision.findings if one.proven} <= set(fixed)
        assert not {one.code for one in fixed if not one.proven} - {says.split(" ")[0] for says in new.says}
    for mode in ("observe", "warn"):
        assert submitted(case, mode, made).change is None
        assert not any(FIXED in line for line in report(decision.findings, b"\n" * 99, "j", fates(decision, mode)))


MIXED = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=3 --nproc-per-node=4 --rdzv-backend=c10d \\
  --rdzv-endpoint=$(hostname):29500 train.py
"""


def test_a_safe_fix_beside_one_that_asks_is_said_not_to_be_applied() -> None:
    """The repair is made whole or not at all, and the sentence names what it waits for."""
    decision = decided(MIXED, GENERIC_SLURM)
    safe: Optional[str] = next(fates(decision, "repair")(one) for one in decision.findings if one.code == "MPL301")
    assert decision.repaired is None and {"MPL301", "MPL303"} <= {one.code for one in decision.findings}
    assert safe is not None and safe.startswith("not applied: MPL303 must be settled first")
