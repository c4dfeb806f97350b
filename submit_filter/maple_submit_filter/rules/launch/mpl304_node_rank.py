"""Every node must know which one it is."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...cures.launch_edits import Edits, change, in_task, put, task_value
from ...launchers.rank_words import job_id, rank_words
from ...launchers.registry import AGENTS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Option, Step
from .. import rule
from ..program_text import option_in_called_file

EACH = "each node gets its own node rank"
MET = "use the c10d rendezvous, which assigns the node ranks"


@rule("MPL304", "every node is told the same node rank")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """With a static rendezvous each node's launcher must be given a node rank of its own, 0 up to N-1.

    Wrong: srun torchrun --nnodes=2 --node-rank=$SLURM_NODEID --master-addr=... train.py
    Right: srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
    Right: srun bash -c 'exec torchrun --node-rank="$SLURM_NODEID" "$@"' bash --nnodes=2 --master-addr=... train.py
    Why:   outside single quotes the batch shell writes its own value, 0, into the line before srun sees it, and every
           node takes itself for the first. With c10d (--rdzv-backend) node ranks are given out by the rendezvous: that
           is written where the script reads the number of a node nowhere else.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.NODE_RANK and step.links:
                yield _finding(step, breach, plan, job, site)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    link = step.links[-1]
    option = link.option(AGENTS[link.name].node_rank)
    rank = breach.numbers.get("node rank")
    if option is None:
        says = "%s is given no node rank, so every node believes it is node 0" % link.name
    else:
        says = (
            "every node gets the same node rank, %s" % rank
            if rank is not None
            else "several nodes get the same node rank"
        )
        value = option.value.raw if option.value is not None else b""
        where = option.span
        own = where is not None and b"LOCALID" in job.source[where.start : where.end]
        if value == b"0" and option.value is not None and option.value.span() is None and not own:
            says += ": the batch shell expands the variable before the tasks start"
    at = (option.span if option is not None else None) or link.name_span
    fixes = tuple(_fixes(step, link, job, site))
    words = rank_words(step.links, site, job.source) if not fixes else None
    return Finding(
        "MPL304",
        says,
        at,
        True,
        fixes=fixes,
        elsewhere=option_in_called_file(plan, job, option, b"$" + words.node) if words is not None else (),
        help="let each task expand the variable itself",
    )


