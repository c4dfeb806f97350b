"""Every task must be told its own rank."""

from __future__ import annotations

from typing import Iterator, List, Optional

from ...cures.launch_edits import exec_in_task, later, pointed_at, task_value
from ...launchers.rank_words import rank_words
from ...launchers.record import RankWords
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule


@rule("MPL305", "every task gets the same RANK")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A RANK that the batch script exports is one number for all tasks.

    Wrong: export RANK=$SLURM_PROCID ... srun python train.py
    Right: srun bash -c 'export RANK=$SLURM_PROCID; exec "$@"' bash python train.py
    Why:   the batch shell is task 0, so all of them become rank 0 and one port is opened twice. Reported only where the
           script hands out RANK, WORLD_SIZE and MASTER_ADDR itself and the world is as large as the step.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.ENV_RANK and "master" in breach.texts:
                yield _finding(step, breach, job, site)


def _finding(step: Step, breach: Breach, job: Job, site: Site) -> Finding:
    same = breach.numbers["rank"]
    if breach.names:
        says = "the %s tasks do not each get a RANK of their own" % breach.numbers["tasks"]
    else:
        says = "all %s tasks get %s RANK" % (breach.numbers["tasks"], "an empty" if same is None else "%d as" % same)
    rank = breach.texts.get("rank-text")
    words = rank_words(step.links[:1], site, job.source)
    usable = words is not None and (words.local or "local-text" not in breach.texts)
    ways = _ways(step, breach, job, words) if words is not None and usable else ()
    fixes = [Fix(tuple(edits), Safety.SAFE, "each task gets its own RANK") for edits in ways if edits]
    at = pointed_at(rank, step)
    return Finding("MPL305", says, at, True, fixes=tuple(fixes), help="set RANK in the task, not in the batch script")


def _ways(step: Step, breach: Breach, job: Job, words: RankWords) -> Iterator[Optional[List[Edit]]]:
    rank = breach.texts.get("rank-text")
    where = rank.written() if rank is not None else None
    if where is not None and job.source[where.start : where.start + 1] == b"$":
        early = [rank, breach.texts.get("local-text")]
        world = breach.texts.get("world-text")
        yield later(early + ([world] if world is not None and not world.raw else []), job.source, "MPL305")
    if where is not None:
        local = breach.texts.get("local-text")
        beside = local.written() if local is not None else None
        for index, edits in enumerate(task_value(where, words.rank, "MPL305")):
            yield edits + (task_value(beside, words.local, "MPL305")[index] if beside is not None else [])
    own = [b"RANK=$" + words.rank]
    if "local-text" in breach.texts:
        own.append(b"LOCAL_RANK=$" + words.local)
    yield exec_in_task(job.source, step.program_span, own, "MPL305")
