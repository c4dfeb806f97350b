"""Every rank that takes a GPU needs one."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Set, Tuple

from ...cures.hosts import on_all_hosts
from ...cures.launch_edits import change
from ...cures.option_edits import at, restate
from ...launchers.devices import mask_of
from ...launchers.rank_words import rank_words
from ...launchers.registry import AGENTS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import FileLine, Finding, counted
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Option, Step, device_numbers
from ...types.text import number
from .. import rule
from ..limits import gpu_count
from ..program_text import files_read, in_called_file, line_of_file

_OPTION = {name: agent.ranks for name, agent in AGENTS.items()}


@rule("MPL203", "more ranks than GPUs on a node")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Every rank of a training step wants a GPU of its own.

    Wrong: torchrun --nproc-per-node=8, on nodes with 4 GPUs
    Wrong: #SBATCH --nodes=2 --gpus=4 ... srun torchrun --nnodes=2 --nproc-per-node=4 (--gpus is the job's total)
    Right: torchrun --nproc-per-node=4
    Why:   local rank 4 asks for a device that is not there. Maple asks first: fewer ranks change the global batch
           size. Unasked it only restates a --gpus that is one node's worth, where as many ranks start on each node of
           several: whole nodes give no more than that.
    """
    proven = any(breach.kind == breach_kinds.GPUS_NODE for step in plan.steps for breach in step.breaches)
    yield from _slots(plan, job) if b"slots=" in job.source and b"deepspeed" in job.source and not proven else ()
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.GPUS_NODE or (
                breach.kind == breach_kinds.GPUS_VISIBLE and not _hidden(plan)
            ):
                yield _finding(step, breach, plan, job)
            if breach.kind in (breach_kinds.GPUS_JOB, breach_kinds.GPUS_ASKED):
                yield _of_job(step, breach, plan, job)
            if breach.kind == breach_kinds.LOCAL_RANK_BEYOND:
                yield _by_local_rank(step, breach, plan, job, site)
            if breach.kind == breach_kinds.GPUS_FEWER:
                yield _fewer_seen(step, breach, plan, job)


