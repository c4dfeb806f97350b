"""Where a rule knows no cure, one decision of the script that makes the plan whole is on offer."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import decide, understood
from maple_submit_filter.answer.fate import offers
from maple_submit_filter.cures.decisions import MOST, decisions
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

TWICE = b"""#!/bin/bash
#PBS -l select=2:ncpus=32:ngpus=4:mpiprocs=4
#PBS -l place=scatter
cd $PBS_O_WORKDIR
sed 's/$/ slots=4/' $PBS_NODEFILE > hosts
deepspeed --hostfile hosts train.py
"""
SLOTS = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
horovodrun -np 8 -H "$(scontrol show hostnames $SLURM_JOB_NODELIST | sed 's/$/:2/' | paste -sd,)" python train.py
"""
RIGHT = SLOTS.replace(b":2", b":4")


def asked(script: bytes, site: Site) -> Submission:
    """Return it as it is submitted from /work."""
    command = b"qsub" if site.scheduler == "pbs" else b"sbatch"
    home = {b"HOME": b"/home/u"}
    return Submission(site.scheduler, (command, b"job.sh"), script, "file", b"job.sh", b"/work", 1000, home)


def ways(script: bytes, site: Site) -> list[str]:
    """Return what is on offer for a script, a line each."""
    submission = asked(script, site)
    return ["; ".join(way.says) for way in offers(decide(submission, site, None), submission, site, None)]


@pytest.mark.parametrize(
    ("script", "site", "way"),
    [
        (TWICE, GENERIC_PBS, "MPL310 select=2:ncpus=32:ngpus=4:mpiprocs=1"),  # a line of the node file for each host
        (SLOTS, GENERIC_SLURM, "MPL310 -np 4"),
    ],
)
def test_the_decision_that_makes_the_plan_whole_is_on_offer(script: bytes, site: Site, way: str) -> None:
    """Those that leave the worlds as they were meant come first."""
    assert ways(script, site)[:1] == [way]


def test_what_is_right_is_offered_nothing() -> None:
    """No number of it is looked for."""
    assert ways(RIGHT, GENERIC_SLURM) == []


def test_a_decision_changes_one_place_and_tries_are_bounded() -> None:
    """Each says another number in one place."""
    decision = decide(asked(SLOTS, GENERIC_SLURM), GENERIC_SLURM, None)
    job = understood(asked(SLOTS, GENERIC_SLURM), None)
    assert decision.plan is not None and job is not None
    found = list(decisions(decision.plan, job, "MPL310"))
    assert 0 < len(found) <= MOST
    assert all(len(fix.edits) == 1 for fix in found)
