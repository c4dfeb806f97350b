"""The launcher must wait for as many nodes as there are."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from ...cures.background import side_by_side
from ...cures.host_loops import on_its_host
from ...cures.launch_edits import change_setting, counted_hosts, put
from ...launchers.registry import AGENTS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Step
from ...types.text import number
from .. import rule
from ..program_text import in_called_file

_OPTION = {name: agent.nodes for name, agent in AGENTS.items() if not agent.hosts_by_file}


@rule("MPL303", "the launcher waits for a different number of nodes than start")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """--nnodes tells each node's agent how many agents to expect; it must be the number that the job starts.

    Wrong: #SBATCH --nodes=2 ... srun torchrun --nnodes=4 ... train.py
    Right: #SBATCH --nodes=2 ... srun torchrun --nnodes=$SLURM_NNODES ... train.py
    Why:   with too few the agents wait for the rest until a time limit of ten minutes; with too many, those who come
           late are turned away. Maple asks before it changes a number that you typed, because it makes the global
           batch size; unasked it follows a command line that asks for other nodes than the directive.
           A loop that starts one node after the other starts them side by side, and waits.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.AGENTS and not _is_other_rule(breach, step, plan):
                yield _finding(step, breach, plan, job)


def _is_other_rule(breach: Breach, step: Step, plan: LaunchPlan) -> bool:
    """MPL301 speaks of several on a node, MPL302 of a line that only the first node runs."""
    first_only = not breach.numbers.get("fanned") and breach.numbers["agents"] == 1 and not step.background
    several = (plan.allocation.nodes or 0) > 1
    return (breach.numbers.get("most on a node") or 1) > 1 or (first_only and several)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    link = step.links[-1]
    started, wanted = breach.numbers["agents"], breach.numbers["nnodes"]
    says = "%s waits for %s, but starts on %s" % (link.name, counted(wanted, "node"), started)
    option = link.option(_OPTION.get(link.name, "nnodes"))
    at = (option.value_span or option.span if option is not None else None) or link.name_span
    hosts = counted_hosts(plan, job.source, "MPL303") if b"PBS_NODEFILE" in job.source else []
    if hosts:
        fix = Fix(tuple(hosts), Safety.SAFE, "count the hosts, not the lines of the node file")
        return Finding("MPL303", says, at, True, fixes=(fix,), help="each host may stand there several times")
    apart = on_its_host(step, plan, job.source, "MPL303")
    if apart:
        return Finding("MPL303", says, at, True, fixes=apart, help="start each round on its own host")
    fixes = tuple(_in_turn(step, wanted, plan, job))
    if step.links[0].name in ("ssh", "pbs_tmrsh"):
        advice = "start it on every node, each in the background (&), and end with: wait"
        return Finding("MPL303", says, at, True, fixes=fixes, help=advice)
    fixes += tuple(_fixes(step, link, started, wanted, plan, job))
    there = in_called_file(plan, job, option, b"%d" % started) if started else ()
    return Finding("MPL303", says, at, True, fixes=fixes, elsewhere=there,
                   help="set the node count of the launcher to that of the job")  # fmt: skip


def _in_turn(step: Step, wanted: Optional[int], plan: LaunchPlan, job: Job) -> Iterator[Fix]:
    """Yield the fix for a loop that starts all, but each only when the one before it has ended."""
    turns = [other for other in plan.steps if other.span == step.span]
    if len(turns) == wanted != 1 and not any(other.background for other in turns):
        edits = side_by_side(step, job.source, "MPL303")
        if edits:
            yield Fix(tuple(edits), Safety.SAFE, "start all of them side by side, and wait")


def _fixes(
    step: Step, link: Link, started: Optional[int], wanted: Optional[int], plan: LaunchPlan, job: Job
) -> Iterator[Fix]:
    from ...cures.counts import Counts, changed  # few submissions need it

    name = _OPTION.get(link.name)
    if name is None or started is None or wanted is None:
        return
    option = link.option(name)
    typed = option is not None and option.value is not None and option.value.span() is not None
    if link is not step.links[0] and step.links[0].name == "srun" and wanted == plan.allocation.nodes:
        all_nodes = [("ntasks", b"%d" % wanted), ("ntasks-per-node", b"1")]
        if step.links[0].option("nodes") is not None:
            all_nodes.append(("nodes", b"%d" % wanted))
        edits = put(step.links[0], all_nodes, "MPL303")
        if edits:
            yield Fix(tuple(edits), Safety.SAFE, "one task on each of the %d nodes of the job" % wanted)
    spelled = AGENTS[link.name].spelled(name)
    edits = put(link, [(spelled, b"%d" % started)], "MPL303")
    if edits and started <= (plan.allocation.nodes or started):
        # Nobody typed the number, and each GPU that was asked for gets its rank: no other world would fit the job.
        # Where there is no number at all, each node may have been meant to train for itself.
        fits = option is not None and not typed and step.workers_per_task in (None, plan.allocation.gpus_per_node)
        safety, says = Safety.SAFE if fits else Safety.ASK, "set --%s=%d" % (spelled, started)
        total = link.option("num-processes")
        each = (number(total.value) or 0) // wanted if total is not None and typed and wanted else 0
        both = (
            changed(
                Counts(each, wanted, each * wanted), Counts(each, started, each * started), plan, job, "MPL303", link
            )
            if each
            else None
        )
        yield both.fix(Safety.ASK, says) if both is not None else Fix(tuple(edits), safety, says)
    for edits, says in _more_nodes(step, wanted, plan, job):
        yield Fix(tuple(edits), Safety.ASK, says)


def _more_nodes(step: Step, wanted: int, plan: LaunchPlan, job: Job) -> List[Tuple[list, str]]:  # type: ignore[type-arg]
    """The other way round: the job gets the nodes that the launcher waits for."""
    if len(plan.steps) != 1 or not step.links or step.links[0].option("nodes", "ntasks"):
        return []
    edits = change_setting(job.settings.get("nodes"), b"%d" % wanted, "MPL303")
    tasks = job.settings.get("ntasks")
    if edits and tasks is not None:
        more = change_setting(tasks, b"%d" % wanted, "MPL303")
        edits = edits + more if more else None
    return [(edits, "request %s for the job" % counted(wanted, "node"))] if edits else []
