"""One master that every node can reach."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional

from ...cures.launch_edits import as_first_node, as_offers, first_words, own_first_node, put, replacements
from ...launchers.rank_words import first_node
from ...launchers.registry import AGENTS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Step
from ...types.text import Piece, Text
from .. import rule
from ..program_text import named_values, place_of
from .rendezvous import LOCAL, on_several_nodes, which_node, written

# What a program calls the address at which its ranks meet, and what a node calls itself.
_MEETING = frozenset((
    "coordinator", "coordinator_address", "coordinator_ip", "dist_url", "init_method", "dist_init_method",
    "master_addr", "master_address", "master_ip", "rdzv_endpoint", "dist_init_addr",
))  # fmt: skip
_PORT = re.compile(rb"\d{2,5}|\$\w+|\$\{\w+\}")
_HOST = re.compile(rb"(?:tcp://)?(localhost|127(?:\.\d+){3})(?=:|/|\Z)")


@rule("MPL501", "on several nodes, the master's address means each node itself")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The ranks meet at one address, so it has to be the name of one node of the job.

    Wrong: export MASTER_ADDR=localhost; python train.py --coordinator 127.0.0.1:12321
    Right: export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Why:   on every node localhost is that node: each rank waits on its own node, without a message, until the
           rendezvous times out after ten to fifteen minutes.
    """
    planned = False
    for finding in _by_plan(plan, job, site):
        planned = True
        yield finding
    if not planned and on_several_nodes(plan, job):
        yield from _as_written(plan, job, site)


def _as_written(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that an address is every node's own by the words alone, whatever reads it."""
    places = list(written(plan, job.source, "address"))
    if not places or {which_node(place.value) for place in places} != {LOCAL}:
        return  # of several nobody knows which is taken
    for place in places:
        text = Text((Piece(place.value, place.span.start),))
        ways = replacements(text, first_words(text, site, plan), "MPL501", job.source)
        says = "%s is %s, which each of the %s nodes takes for itself" % (
            place.name.decode(), place.value.decode("utf-8", "replace"), plan.allocation.nodes)  # fmt: skip
        yield Finding("MPL501", says, place.span, fixes=as_offers(as_first_node(ways)),
                      help="use the name of the job's first node")  # fmt: skip


def _by_plan(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind in (breach_kinds.MASTER_LOCAL, breach_kinds.LOCAL_SAID):
                yield _finding(step, breach, plan, site, job)
        if not step.breaches and not step.maybe and (step.nodes or 1) > 1 and _is_of_several(step):
            yield from _program_s(step, plan, site, job)


def _is_of_several(step: Step) -> bool:
    """Return whether the processes of a launch line, on several nodes, form one world."""
    return len(step.groups) == 1 and (step.groups[0].nodes or 1) > 1


def _program_s(step: Step, plan: LaunchPlan, site: Site, job: Job) -> Iterator[Finding]:
    """Yield that the program itself is told a coordinator that each node takes for itself."""
    for named in named_values(step.program):
        host = _HOST.match(named.value)
        if named.last not in _MEETING or host is None:
            continue
        fixes = tuple(_in_place_of(host.group(1), step, place_of(named, step), plan, site, job.source))
        says = "the program is told %s %s on %s nodes, and each takes that for itself" % (
            named.name.decode("utf-8", "replace"), host.group(1).decode(), step.nodes)  # fmt: skip
        yield Finding("MPL501", says, place_of(named, step) or step.span, fixes=fixes,
                      help="use the name of the job's first node")  # fmt: skip


def _in_place_of(
    host: bytes, step: Step, own: Optional[Span], plan: LaunchPlan, site: Site, source: bytes
) -> Iterator[Fix]:
    """Yield the first node's name where the script assigns the address once, or on the line of the launch."""
    assigned = [span for spans in plan.assigned.values() for span in spans if span.end <= step.span.start]
    spans = [span for span in assigned if source.count(host, *span) == 1]
    if own is not None and source.count(host, *own) == 1 and source[own.start : own.end].find(b"$") < 0:
        spans = [own]
    if len(spans) != 1 or source[spans[0].start : spans[0].end].count(b"'"):
        return
    quoted = own == spans[0] and step.links and step.links[-1].quoted == b"'"
    at = source.index(host, *spans[0])
    new = first_node(site)[2 if quoted else 0]
    if source[spans[0].start : spans[0].end].count(b'"'):
        new = first_node(site)[1]
    yield Fix((Edit(Span(at, at + len(host)), new, "MPL501"),), Safety.ASK, "the job's first node is the coordinator")


def _finding(step: Step, breach: Breach, plan: LaunchPlan, site: Site, job: Job) -> Finding:
    master = breach.texts.get("master")
    at = master.span() if master is not None and master.raw else None
    address = master.raw.decode("ascii", "replace") if master is not None and master.raw else "its own address"
    nodes = breach.numbers.get("nnodes") or breach.numbers.get("nodes")
    says = "the master address of a run on %s nodes is %s, which means each node itself" % (nodes, address)
    ways = replacements(master, first_words(master, site, plan), "MPL501", job.source)
    ways += _by_option(step, site, plan, job.source)
    sure = (
        breach.kind == breach_kinds.MASTER_LOCAL
    )  # else nobody knows on which nodes the ranks run, only that one has not the GPUs
    where: Optional[Span] = at or (step.links[-1].name_span if step.links else step.span)
    fixes = as_first_node(ways) if sure else as_offers(as_first_node(ways))
    return Finding("MPL501", says, where, sure, fixes=fixes,
                   help="use the name of the job's first node")  # fmt: skip


def _by_option(step: Step, site: Site, plan: LaunchPlan, source: bytes) -> List[List[Edit]]:
    """The address is the launcher's default: say it, in the script's own words where it has some."""
    link = step.links[-1] if step.links else None
    if link is None or link.name not in AGENTS or not AGENTS[link.name].endpoint:
        return []
    static = link.option("rdzv-backend") is None
    name, port = ("master-addr", b"") if static else (AGENTS[link.name].endpoint, b":" + _port(link, source))
    own = [first + port for first in own_first_node(plan, step.span.start)]
    ways = (put(link, [(name, value)], "MPL501") for value in own + [b'"%s"' % (it + port) for it in first_node(site)])
    return [edits for edits in ways if edits]


def _port(link: Link, source: bytes) -> bytes:
    """Return the words of the port that the line says for another rendezvous, else the usual one of this."""
    option = link.option("master-port")
    span = option.value.written() if option is not None and option.value is not None else None
    words = source[span.start : span.end] if span is not None else b""
    return words if _PORT.fullmatch(words) else b"29400"
