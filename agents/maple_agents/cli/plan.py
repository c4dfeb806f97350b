"""`maple plan`: which processes would start where.

A launch plan as a tree of words: step, launchers from outside in, world, nodes, ranks.
"""

from __future__ import annotations

from itertools import groupby
from typing import Iterable, Iterator, Optional, Sequence, Tuple

import click
from maple_submit_filter.answer.report import printable, report
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.launch_plan import Allocation, Group, LaunchPlan, Process, Step
from maple_submit_filter.types.text import show

from ..ask.submission import Answer, answer
from ..base import output
from ..base.complaint import Complaint
from ..base.output import Branch, draw, findings, say, width
from . import completion

MOST_RANKS = 16  # on one node; more are folded into one line
MOST_STEPS = 40


@click.command()
@click.argument("script", metavar="SCRIPT|-", shell_complete=completion.files)
@click.argument("words", nargs=-1, metavar="[-- WORDS... [-- ARGS...]]", type=click.UNPROCESSED)
@click.option(
    "--site",
    "site_id",
    metavar="ID|FILE",
    shell_complete=completion.site_or_file,
    help="Plan for this site, not for the one we are on.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON, with every process.")
def plan(script: str, words: Tuple[str, ...], site_id: Optional[str], as_json: bool) -> int:
    """Draw which processes a batch script would start: nodes, ranks, worlds, masters and GPUs.

    SCRIPT is a file, or - for standard input. WORDS stand before the script on the command line, and ARGS behind it;
    without the second -- these are not known. What is not known is drawn as ?, lines that could not be read are named,
    and what is proven wrong is told: the scheduler may refuse it.

    \b
    Examples:
      maple plan job.sh
      maple plan job.sh -- --nodes=16
      maple plan job.sh -- --nodes=16 -- train.py 8
      maple plan --json job.sh

    Exit code: 0 drawn, 2 usage, or the script cannot be read.
    """
    asked = answer(script, words, site_id)
    if as_json:
        from .answers import planned

        output.echo(planned(asked))
        return 0
    if asked.decision.plan is None:
        raise Complaint(f"{asked.name}: there is no plan: the script could not be read", "see maple check")
    draw(branches(asked.decision.plan, asked.name, asked.decision.findings))
    _beside(asked, asked.decision.plan)
    say([asked.on_site])
    return 0


def _beside(asked: Answer, drawn: LaunchPlan) -> None:
    """Print what is proven wrong and belongs to no launch line: the scheduler refuses the request, perhaps."""
    proven = [
        finding
        for finding in asked.decision.findings
        if finding.proven and not any(_inside(finding, step) for step in drawn.steps)
    ]
    findings(report(proven, asked.submission.script or b"", asked.name, width=width()))


def _inside(finding: Finding, step: Step) -> bool:
    return finding.at is not None and step.span.start <= finding.at.start < step.span.end


def branches(plan: LaunchPlan, name: str, findings: Sequence[Finding] = ()) -> Branch:
    """Return the tree of a plan, with what is wrong below its steps; nodes that do the same are told once."""
    starts = [step for at, step in enumerate(plan.steps) if not _is_told(step, plan.steps[:at])]
    steps = tuple(_step(step, findings) for step in starts[:MOST_STEPS])
    more = len(starts) - MOST_STEPS
    cut = (Branch("unread", f"and {more} more steps"),) if more > 0 else ()
    unread = tuple(Branch("unread", f"line {line}: not read: {printable(says)}") for line, says in plan.unread)
    none = () if steps or unread else (Branch("unread", "no launch line"),)
    return Branch("job", f"{printable(name)}: {_given(plan.allocation)}", steps + cut + none + unread)


def _is_told(step: Step, earlier: Sequence[Step]) -> bool:
    """Tell whether the worlds of a step stand with an earlier start of its line: a loop's starts make one world."""
    return not step.groups and not step.unknown and any(other.span == step.span and other.groups for other in earlier)


def _given(given: Allocation) -> str:
    """Return in words what the scheduler gives."""
    parts = [_count(given.nodes, "node")]
    if given.tasks is not None and given.node_file is None:  # of PBS it is the lines of the node file, and no tasks
        parts.append(_count(given.tasks, "task"))
    if given.gpus_per_node is not None:
        parts.append(f"{_count(given.gpus_per_node, 'GPU')} a node")
    if given.partition:
        parts.append(f"in {printable(given.partition)}")
    return ", ".join(parts)


def _step(step: Step, findings: Sequence[Finding]) -> Branch:
    words = [link.name for link in step.links] + ([show(b" ".join(step.program))] if step.program else [])
    label = f"line {step.line}: " + " ▸ ".join(printable(word) for word in words)
    if step.background:
        label += " &"
    if step.maybe:
        label += ", only if a condition holds"
    inside = (finding for finding in findings if _inside(finding, step))
    wrong = tuple(Branch("wrong", f"{finding.code} {printable(finding.says)}") for finding in inside)
    unread = tuple(Branch("unread", f"not known: {printable(what)}") for what in step.unknown)
    return Branch("step", label, tuple(_worlds(step.groups)) + wrong + unread)


def _worlds(groups: Sequence[Group]) -> Iterator[Branch]:
    """Yield the first of worlds that are alike in full, and the others of them as one line."""
    for _, run in groupby(groups, _likeness):
        first, *others = run
        yield _world(first)
        if len(others) == 1:
            yield _world(others[0])
        elif others:
            nodes = sorted(
                {process.node for group in others for process in group.processes if process.node is not None}
            )
            where = f", on node{'s' if len(nodes) > 1 else ''} {_ranges(nodes)}" if nodes else ""
            yield Branch("world", f"{len(others)} more worlds of {_number(first.world_size)}, alike{where}")


