"""Every task must be told its own rank."""

from __future__ import annotations

from typing import Iterator, List, Optional

from ...cures.launch_edits import exec_in_task, later, pointed_at, task_value
from ...launchers.rank_words import rank_words
from ...launchers.record import RankWords
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule


@rule("MPL305", "every task gets the same RANK")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A RANK that the batch script exports is one number for all tasks.

    Wrong: export RANK=$SLURM_PROCID ... srun python train.py
    Right: srun bash -c 'export RANK=$SLURM_PROCID; exec "$@"' bash python train.py
    Why:   the batch shell is task 0, so all of them become rank 0 and one port is opened twice; what another launcher
           would set is empty, and is said in the words of the one that starts the tasks. Reported only where the
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
    other = _translated(job, words) if words is not None and same is None and not breach.names else []
    if other and words is not None:
        says_own = "read what this launcher sets: %s" % words.rank.decode()
        fixes.insert(0, Fix(tuple(other), Safety.SAFE, says_own))
    at = pointed_at(rank, step)
    return Finding("MPL305", says, at, True, fixes=tuple(fixes), help="set RANK in the task, not in the batch script")


_ELSEWHERE = (
    rb"\$\{?((?:OMPI_COMM_WORLD|MV2_COMM_WORLD|PMI|PMIX)_(?:LOCAL_)?(?:RANK|SIZE)|PALS_(?:LOCAL_)?RANKID|MPI_LOCALRANKID"
    rb"|SLURM_(?:PROCID|LOCALID))\b"
)


def _escaped(step: Step, job: Job) -> List[Edit]:
    """Have the line's words for a rank expanded by the task: a backslash in front of each, in double quotes."""
    import re

    matches = re.finditer(rb"(?<!\\)" + _ELSEWHERE, job.source[step.span.start : step.span.end])
    starts = [step.span.start + match.start() for match in matches]
    return [Edit(Span(start, start), b"\\", "MPL305") for start in starts]


def _translated(job: Job, words: RankWords) -> List[Edit]:
    """Say the launcher's own variables wherever the script reads those of another one, none where one has no match."""
    import re  # few scripts need it

    edits: List[Edit] = []
    for match in re.finditer(_ELSEWHERE, job.source):
        own = _in_words_of(match.group(1), words)
        if match.group(1) in (words.rank, words.local, words.tasks):
            continue
        if not own:
            return []
        edits.append(Edit(Span(*match.span(1)), own, "MPL305"))
    return edits


def _in_words_of(variable: bytes, words: RankWords) -> bytes:
    if b"LOCAL" in variable:
        return words.local if b"SIZE" not in variable else b""
    return words.tasks if variable.endswith(b"SIZE") else words.rank


def _ways(step: Step, breach: Breach, job: Job, words: RankWords) -> Iterator[Optional[List[Edit]]]:
    rank = breach.texts.get("rank-text")
    where = rank.written() if rank is not None else None
    if where is not None and job.source[where.start : where.start + 1] == b"$":
        early = [rank, breach.texts.get("local-text")]
        world = breach.texts.get("world-text")
        yield later(early + ([world] if world is not None and not world.raw else []), job.source, "MPL305")
    if where is None and breach.numbers["rank"] is None:
        yield _escaped(step, job)
    if where is not None:
        local = breach.texts.get("local-text")
        beside = local.written() if local is not None else None
        for index, edits in enumerate(task_value(where, words.rank, "MPL305")):
            yield edits + (task_value(beside, words.local, "MPL305")[index] if beside is not None else [])
    own = [b"RANK=$" + words.rank]
    if "local-text" in breach.texts:
        own.append(b"LOCAL_RANK=$" + words.local)
    yield exec_in_task(job.source, step, own, "MPL305")
