"""A step cannot have more than the job."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...cures.launch_edits import change, drop
from ...launchers import horovodrun
from ...launchers.deepspeed import REFUSED, TWICE
from ...plan import breach_kinds
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule
from ..limits import gpu_count

_OF_HOSTS = {
    REFUSED: "write a line for each node: its name, a blank, and slots=N with the number of its GPUs",
    TWICE: "name each host once, with the number of its GPUs as slots: sort -u leaves one of several equal lines",
    horovodrun.REFUSED: "name each host with the number of its GPUs behind a colon: node1:4,node2:4",
}


@rule("MPL310", "the launcher would refuse to start this step")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """srun shares out what sbatch was given, and reads numbers.

    Wrong: #SBATCH --nodes=2 ... srun --nodes=4 python train.py
    Wrong: srun -np 4 python train.py (mpirun's way: srun reads -n p)
    Wrong: mpirun --ntasks=4 python train.py (srun's way: no mpirun has that option)
    Wrong: scontrol show hostnames > hosts; srun deepspeed --hostfile=hosts --no_ssh ... (without slots=N on each line)
    Wrong: mpiexec -n 8 --ppn 4 -bind-to core python train.py (Hydra's way, where the mpiexec is that of PALS)
    Right: srun --nodes=2 python train.py
    Why:   Slurm 22.05 says: srun: error: Only allocated 2 nodes asked for 4. Maple asks first, and only where the
           number of tasks stands elsewhere: then as many ranks run on the job's nodes. Otherwise either number may
           be meant, and each gives another number of ranks. Not checked: an mpirun that a module, conda, spack, an
           environment, a PATH or an image of your own may have brought.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.REFUSED and step.links:
                yield _finding(step, breach, plan, job)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    option = step.links[0].option("nodes")
    wanted = breach.numbers.get("nodes")
    nodes = plan.allocation.nodes if wanted and _tasks_are_said(step, job) else None
    nodes = nodes if nodes and _has_room(step, nodes, plan) else None
    edits = change(option, b"%d" % nodes, "MPL310") if nodes else None
    fixes = (
        (Fix(tuple(edits), Safety.ASK, "run the step on all nodes of the job"),)
        if edits
        else _without(step, breach, job)
    )
    at = (option.value_span if option is not None else None) or step.span
    says = breach.names[0].decode()
    if says in (REFUSED, horovodrun.REFUSED):
        fixes = fixes or (_slots if says == REFUSED else _slots_of_list)(step, plan, job)
    return Finding("MPL310", says, at, True, fixes=fixes, help=_OF_HOSTS.get(says) or _help(wanted, plan))


def _help(wanted: Optional[int], plan: LaunchPlan) -> str:
    if not wanted or not plan.allocation.nodes:
        return "see what the launcher accepts: its --help"
    return "request %d nodes for the job, or %d for the step; the number of ranks follows" % (
        wanted, plan.allocation.nodes,
    )  # fmt: skip


def _tasks_are_said(step: Step, job: Job) -> bool:
    """Return whether the step has as many tasks on any number of nodes: its line or the job says how many."""
    counted = step.links[0].option("ntasks") is not None
    return counted or any(name in job.settings for name in ("ntasks", "ntasks-per-node"))


def _has_room(step: Step, nodes: int, plan: LaunchPlan) -> bool:
    """Return whether so few nodes have the CPUs and GPUs that the step's tasks ask for, as far as that is known."""
    kinds, each = plan.allocation.node_kinds, -(-(step.tasks or 0) // nodes)
    cpus, gpus = (_count(step, name) for name in ("cpus-per-task", "gpus-per-task"))
    cores = max(((node_kind.cores or 0) * (node_kind.threads_per_core or 1) for node_kind in kinds), default=0)
    devices = plan.allocation.gpus_per_node or max((node_kind.gpus or 0 for node_kind in kinds), default=0)
    return (not cores or each * max(cpus, 1) <= cores) and (not devices or each * gpus <= devices)


def _count(step: Step, name: str) -> int:
    option = step.links[0].option(name)
    raw = option.value.raw if option is not None and option.value is not None else b""
    return int(raw) if raw.isdigit() else 0


_PER_NODE = re.compile(rb"ppr:(\d{1,5}):node")
_NOTHING_HERE = ("bind-to", "oversubscribe", "report-bindings", "mca", "rank-by", "nooversubscribe")


def _in_its_words(step: Step, breach: Breach, job: Job) -> Optional[Fix]:
    """Say what Open MPI's options say in the words of PALS or Hydra: ranks a node, and variables that are passed on."""
    link = step.links[0]
    if b"an option of Open MPI" not in breach.names[0] and b"oversubscribe" not in breach.names[0]:
        return None
    edits: List[Edit] = []
    for given in link.options:
        value = given.value.raw if given.value is not None else b""
        ranks = _PER_NODE.match(value) if given.name == "map-by" else None
        if given.name in ("npernode", "N") and value.isdigit():
            ranks = re.match(rb"(\d+)", value)
        if given.span is None and (ranks or given.name in ("x", *_NOTHING_HERE)):
            return None
        if ranks is not None and given.span is not None:
            edits.append(Edit(given.span, b"-ppn " + ranks.group(1), "MPL310"))
        elif given.name == "x" and b"=" in value and given.span is not None:
            edits.append(
                Edit(given.span, b"-env " + job.source[given.span.start : given.span.end].split(None, 1)[-1], "MPL310")
            )
        elif given.name in ("x", "map-by", *_NOTHING_HERE):
            edits += drop(job.source, given, "MPL310") or []
    passed = any(option.name == "x" for option in link.options) and link.option("envall") is None
    if passed and link.options_at is not None:
        edits.append(Edit(Span(link.options_at, link.options_at), b" -envall", "MPL310"))
    return Fix(tuple(edits), Safety.ASK, "say it in the words of this mpiexec") if edits else None


def _slots(step: Step, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Write slots behind each name where the script itself makes the host file of all nodes, or make such a file."""
    option = step.links[-1].option("hostfile")
    span, number = option.value_span if option is not None else None, _gpus(plan, job)
    if span is None or not number:
        return ()
    says, slots = "slots=%d for each node" % number, b"sed 's/$/ slots=%d/'" % number
    if job.source[span.start : span.end].strip(b"\"'{}$") == b"PBS_NODEFILE" and step.span.start < span.start:
        made = slots + b' "$PBS_NODEFILE" > hostfile.$PBS_JOBID; '
        edits = (
            Edit(Span(step.span.start, step.span.start), made, "MPL310"),
            Edit(span, b"hostfile.$PBS_JOBID", "MPL310"),
        )
        return (Fix(edits, Safety.ASK, says),)
    at = _written_at(span, plan, job.source)
    return (Fix((Edit(Span(at, at), b" | " + slots, "MPL310"),), Safety.SAFE, says),) if at is not None else ()


_HOSTS = re.compile(rb"(?<=\s)(?:-H|--hosts)[ \t=]+(\"[^\"\n]*\"|[^\s\"']+)")
_JOINED = re.compile(rb"[ \t]*\|[ \t]*(?:paste\b|tr\b|xargs\b|sed\b)")


def _slots_of_list(step: Step, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Write the slots behind each name of a list of hosts, where it is joined, or for the whole list on the line."""
    match, number = _HOSTS.search(job.source, step.span.start, step.span.end), _gpus(plan, job)
    if match is None or not number:
        return ()
    span, says, slots = Span(*match.span(1)), "%d slots for each node" % number, b"sed 's/$/:%d/'" % number
    for place in (span, *_assigned_for(span, plan, job.source)):
        joined = _JOINED.search(job.source, place.start, place.end)
        if joined is not None:
            edit = Edit(Span(joined.start(), joined.start()), b" | " + slots, "MPL310")
            return (Fix((edit,), Safety.SAFE, says),)
    nodes = b'sort -u "$PBS_NODEFILE"' if is_pbs(job) else b'scontrol show hostnames "$SLURM_JOB_NODELIST"'
    made = Edit(span, b'"$(%s | %s | paste -sd,)"' % (nodes, slots), "MPL310")
    return (Fix((made,), Safety.ASK, says),)


def _assigned_for(span: Span, plan: LaunchPlan, source: bytes) -> Tuple[Span, ...]:
    """Return where the variable is set that a value is."""
    name = source[span.start : span.end].strip(b"\"'{}$")
    return plan.assigned.get(name, ()) if len(plan.assigned.get(name, ())) == 1 else ()


def _gpus(plan: LaunchPlan, job: Job) -> Optional[int]:
    """Return how many GPUs the job has on each node, None where that is not known."""
    counts = {kind.gpus for kind in plan.allocation.node_kinds}
    asked = (plan.allocation.gpus_per_node, *(gpu_count(job.settings, name) for name in ("gpus-per-node", "gres")))
    return next((count for count in asked if count), counts.pop() if len(counts) == 1 else None)


def _written_at(span: Span, plan: LaunchPlan, source: bytes) -> Optional[int]:
    """Return where what writes all nodes into the file named at *span* ends, None where it writes slots."""
    names = [source[span.start : span.end].strip(b"\"'")]
    for name, places in plan.assigned.items():
        if any(place.start <= span.start < place.end for place in places):
            names += [b"$" + name, b"${" + name + b"}"]
    lists = rb"(?m)^[^#\n]*\b(?:scontrol show hostnames?|PBS_NODEFILE|SLURM_JOB_NODELIST)\b[^\n>]*?"
    target = rb"(?=[ \t]*>[ \t]*[\"']?(?:%s)[\"']?[ \t]*$)" % rb"|".join(map(re.escape, names))
    match = re.search(lists + target, source)
    return match.end() if match is not None and b"slots" not in match.group() else None


def _without(step: Step, breach: Breach, job: Job) -> Tuple[Fix, ...]:
    """Leave out the option that this launcher does not take; what it was there for may need another."""
    translated = _in_its_words(step, breach, job)
    if translated is not None:
        return (translated,)
    named = [option for option in step.links[-1].options if b" %s, which is" % option.spelling in breach.names[0]]
    edits = drop(job.source, named[0], "MPL310") if named else None
    if not edits:
        return ()
    return (Fix(tuple(edits), Safety.ASK, "leave out %s" % named[0].spelling.decode("ascii", "replace")),)
