"""Edits that tell a launcher which starts ranks by itself of the job's other nodes."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ..types.edits import Edit, Fix, Safety, Span
from ..types.launch_plan import LaunchPlan, Link, Step
from ..types.text import number
from .launch_edits import change

_OF_SLURM = (b'scontrol show hostnames "$SLURM_JOB_NODELIST"', b"$SLURM_JOB_ID")
_OF_PBS = (b'sort -u "$PBS_NODEFILE"', b"$PBS_JOBID")
_WRITTEN = re.compile(rb"(?m)^[^#\n]*\bslots=[^\n]*>[ \t]*(\"?[\w./${}-]+\"?)[ \t]*$")


def on_all_hosts(step: Step, plan: LaunchPlan, source: bytes, why: str) -> Tuple[Fix, ...]:
    """Name the job's nodes to a launcher that knows of its own alone: horovodrun by its option, deepspeed by a file."""
    link, gpus, nodes = step.links[-1] if step.links else None, _gpus(step, plan), plan.allocation.nodes
    if link is None or link.options_at is None or not gpus or not nodes or nodes < 2 or len(step.links) > 1:
        return ()
    hosts, job_id = _OF_PBS if plan.allocation.node_file is not None else _OF_SLURM
    made: Optional[List[Edit]] = None
    if link.name == "horovodrun":
        made = _by_option(link, hosts, gpus, nodes, why)
    elif link.name == "deepspeed" and link.option("hostfile") is None:
        made = _by_file(step, link, hosts + b" | sed 's/$/ slots=%d/'" % gpus, b"hostfile." + job_id, source, why)
    return (Fix(tuple(made), Safety.ASK, "on all %d nodes of the job" % nodes),) if made else ()


def _by_option(link: Link, hosts: bytes, gpus: int, nodes: int, why: str) -> List[Edit]:
    """Name each host with its GPUs, and start a rank for each: the hosts are filled one after the other."""
    total = link.option("np", "num-proc")
    words = b' -H "$(' + hosts + b" | sed 's/$/:%d/' | paste -sd,)\"" % gpus
    count = number(total.value) if total is not None else None
    more = change(total, b"%d" % (gpus * nodes), why) if count is not None and count < gpus * nodes else []
    return [Edit(Span(link.options_at, link.options_at), words, why), *(more or ())] if link.options_at else []


def _by_file(step: Step, link: Link, lines: bytes, file: bytes, source: bytes, why: str) -> List[Edit]:
    """Hand over the host file that the script writes already, or one that is written in front of the line."""
    own = _WRITTEN.search(source, 0, step.span.start)
    at = link.options_at or 0
    named = Edit(Span(at, at), b" --hostfile=" + (own.group(1) if own is not None else file), why)
    start = Span(step.span.start, step.span.start)
    return [named] if own is not None else [Edit(start, lines + b" > " + file + b"; ", why), named]


def _gpus(step: Step, plan: LaunchPlan) -> int:
    """Return how many GPUs the job has on each node, 0 where that is not known."""
    given, option = plan.allocation, step.links[-1].option("num-gpus")
    shared = (given.gpus or 0) // given.nodes if given.nodes else 0
    return given.gpus_per_node or shared or (number(option.value) if option is not None else None) or 0