def _slots(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """deepspeed starts a worker for each slot of a host file."""
    counts = [kind.gpus for kind in plan.allocation.node_kinds]
    most = max((count for count in counts if count), default=0) if None not in counts else 0
    most = most or plan.allocation.gpus_per_node or gpu_count(job.settings, "gres") or 0
    most = most or gpu_count(job.settings, "gpus-per-node") or 0
    read = {_bare(word) for word in re.findall(rb"--hostfile[= ]+(\S+)", job.source)}
    for match in re.finditer(rb"(?m)^[^#\n]*\bslots=(\d{1,3})\b[^\n]*", job.source) if most else ():
        if int(match.group(1)) > most and _is_read(match.group(0), read):
            span = Span(*match.span(1))
            fix = Fix((Edit(span, b"%d" % most, "MPL203"),), Safety.ASK, "slots=%d" % most)
            yield Finding("MPL203", "%d slots on each node, which has %s" % (int(match.group(1)), counted(most, "GPU")),
                          span, fixes=(fix,), help="deepspeed starts a worker for each slot")  # fmt: skip


def _is_read(line: bytes, read: Set[bytes]) -> bool:
    """Return whether a host file that is written there may be one that a launcher reads: one of another job is not."""
    target = re.search(rb">>?\s*(\S+)\s*$", line)
    return not read or target is None or _bare(target.group(1)) in read


def _bare(word: bytes) -> bytes:
    """Return a word as two spellings of it are alike: `"${HOSTFILE}"`, `$HOSTFILE`."""
    return re.sub(rb"[\"'{}]", b"", word)


def _of_job(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    """`--gpus` is the total of the job (sbatch(1)), and is often read as that of a node."""
    workers, agents, total = (breach.numbers[name] or 0 for name in ("workers", "agents", "all"))
    says = "%d ranks start, but the job has requested %d GPU%s in all" % (workers * agents, total, "s"[: total != 1])
    together = breach.numbers.get("together") or 1
    if together > 1 and total:
        says = "%d times %s starts on a node: %d ranks on the %d GPUs that it was asked for" % (
            together, step.links[-1].name, together * workers, total * together // agents)  # fmt: skip
        return Finding("MPL203", says, step.span, fixes=_one_line_a_node(job, together),
                       help="start it once on each node: a node file may name a node often")  # fmt: skip
    need = "--gpus counts the whole job: request --gpus=%d, or --gpus-per-node=%d, or start fewer ranks"
    if "gpus" not in job.settings:
        own = _more_on_a_node(job, workers * agents // max(step.nodes or 1, 1))
        return Finding("MPL203", says, step.span, fixes=own, help="request a GPU for each rank, or start fewer ranks")
    sure = breach.kind == breach_kinds.GPUS_JOB  # a node of one's own may bring all its GPUs
    fix = _as_many(job, workers * agents)
    if fix is not None:
        fix = fix._replace(harmless=_a_nodes_worth(total, workers, agents, step, plan))
    return Finding("MPL203", says, at(job.settings.get("gpus")), sure, fixes=(fix,) if fix is not None else (),
                   help=need % (workers * agents, workers))  # fmt: skip


def _a_nodes_worth(total: int, workers: int, agents: int, step: Step, plan: LaunchPlan) -> bool:
    """Return whether the total is what the ranks of one node need, and as many start on each of the job's nodes.

    Where these have found their GPUs all the same, whole nodes were given, and have them when they are asked for.
    """
    return total == workers and agents == step.nodes == plan.allocation.nodes


def _one_line_a_node(job: Job, lines: int) -> Tuple[Fix, ...]:
    """Have PBS name each node once in the node file: it has a line for each of `mpiprocs` (pbs_resources(7))."""
    setting = job.settings.get("select")
    count = re.compile(rb"\bmpiprocs=%d\b" % lines)
    if setting is None or len(count.findall(setting.value)) != 1:
        return ()
    made = restate(job, setting, count.sub(b"mpiprocs=1", setting.value), "MPL203")
    return (made.fix(Safety.ASK, "mpiprocs=1, so that the node file has one line a node"),) if made is not None else ()


def _as_many(job: Job, ranks: int) -> Optional[Fix]:
    """Request a GPU for each rank, of the type that was said."""
    setting = job.settings.get("gpus")
    head, colon, last = setting.value.rpartition(b":") if setting is not None else (b"", b"", b"")
    if setting is None or not last.isdigit() or b"," in setting.value:
        return None
    value = head + colon + b"%d" % ranks
    made = restate(job, setting, value, "MPL203")
    return made.fix(Safety.ASK, "--gpus=" + value.decode("utf-8", "replace")) if made is not None else None


def _more_on_a_node(job: Job, wanted: int) -> Tuple[Fix, ...]:
    """Request so many GPUs on each node, where a number of them is said for a node or a chunk."""
    for name in ("gpus-per-node", "gres", "gpus-per-task", "ngpus", "select"):
        setting = job.settings.get(name)
        if setting is None:
            continue
        value = (
            re.sub(
                rb"(ngpus=|gpu:(?:[\w.-]+:)?|^(?:[a-zA-Z][\w-]*:)?)\d+(?=$|[:+,(])", rb"\g<1>%d" % wanted, setting.value
            )
            if name != "select"
            else re.sub(rb"(ngpus=)\d+", rb"\g<1>%d" % wanted, setting.value)
        )
        made = restate(job, setting, value, "MPL203") if wanted and value != setting.value else None
        if made is not None:
            return (made.fix(Safety.ASK, "request %s per node" % counted(wanted, "GPU")),)
    return ()


def _local_words(plan: LaunchPlan, step: Step, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Take the launcher's local rank where the script takes its rank for LOCAL_RANK."""
    words = rank_words(step.links[:1], site, job.source)
    if words is None or not words.local:
        return ()
    for span in plan.assigned.get(b"LOCAL_RANK", ()):
        at = job.source.find(words.rank, span.start, span.end)
        if at >= 0:
            edit = Edit(Span(at, at + len(words.rank)), words.local, "MPL203")
            # not harmless: what LOCAL_RANK 0 does alone, one process of each node then does
            return (Fix((edit,), Safety.ASK, "LOCAL_RANK=$%s" % words.local.decode()),)
    return ()


def _by_local_rank(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    """A program that is given its local rank takes the GPU of that number by convention, and by nothing else."""
    says = "local ranks up to %d, but the nodes it may run on have %s" % (
        (breach.numbers["workers"] or 1) - 1, counted(breach.numbers["node"], "GPU"))  # fmt: skip
    fixes = _local_words(plan, step, job, site) or _fewer_on_each(step, breach, plan, job)
    return Finding("MPL203", says, step.span, fixes=fixes, help="start at most one rank per GPU")


def _fewer_on_each(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Start a rank for each GPU of a node: fewer in all, or as many on more nodes."""
    from ...cures.counts import fewer_on_a_node  # few submissions need it

    workers, gpus = breach.numbers["workers"] or 0, breach.numbers["node"] or 0
    says = "start %s per node" % counted(gpus, "rank")
    return tuple(fewer_on_a_node(workers, gpus, plan, job, "MPL203", says)) if gpus and step.nodes else ()


def _as_seen(step: Step, workers: int, seen: int, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Start a rank for each device, where so many ranks a node are said for the launcher."""
    from ...cures.counts import fewer_on_a_node  # few submissions need it

    says = "start %s per node" % counted(seen, "rank")
    fixes = tuple(fewer_on_a_node(workers, seen, plan, job, "MPL203", says)) if seen and step.nodes else ()
    option = step.links[0].option("ppn", "npernode", "N") if step.links else None
    edits = change(option, b"%d" % seen, "MPL203") if not fixes and number(option.value if option else None) else None
    return fixes or ((Fix(tuple(edits), Safety.ASK, says),) if edits else ())


def _unhidden(plan: LaunchPlan, job: Job, workers: int) -> Tuple[Fix, ...]:
    """Show the ranks of a node a device each, where the script hides all but fewer."""
    counts = {kind.gpus for kind in plan.allocation.node_kinds}
    spans = plan.assigned.get(mask_of(plan.allocation.node_kinds), ())
    if len(spans) != 1 or not all(count and count >= workers for count in counts):
        return ()
    name, _, value = job.source[spans[0].start : spans[0].end].partition(b"=")
    if not re.fullmatch(rb"[\"']?[\d,]+[\"']?", value):
        return ()
    new = name + b"=" + b",".join(device_numbers(workers))
    return (Fix((Edit(spans[0], new, "MPL203"),), Safety.ASK, new.decode()),)


def _fewer_seen(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    """Ranks that share a device are no mistake of every program: NCCL alone refuses them."""
    workers, seen = (breach.numbers[name] or 0 for name in ("workers", "visible"))
    says = "%d ranks run on each node, and see %d GPU%s there" % (workers, seen, "s"[: seen != 1])
    fixes = _unhidden(plan, job, workers) or on_all_hosts(step, plan, job.source, "MPL203")
    fixes = fixes or _more_on_a_node(job, workers) or _as_seen(step, workers, seen, plan, job)
    return Finding("MPL203", says, step.span, fixes=fixes, help="request a GPU for each rank, or start fewer ranks")


def _hidden(plan: LaunchPlan) -> bool:
    """MPL401 speaks of devices that the script itself hides."""
    return mask_of(plan.allocation.node_kinds) in plan.assigned


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    from ...cures.counts import fewer_on_a_node  # few submissions need it

    workers = breach.numbers["workers"]
    most = breach.numbers["node"] if breach.kind == breach_kinds.GPUS_NODE else breach.numbers["visible"]
    where = "the nodes it may run on have" if breach.kind == breach_kinds.GPUS_NODE else "the job has requested"
    says = "%s ranks per node, but %s %s" % (workers, where, counted(most, "GPU"))
    link = step.links[-1]
    option = link.option(_OPTION[link.name]) if link.name in _OPTION else None
    at = (option.value_span or option.span if option is not None else None) or link.name_span
    fix = _fewer(step, option, most or 0) or _fewer_slots(link, workers or 0, most or 0, job.source)
    fixes = tuple(fewer_on_a_node(workers or 0, most or 0, plan, job, "MPL203", fix.says)) if fix else ()
    if fix and breach.kind == breach_kinds.GPUS_VISIBLE:
        more = _more_on_a_node(job, workers or 0)
        alone = "gpus-per-task" in job.settings and step.tasks_per_node == 1  # the one task starts all ranks
        fixes = (*more, *(fixes or (fix,))) if alone else (*(fixes or (fix,)), *more)
    there = in_called_file(plan, job, option, b"%d" % _count(step, option, most or 0)) if most else ()
    masked = _masked_elsewhere(plan, job, workers or 0) if breach.kind == breach_kinds.GPUS_VISIBLE else ()
    shown = _shown(step, plan, workers or 0) if masked else ()
    fixes = shown or fixes
    return Finding("MPL203", says, at, True, fixes=fixes or ((fix,) if fix else ()), elsewhere=masked or there,
                   help="set --%s=%s if you want fewer ranks" % (_OPTION.get(link.name, ""), most))  # fmt: skip


def _masked_elsewhere(plan: LaunchPlan, job: Job, workers: int) -> Tuple[FileLine, ...]:
    """Return the line of a file beside the script that hides GPUs which the job asks for."""
    asked = gpu_count(job.settings, "gpus-per-node") or gpu_count(job.settings, "gres") or 0
    mask = mask_of(plan.allocation.node_kinds)
    every = b",".join(device_numbers(workers))
    for file, text in files_read(plan, job) if asked >= workers > 1 else ():
        match = re.search(rb"(?m)^[ \t]*(?:export[ \t]+)?%s=[\"']?([\d,]+)[\"']?(?=\s|$)" % mask, text)
        if match is not None:
            return (line_of_file(file, text, Span(*match.span(1)), every),)
    return ()


def _shown(step: Step, plan: LaunchPlan, workers: int) -> Tuple[Fix, ...]:
    """Show the launcher all GPUs on its own line, whatever a file has said before; those of a whole node alone.

    Of a part of a node others may have the first ones, where nothing confines a job to its devices.
    """
    if any(kind.gpus != workers for kind in plan.allocation.node_kinds) or not plan.allocation.node_kinds:
        return ()
    words = b"%s=%s " % (mask_of(plan.allocation.node_kinds), b",".join(device_numbers(workers)))
    edit = Edit(Span(step.span.start, step.span.start), words, "MPL203")
    return (
        (Fix((edit,), Safety.ASK, "show it every GPU: %s" % words.decode().strip()),)
        if step.links[:1] == step.links[-1:]
        else ()
    )


def _count(step: Step, option: Optional[Option], most: int) -> int:
    """Return what the option says where so many ranks start on each node."""
    return most * (step.nodes or 1) if option is not None and option.name == "num-processes" else most


def _fewer_slots(link: Link, workers: int, most: int, source: bytes) -> Optional[Fix]:
    """Write fewer slots of each host where the script makes the host file."""
    if link.option("hostfile") is None or not most:
        return None
    places = [Span(*match.span(1)) for match in re.finditer(rb"\bslots=(%d)(?!\d)" % workers, source)]
    edits = tuple(Edit(place, b"%d" % most, "MPL203") for place in places)
    return Fix(edits, Safety.ASK, "slots=%d for each node" % most) if edits else None


def _fewer(step: Step, option: Optional[Option], most: int) -> Optional[Fix]:
    count = _count(step, option, most)
    edits = change(option, b"%d" % count, "MPL203") if count else None
    return Fix(tuple(edits), Safety.ASK, "start %s per node" % counted(most, "rank")) if edits else None
