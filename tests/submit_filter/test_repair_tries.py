"""Every try of a repair plays the script again, which is most of what a wrong script costs its submission."""

from __future__ import annotations

from typing import Any

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer import decision as deciding
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.repair.search import State, repair
from maple_submit_filter.request.slurm import submission as slurm
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.submission import Submission

from tests.bench.scripts import script

AURORA = b"""\
#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
sed 's/$/ slots=12/' $PBS_NODEFILE > hostfile
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 deepspeed --hostfile=hostfile --no_ssh --master_addr=$HEAD --master_port=29500 train.py
"""
QUOTED = b"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c "torchrun --nnodes=2 --nproc-per-node=4 --node-rank=$SLURM_NODEID --master-addr=$HEAD train.py"
"""
EARLY_RANK = b"""\
#!/bin/bash
#SBATCH --account=abcd-delta-gpu --partition=gpuA100x4 --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --mem=200G
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500
export WORLD_SIZE=$SLURM_NTASKS RANK=$SLURM_PROCID
srun --gpus-per-task=1 python train.py
"""


def played(monkeypatch: pytest.MonkeyPatch, source: bytes, site: Site) -> tuple[Decision, list[bytes]]:
    """Return what is decided, and every script that was played for it, the user's own first."""
    seen: list[bytes] = []
    made = deciding.plan

    def counted(submission: Submission, script: Any, *others: Any) -> LaunchPlan:
        seen.append(script.source)
        return made(submission, script, *others)

    monkeypatch.setattr(deciding, "plan", counted)
    words = (b"sbatch" if site.scheduler == "slurm" else b"qsub", b"job.sh")
    asked = Submission(site.scheduler, words, source, "file", b"job.sh", b"/work", 1000, {})
    return decide(asked, site, None), seen


@pytest.mark.parametrize("site", ["ncsa-delta", ""])
def test_of_ways_to_do_the_same_the_first_that_does_it_is_taken(monkeypatch: pytest.MonkeyPatch, site: str) -> None:
    """Once localhost is the master no more, the early node rank comes to light; other ways to say who leads would not
    have kept it in the dark. Two ways for the tasks, one each for master and node rank, and the script itself."""
    decision, seen = played(monkeypatch, script(200, 3), sites.load(site) if site else GENERIC_SLURM)
    assert decision.verdict == "repaired"
    assert len(seen) <= 5


@pytest.mark.parametrize(("place", "tries"), [(b"one", 2), (b"rest", 1), (b"", 2)])
def test_another_way_is_tried_where_the_first_wrote_a_mistake_of_its_own(place: bytes, tries: int) -> None:
    """What comes to light elsewhere would do so whichever way is taken; what stands nowhere may be of its doing."""
    asked = Submission("slurm", (b"sbatch",), b"#!/bin/bash\necho wrong rest\n", "stdin", b"", b"/", 1000, {})
    job = deciding.understood(asked, None)
    assert job is not None
    tried: list[bytes] = []

    def found(source: bytes) -> tuple[Finding, ...]:
        if b"wrong" in source:
            at = span(source, b"wrong")
            ways = (Fix((Edit(at, word, "T1"),), Safety.SAFE, "the same") for word in (b"one", b"other"))
            return (Finding("T1", "wrong", at, True, fixes=tuple(ways)),)
        left = b"one" in source or place == b"rest"
        return (Finding("T2", "left", span(source, place) if place else None, True),) if left else ()

    def again(before: Job, source: bytes, argv: tuple[bytes, ...]) -> State:
        tried.append(source)
        return state(before._replace(submission=asked._replace(script=source), script=slurm.read_script(source)))

    def state(of: Job) -> State:
        return State(of, deciding.examined(of, GENERIC_SLURM).plan, found(of.source))

    assert repair(state(job), (Safety.SAFE,), again).whole == (place != b"rest")
    assert len(tried) == tries


def span(source: bytes, word: bytes) -> Span:
    """Return where a word stands."""
    return Span(source.index(word), source.index(word) + len(word))


@pytest.mark.parametrize(("source", "site"), [(AURORA, "alcf-aurora"), (QUOTED, "")])
def test_the_likeliest_way_to_give_a_node_its_rank_is_tried_first(
    monkeypatch: pytest.MonkeyPatch, source: bytes, site: str
) -> None:
    """In the batch shell's own words a shell of the task is put in between; in a text the value alone is changed."""
    decision, seen = played(monkeypatch, source, sites.load(site) if site else GENERIC_SLURM)
    assert decision.verdict == "repaired" and decision.repaired is not None
    assert len(seen) <= 3


def test_what_safe_fixes_have_tried_is_not_played_again_for_an_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No script is played twice."""
    _, seen = played(monkeypatch, EARLY_RANK, sites.load("ncsa-delta"))
    assert len(seen) > 1
    assert len(seen) == len(set(seen))
