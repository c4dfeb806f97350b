"""The job's first node and a port of its own, for ranks that were not told where to meet."""

from __future__ import annotations

import os
import re

from maple_submit_filter.launchers.rank_words import first_node
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..registry import Given, fix
from .insertion import line
from .ports import expression
from .variables import exported, exporting

# No variable of these names a node of the job: a list of them, a file, the host of the submission.
_LIST = rb"\$\{?(?:SLURM_(?:JOB_|STEP_)?NODELIST|PBS_NODEFILE|SLURM_SUBMIT_HOST|PBS_O_HOST)\}?"
_MASTER = ("master-addr", "rdzv-endpoint", "main-process-ip")
_WRITTEN = re.compile(rb"[A-Za-z_]\w*=(\"?(?:%s)\"?|[\"']?[A-Za-z0-9][\w.-]*[\"']?)(?=[\s;&|)]|\Z)" % _LIST)
_SUFFIXED = re.compile(rb"MASTER_ADDR=\"?\$\([^()\n]*\)([.-][A-Za-z0-9][A-Za-z0-9.-]*)(?=[\"\s;&|)]|\Z)")
MEETING = ("MASTER_ADDR", "MASTER_PORT")


def words(given: Given) -> dict[str, bytes]:
    """Return what the batch shell makes the job's first node of, and a port of its own."""
    return {"MASTER_ADDR": first_node(given.site)[0], "MASTER_PORT": expression(given)}


@fix("master-of-job")
def master_of_job(given: Given) -> Fix | None:
    """Set and export MASTER_ADDR and MASTER_PORT, as far as the script does not, where the log says one is missing.

    That rank and world size are told, and these are not, the log shows: torch asks for them last.
    """
    missing = given.caught("variable")
    if missing not in MEETING or not given.plan.steps:
        return None
    edits: list[Edit] = []
    unset = [name for name in MEETING if name.encode() not in given.plan.assigned]
    for name in MEETING:
        if name not in unset and not exported(given, name):
            edits += exporting(given, name, "master-of-job")
    if missing in unset:
        assignments = b" ".join(name.encode() + b"=" + words(given)[name] for name in unset)
        new = line(given, b"export " + assignments, "master-of-job")
        edits += [new] if new is not None else []
    return Fix(tuple(edits), Safety.ASK, "the ranks meet at the job's first node") if edits else None


@fix("first-node")
def named_by_the_scheduler(given: Given) -> Fix | None:
    """Let the job's first node be the master, where the script writes a name down, or the whole list of nodes.

    Names that the script works out are left as they are. The written one must be what the log could not resolve.
    """
    edits = [
        Edit(Span(*match.span(1)), first_node(given.site)[0], "first-node")
        for span in _assigned(given)
        for match in [_WRITTEN.match(given.job.source, span.start)]
        if match is not None and _unresolved(given, match[1].strip(b"\"'"))
    ]
    edits += _without_suffix(given)
    return Fix(tuple(edits), Safety.SAFE, "the master is the job's first node") if edits else None


def _assigned(given: Given) -> list[Span]:
    """Return where the script assigns MASTER_ADDR, and the variables that launchers are given as their master."""
    names = [b"MASTER_ADDR"]
    for step in given.plan.steps:
        for option in (link.option(*_MASTER) for link in step.links):
            text = given.job.source[slice(*option.span)] if option is not None and option.span is not None else b""
            names += re.findall(rb"\$\{?([A-Za-z_]\w*)", text)[:1]
    return [span for name in dict.fromkeys(names) for span in given.plan.assigned.get(name, ())]


def _without_suffix(given: Given) -> list[Edit]:
    """Leave out what the script puts behind a node's name, where the log could not resolve the two together."""
    words = " ".join(evidence.text for evidence in given.cause.evidence)
    matches = [_SUFFIXED.match(given.job.source, span.start) for span in given.plan.assigned.get(b"MASTER_ADDR", ())]
    return [
        Edit(Span(*match.span(1)), b"", "first-node")
        for match in matches
        if match is not None and re.search(r"[A-Za-z0-9]%s(?![\w-])" % re.escape(match[1].decode()), words)
    ]


def _unresolved(given: Given, written: bytes) -> bool:
    """Return whether the log speaks of this name; a list of nodes is never one."""
    if written.startswith(b"$"):
        return True
    words = " ".join(evidence.text for evidence in given.cause.evidence)
    name = os.fsdecode(written)
    if name.partition(".")[0] in {node.partition(".")[0] for node in given.case.ended.nodes}:
        return False  # it is one of the job's own
    return re.search(r"(?<![\w.-])%s(?![\w-])" % re.escape(name), words) is not None
