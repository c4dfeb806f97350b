"""Worlds of one node on a job of many."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...cures.launch_edits import drop, own_first_node, put
from ...launchers.rank_words import first_node, job_id
from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link, Step
from .. import rule

_APART = (b"SLURM_PROCID", b"SLURM_NODEID", b"SLURM_ARRAY_TASK_ID", b"PMI_RANK", b"PALS_RANKID", b"OMPI_COMM_WORLD")


@rule("MPL309", "each node trains in a world of its own")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A launcher that is told of no other node forms a world of its own node alone, wherever it is started.

    Wrong: srun --ntasks=4 --ntasks-per-node=1 torchrun --standalone --nproc-per-node=4 train.py, to train on 4 nodes
    Wrong: #SBATCH --nodes=4 --ntasks-per-node=1 ... srun accelerate launch --config_file one_machine.yaml train.py
    Right: torchrun --nnodes=4 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=<first node>:29500 train.py
    Why:   four trainings of four ranks run beside each other, each on all the data, and overwrite each other's
           checkpoints. `maple check` shows torchrun's line for one world; at submission Maple only reports it, and
           not where tasks are told apart: an ensemble is made that way.
    """
    for step in plan.steps:
        link = step.links[-1] if step.links else None
        if link is None or link.name not in AGENTS or step.maybe or step.background or (step.nodes or 1) < 2:
            continue
        agent = AGENTS[link.name]
        option = link.option(agent.standalone) if agent.standalone else None
        if (option is None and not _each_alone(step)) or any(name in job.source for name in _APART):
            continue
        at: Optional[Span] = (option.span if option is not None else None) or link.name_span or step.span
        helps = "replace --standalone by --nnodes and one --rdzv-endpoint" if option is not None else agent.to_join
        says = "each of the %d nodes would train alone, in a world of its own" % (step.nodes or 0)
        fixes = _together(step, link, plan, job, site) if option is not None else ()
        yield Finding("MPL309", says, at, fixes=fixes, help="to train together, " + helps)


def _together(step: Step, link: Link, plan: LaunchPlan, job: Job, site: Site) -> Tuple[Fix, ...]:
    """One world of all nodes, that meets at the job's first one."""
    option = link.option("standalone")
    alone = drop(job.source, option, "MPL309") if option is not None else None
    fixes = []
    own = own_first_node(plan, step.span.start)
    for first in (*own, *first_node(site)):
        options = (("nnodes", b"%d" % (step.nodes or 0)), ("rdzv-backend", b"c10d"), ("rdzv-id", job_id(site)),
                ("rdzv-endpoint", first + b":29500" if first in own else b'"' + first + b':29500"'))  # fmt: skip
        edits = put(link, options, "MPL309")
        if edits is not None and alone is not None:
            fixes.append(Fix((*alone, *edits), Safety.ASK, "one world of %d nodes" % (step.nodes or 0)))
    return tuple(fixes)


def _each_alone(step: Step) -> bool:
    """Return whether each node of a step has one world, and all are alike: nothing tells the runs apart."""
    nodes = [{process.node for process in group.processes} for group in step.groups]
    if len(step.groups) != step.nodes or step.breaches or any(len(node) != 1 or None in node for node in nodes):
        return False
    return len(set().union(*nodes)) == len(nodes) and len({group.declared for group in step.groups}) == 1