def _likeness(group: Group) -> Tuple[object, ...]:
    """Return what two worlds have in common that differ only in the place where they run."""
    master = None if group.master is None else _address(group.master, group.port)
    return group.world_size, group.declared, master, group.complete, _shape(group.processes)


def _world(group: Group) -> Branch:
    label = f"world of {_number(group.world_size)}"
    if group.declared is not None and group.declared != group.world_size:
        label += f", declared as {group.declared}"
    if group.master is not None:
        label += f", master {_address(group.master, group.port)}"
    below = tuple(_nodes(group.processes))
    if not group.complete:
        below += (Branch("unread", f"these are samples; {_count(group.nodes, 'node')} in all"),)
    return Branch("world", label, below)


def _nodes(processes: Sequence[Process]) -> Iterator[Branch]:
    """Yield the first node in full, and runs of further nodes that do the same as one line each."""
    by_node = [
        (node, tuple(ranks)) for node, ranks in groupby(sorted(processes, key=_by_node), lambda process: process.node)
    ]
    for node, ranks in by_node[:1]:
        yield Branch("node", f"node {_number(node)}: {_ranks(ranks)}", tuple(_each(ranks)))
    for shape, run in groupby(by_node[1:], lambda pair: _shape(pair[1])):
        alike = list(run)
        whole = tuple(process for _, ranks in alike for process in ranks)
        same = bool(by_node) and shape == _shape(by_node[0][1])
        numbers = _ranges(node for node, _ in alike)
        label = f"node{'s' if len(alike) > 1 else ''} {numbers}: {_ranks(whole)}" + (
            ", alike" if len(alike) > 1 else ""
        )
        yield Branch("node", label, () if same and len(by_node) > 2 else tuple(_each(alike[0][1])))


def _by_node(process: Process) -> Tuple[int, int]:
    return (-1 if process.node is None else process.node, process.task or 0)


def _shape(ranks: Sequence[Process]) -> Tuple[object, ...]:
    """Return what two nodes have in common when they do the same: all but the node, and where its ranks begin."""
    known = [process.rank for process in ranks if process.rank is not None]
    base, first = min(known, default=0), min((process.task for process in ranks if process.task is not None), default=0)
    return tuple(
        process._replace(
            node=None,
            task=None if process.task is None else process.task - first,
            rank=None if process.rank is None else process.rank - base,
        )
        for process in ranks
    )


def _ranks(processes: Sequence[Process]) -> str:
    known = [process.rank for process in processes if process.rank is not None]
    counted = _count(len(processes), "process", "processes")
    if len(known) < len(processes):
        meets = any(process.world_size is not None for process in processes)
        return f"{counted}, ranks settled at the rendezvous" if meets and not known else f"{counted}, ranks not known"
    repeated = ", some more than once" if len(set(known)) < len(known) else ""
    return f"{counted}, rank{'s' if len(set(known)) > 1 else ''} {_ranges(known)}{repeated}"


def _each(ranks: Sequence[Process]) -> Iterator[Branch]:
    """Yield the ranks of a node one by one; where several tasks start several each, the tasks."""
    tasks = [tuple(run) for _, run in groupby(ranks, lambda process: process.task)]
    if 1 < len(tasks) <= MOST_RANKS and len(ranks) > len(tasks):
        yield from (Branch("node", f"task {_number(run[0].task)}: {_ranks(run)}{_devices(run)}") for run in tasks)
    elif len(ranks) <= MOST_RANKS:
        yield from (_rank(process) for process in ranks)


def _devices(ranks: Sequence[Process]) -> str:
    """Return the devices that the ranks of one task take, as far as each takes one."""
    taken = [
        device
        for process in ranks
        if process.gpus is not None
        for device, kind in (_device(process),)
        if kind == "rank"
    ]
    if len(taken) < len(ranks) or not all(device.startswith("GPU ") for device in taken):
        return ""
    return ", GPUs " + ", ".join(device[len("GPU ") :] for device in taken)


def _rank(process: Process) -> Branch:
    words = [f"local {_number(process.local_rank)}"]
    if process.rank is not None or process.local_rank is None:
        words.insert(0, f"rank {_number(process.rank)}")
    kind = "rank"
    if process.gpus is not None:
        device, kind = _device(process)
        words.append(device)
    if process.cpus is not None:
        words.append(_count(process.cpus, "CPU"))
    return Branch(kind, ", ".join(words))


def _device(process: Process) -> Tuple[str, str]:
    """Return the device that a process takes, or those it sees, and "wrong" where it finds none."""
    gpus = [printable(show(gpu)) for gpu in process.gpus or ()]
    if process.binds_gpu and process.local_rank is not None:
        if process.local_rank < len(gpus):
            return f"GPU {gpus[process.local_rank]}", "rank"
        return f"no GPU left (sees {', '.join(gpus) or 'none'})", "wrong"
    return ("sees GPU " if len(gpus) == 1 else "sees GPUs ") + ", ".join(gpus) if gpus else "sees no GPU", "rank"


def _address(master: bytes, port: Optional[bytes]) -> str:
    return printable(show(master) + (":" + show(port) if port is not None else ""))


def _number(value: Optional[int]) -> str:
    return "?" if value is None else str(value)


def _count(value: Optional[int], single: str, many: str = "") -> str:
    return f"{_number(value)} {single if value == 1 else many or single + 's'}"


def _ranges(values: Iterable[Optional[int]]) -> str:
    """Return whole numbers as "0-3, 8": sorted, each once."""
    numbers = sorted({-1 if value is None else value for value in values})
    runs = (list(run) for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]))
    ends = ((run[0][1], run[-1][1]) for run in runs)
    return ", ".join("?" if low < 0 else str(low) if low == high else f"{low}-{high}" for low, high in ends)
