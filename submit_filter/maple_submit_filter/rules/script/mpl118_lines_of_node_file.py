"""Lines of the node file that are taken for nodes."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...plan import breach_kinds
from ...play.pbs_allocation import chunks_of
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_FILE = rb"[\"']?\$\{?PBS_NODEFILE\}?[\"']?"
_COUNTS = re.compile(
    rb"(?:wc[ \t]+-l[ \t]*<[ \t]*%s|cat[ \t]+%s[ \t]*\|[ \t]*wc[ \t]+-l|wc[ \t]+-l[ \t]+%s)" % (_FILE, _FILE, _FILE)
)
_NODES = rb"--(?:nnodes|num[-_]machines|num[-_]nodes)[= \t]+[\"']?(?:\d+:)?\\?\$\{?%s\b"
# What starts something for each line has as many launchers as there are lines.
_EVERY_LINE = re.compile(rb"\bin[ \t]+(?:\$\(|`)[ \t]*cat[ \t]+%s[ \t]*[)`]|\bdone[ \t]*<[ \t]*%s" % (_FILE, _FILE))


@rule("MPL118", "lines of the node file taken for nodes", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """PBS writes a line into $PBS_NODEFILE for each of a chunk's mpiprocs, so a node may stand there several times.

    Wrong: #PBS -l select=2:ngpus=4:mpiprocs=4 ... NNODES=$(wc -l < $PBS_NODEFILE); torchrun --nnodes=$NNODES
    Right: NNODES=$(sort -u $PBS_NODEFILE | wc -l), or mpiprocs=1
    Why:   with 2 nodes the count is 8: the launchers of two nodes wait for six that do not exist. Maple only shows the
           change; where it is known which hosts start, MPL303 speaks of it.
    """
    lines = _lines_a_host(job)
    counted = any(breach.kind == breach_kinds.AGENTS for step in plan.steps for breach in step.breaches)
    if lines < 2 or b"PBS_NODEFILE" not in job.source or counted or _EVERY_LINE.search(job.source):
        return
    for name, spans in plan.assigned.items():
        counts = [match for span in spans for match in [_COUNTS.search(job.source, span.start, span.end)] if match]
        if counts and re.search(_NODES % re.escape(name), job.source):
            for match in counts:
                edit = Edit(Span(*match.span()), b"sort -u $PBS_NODEFILE | wc -l", "MPL118")
                says = "%s counts the lines of the node file, which names each node %d times" % (name.decode(), lines)
                yield Finding("MPL118", says, edit.span, fixes=(Fix((edit,), Safety.ASK, "count each node once"),),
                              help="sort -u names each node once")  # fmt: skip


def _lines_a_host(job: Job) -> int:
    """Return the fewest lines that a chunk has in the node file, 0 where they are not said."""
    return min((_number(chunk.value(b"mpiprocs")) for chunk in chunks_of(job.settings)), default=0)


def _number(value: Optional[bytes]) -> int:
    return int(value) if value is not None and value.isdigit() and len(value) < 6 else 0
