"""The last line of `maple check` tells the truth: each finding is cured, on offer or only said, and in one of them."""

from __future__ import annotations

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import Decision, Rewritten, decide
from maple_submit_filter.answer.fate import offers, suggested
from maple_submit_filter.answer.remainder import Remainder, left_by, remainder
from maple_submit_filter.types.submission import Submission

NO_ACCOUNT = b"""\
#!/bin/bash
#PBS -l select=2:ncpus=64:ngpus=4 -l walltime=01:00:00 -q debug
mpiexec -n 8 --ppn 4 python train.py
"""
TWO = b"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
export MASTER_ADDR=localhost MASTER_PORT=29500
srun --ntasks-per-node=4 torchrun --nnodes=2 --nproc-per-node=4 train.py
"""


def told(source: bytes, site: str) -> tuple[Decision, list[Rewritten], Remainder]:
    """Return what is decided, the ways on offer, and what becomes of each finding."""
    here = sites.load(site)
    asked = Submission(here.scheduler, (b"submit", b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})
    decision = suggested(decide(asked, here, None), asked, here, None)
    ways = [way for way in (decision.offered, *offers(decision, asked, here, None)) if way is not None]
    ways = [way for way in ways if way != decision.repaired]
    return decision, ways, remainder(decision.findings, decision.repaired, ways, asked, here)


def test_two_findings_of_one_rule_are_two() -> None:
    """The file systems are on offer, and of the account nobody but the user knows."""
    _, _, of = told(NO_ACCOUNT, "alcf-polaris")
    assert [finding.code for finding in of.offered] == ["MPL201"] == [finding.code for finding in of.advice]
    assert of.advice[0].asks_for == "account" and not of.cured


@pytest.mark.parametrize("source, site", [(NO_ACCOUNT, "alcf-polaris"), (TWO, "ncsa-delta"), (TWO, "generic-slurm")])
def test_each_finding_stands_in_one_place(source: bytes, site: str) -> None:
    """And what is said to be cured is found no more by who reads the script again."""
    decision, ways, of = told(source, site)
    assert sorted((*of.cured, *of.offered, *of.advice), key=repr) == sorted(decision.findings, key=repr)
    assert bool(of.cured) == (decision.repaired is not None)
    asked = Submission(sites.load(site).scheduler, (b"x", b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})
    if decision.repaired is not None:
        codes = [finding.code for finding in left_by(decision.repaired, asked, sites.load(site), None)]
        assert len(codes) == len(of.offered) + len(of.advice) + len(of.new)
    for finding in of.offered:
        counts = [
            sum(left.code == finding.code for left in left_by(way, asked, sites.load(site), None)) for way in ways
        ]
        assert min(counts) < sum(other.code == finding.code for other in decision.findings)