def own_node_rank(step: Step, link: Link, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Return ways to have each task say its own node rank."""
    return tuple(_fixes(step, link, job, site))


def _fixes(step: Step, link: Link, job: Job, site: Site) -> Iterator[Fix]:
    words = rank_words(step.links, site, job.source)
    for edits in _ways(step, link, words.node, job) if words is not None else ():
        if edits:
            yield Fix(tuple(edits), Safety.SAFE, EACH)
    static = link.option("rdzv-backend")
    if link.name == "accelerate" and static is not None and static.value is not None and static.value.raw == b"static":
        met_there = change(static, b"c10d", "MPL304")
        if met_there:
            yield Fix(tuple(met_there), Safety.SAFE, MET)
    counts = _order_counts(step, link, job.source)
    if link.name == "accelerate" and static is None and not counts and link.option("same-network") is None:
        met_there = _met_by_accelerate(link)
        if met_there:
            yield Fix(tuple(met_there), Safety.SAFE, MET)
    met = (None if counts else _plainly(step, link, site, job.source)) or _by_meeting(link, job.source)
    if met:
        # Where the order of the nodes counts, it is the last resort, and no plainer way to say the same.
        says = EACH if counts else MET
        yield Fix(tuple(met), Safety.SAFE, says)


def _ways(step: Step, link: Link, variable: bytes, job: Job) -> List[Edits]:
    """Return the likeliest way first, for each costs a play of the script.

    Where the batch shell reads the option itself, only a shell of the task's own can expand it later. In a text for
    another shell the value alone is changed.
    """
    name, option = link.name, link.option(AGENTS[link.name].node_rank)
    ways: List[Edits] = list(_by_value(link, option, variable))
    if option is not None and option.span is None:
        return ways
    own_shell = in_task(
        job.source, step, link, AGENTS[name].node_rank, AGENTS[name].spelled_node_rank, b"$" + variable, "MPL304"
    )
    at = option.span if option is not None else link.name_span
    return [*ways, own_shell] if _in_a_text(step, at, job.source) else [own_shell, *ways]


def _in_a_text(step: Step, at: Optional[Span], source: bytes) -> bool:
    """Return whether a place may be in quotes, or outside the launch line (a here-document, a variable)."""
    if at is None or at.start < step.span.start:
        return True
    before = source[step.span.start : at.start]
    return at.start > step.span.end or b"'" in before or b'"' in before


def _by_value(link: Link, option: Optional[Option], variable: bytes) -> Iterator[List[Edit]]:
    """Yield ways that change nothing but the option's value, or put the option behind the launcher's name."""
    if option is not None and option.value_span is not None:
        yield from task_value(option.value_span, variable, "MPL304")
    if option is None and link.options_at is not None:
        for value in (b"$" + variable, b"\\$" + variable):
            spelled = b" " + AGENTS[link.name].spelled_node_rank + b"=" + value
            yield [Edit(Span(link.options_at, link.options_at), spelled, "MPL304")]


_OWN_NUMBER = re.compile(rb"(?:NODEID|PROCID|NODE_RANK|GROUP_RANK|PMI_RANK|COMM_WORLD_RANK|(?<![A-Z_])RANK)\b")


def _order_counts(step: Step, link: Link, source: bytes) -> bool:
    """Return whether the script reads a node's or a task's number for anything but the option itself."""
    option = link.option(AGENTS[link.name].node_rank)
    span = option.span if option is not None and option.span is not None else Span(0, 0)
    places = [match.start() for match in _OWN_NUMBER.finditer(source)]
    return any(not span.start <= at < span.end for at in places) or b"node_rank" in b" ".join(step.program)


def _plainly(step: Step, link: Link, site: Site, source: bytes) -> Optional[List[Edit]]:
    """Have torchrun give out the node ranks itself, in the words of the launch templates.

    The run id stands in place of the node rank, backend and endpoint in place of master and port.
    """
    master, port = link.option("master-addr"), link.option("master-port")
    rank = link.option(AGENTS[link.name].node_rank)
    if not AGENTS[link.name].endpoint or master is None or link.option("rdzv-backend", "rdzv-endpoint") is not None:
        return None
    options = [option for option in (master, port, rank) if option is not None]
    if any(option.span is None or option.value_span is None for option in options):
        return None
    where, number = _written(master, source), _written(port, source) if port is not None else b"29500"
    if any(byte in where + number for byte in b"'\" \t\n"):
        return None
    dashes = master.spelling[: -len(b"addr")].replace(b"master", b"rdzv")  # as the user writes it: _ or -
    backend, endpoint = dashes + b"backend=c10d", dashes + b"endpoint=" + where + b":" + number
    changes = [(master, backend if port is not None else backend + b" " + endpoint), (port, endpoint)]
    changes.append((rank, dashes + b"id=" + job_id(site)))
    return [Edit(option.span, words, "MPL304") for option, words in changes if option is not None and option.span]


def _met_by_accelerate(link: Link) -> Optional[List[Edit]]:
    """Have accelerate's agents meet at the address that they are told, which is in static words its master's.

    It wants a machine rank even so (accelerate 1.2 converts it before it looks at the backend).
    """
    if link.option("main-process-ip") is None or link.options_at is None:
        return None
    rank = b"" if link.option("machine-rank") is not None else b" --machine_rank=0"
    return [Edit(Span(link.options_at, link.options_at), rank + b" --rdzv_backend=c10d", "MPL304")]


def _written(option: Option, source: bytes) -> bytes:
    return source[option.value_span.start : option.value_span.end] if option.value_span is not None else b""


def _by_meeting(link: Link, source: bytes) -> Optional[List[Edit]]:
    """Where no task's shell can be put in between: torchrun's other rendezvous, at the same master and port."""
    master, port = link.option("master-addr"), link.option("master-port")
    if not AGENTS[link.name].endpoint or master is None or master.value_span is None:
        return None
    where = source[master.value_span.start : master.value_span.end]
    at = port.value_span if port is not None else None
    number = source[at.start : at.end] if at is not None else b"29500"
    if any(byte in where + number for byte in b"'\" \t\n") or (port is not None and at is None):
        return None
    return put(link, [("rdzv-backend", b"c10d"), ("rdzv-endpoint", where + b":" + number)], "MPL304")
