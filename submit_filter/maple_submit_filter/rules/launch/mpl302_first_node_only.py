"""Somebody has to start the launcher on the other nodes."""

from __future__ import annotations

from typing import Iterator, List

from ...cures.launch_edits import around_image, in_front, srun_words
from ...launchers.rank_words import once_on_each
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule


@rule("MPL302", "a launcher for several nodes is started on the first one only")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The batch script runs on the job's first node; a launcher for N nodes must be started on each of them.

    Wrong: torchrun --nnodes=4 --nproc-per-node=4 ... train.py, as a line of the batch script
    Right: srun --ntasks=4 --ntasks-per-node=1 torchrun --nnodes=4 --nproc-per-node=4 ... train.py
    Right: srun --ntasks=4 --ntasks-per-node=1 apptainer exec image.sif torchrun ... (no container has an srun)
    Right: mpiexec -n 4 --ppn 1 torchrun ... under PBS; asks first where it is not known whose mpiexec is there
    Why:   the one agent that starts waits for the three others, in silence, for ten minutes.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.AGENTS and not breach.numbers.get("fanned") and not step.background:
                started, wanted = breach.numbers["agents"], breach.numbers["nnodes"]
                if started == 1 and wanted and wanted > 1 and (plan.allocation.nodes or 0) > 1:
                    yield _finding(step, breach, wanted, plan, site, job.source)


def _finding(step: Step, breach: Breach, wanted: int, plan: LaunchPlan, site: Site, source: bytes) -> Finding:
    link = step.links[-1]
    says = "%s waits for %d nodes, but starts on the first one only" % (link.name, wanted)
    launcher = "mpiexec" if site.scheduler == "pbs" else "srun"
    return Finding("MPL302", says, link.name_span, True, fixes=tuple(_fixes(step, plan, site, source)),
                   help="start it with %s, one task per node" % launcher)  # fmt: skip


def _fixes(step: Step, plan: LaunchPlan, site: Site, source: bytes) -> Iterator[Fix]:
    nodes = plan.allocation.nodes
    if nodes is None or not step.links:
        return
    if site.scheduler == "pbs":
        line, sure = once_on_each(nodes, site, step.links[0])
        if site.launcher("mpiexec") not in ("absent", "discouraged"):
            yield from _started(step, source, line, Safety.SAFE if sure else Safety.ASK, line)
        return
    words: List[bytes] = []
    if site.launcher("srun") not in ("absent", "discouraged") and "ibrun" not in site.preferred():
        words.append(srun_words(plan, nodes))
    if site.launcher("ibrun") in ("preferred", "present") and plan.allocation.tasks_per_node == 1:
        words.append(b"ibrun")
    if site.launcher("srun") not in ("absent", "discouraged") and not words:
        words.append(srun_words(plan, nodes))
    for word in words:
        yield from _started(step, source, word, Safety.SAFE, word.split()[0])


def _started(step: Step, source: bytes, words: bytes, safety: str, name: bytes) -> Iterator[Fix]:
    """Yield the ways to put words in front of a launcher, which may stand in a container."""
    for edits in (in_front(step.links[0], words, "MPL302"), around_image(step, source, words, "MPL302")):
        if edits:
            yield Fix(tuple(edits), safety, "%s starts it on every node" % name.decode())
