"""Files on a disk of one node that ranks of other nodes open."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Optional, Tuple

from ...site.facts import Site
from ...types.edits import Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

# Folders of the node itself, by convention (hier(7), file-hierarchy(7)) and as centres call theirs.
_ON_NODE = rb"(?:/tmp|/var/tmp|/dev/shm|/local/scratch|/local_scratch|/lscratch|/mnt/bb|/mnt/nvme)"
_STORE = re.compile(rb"file://(%s[^\s\"']*)" % _ON_NODE)  # of init_process_group's init_method
_ASSIGNED = re.compile(rb"(?m)^[ \t]*(?:export[ \t]+)?(\w+)=[\"']?(%s/?[^\s\"';&|$`]*)" % _ON_NODE)
_WRITES = rb"(?:>>?[ \t]*|\b(?:cp|rsync|mv|tar|unzip|ln|install)\b[^\n;|]*[ \t]|-o[ \t]+|-P[ \t]+)[\"']?%s"
# What writes on every node: the line is a step itself, or one of the tools for it.
_EVERYWHERE = re.compile(rb"\b(?:srun|mpiexec|mpirun|ibrun|pdsh|clush|pbsdsh|sbcast|ssh|pdcp|scp|parallel)\b")
_HELP = "write it on every node (srun --ntasks-per-node=1), or to a shared folder"
_USED = re.compile(rb"(?:^|[\s=:,'\"])(%s/[\w./-]+)" % _ON_NODE)


_HOST_FILES = ("hostfile", "machinefile", "f")


@rule("MPL604", "a file that one node alone has")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The batch script runs on the first node; what it writes to /tmp or a local disk is not there on the others.

    Wrong: rsync data/ /tmp/data/ ... srun -N 4 python train.py --data /tmp/data
    Wrong: srun -N 4 python train.py --dist-url file:///tmp/store
    Right: srun -N 4 --ntasks-per-node=1 rsync data/ /tmp/data/; or a folder that all nodes share
    Why:   ranks of the other nodes end with: No such file or directory. Maple only reports it: a site may give its
           nodes one /tmp for all.
    """
    if not plan.steps or not re.search(_ON_NODE, job.source):
        return
    source = joined(job.source)
    folders = {match.group(1): match.group(2) for match in _ASSIGNED.finditer(source)}
    for step in plan.steps:
        nodes = _nodes(step, plan)
        store = next(filter(None, map(_STORE.search, step.program)), None)
        if store is not None and nodes > 1 and not step.maybe:
            says = "ranks of %d nodes meet in %s, which each node has for itself" % (nodes, store.group(1).decode())
            yield Finding("MPL604", says, step.span, help="use a folder that all nodes share")
            return
        for path, at in _used(step, folders, source) if nodes > 1 and not step.maybe else ():
            if _is_written_here(path, folders, source, step.span.start):
                shown = path.decode("utf-8", "replace")
                says = "%s is written on the first node, and ranks of %d nodes open it" % (shown, nodes)
                yield Finding("MPL604", says, at or step.span, help=_HELP)
                return


def _nodes(step: Step, plan: LaunchPlan) -> int:
    """Return how many nodes a step is on; where that is not known, those of the job that its tasks are enough for."""
    given = plan.allocation.nodes or 1
    return step.nodes or (given if (step.tasks or 0) >= given and step.links else 1)


def _used(step: Step, folders: Dict[bytes, bytes], source: bytes) -> List[Tuple[bytes, Optional[Span]]]:
    """Return the paths of a node's own disk that a launch line names, and where."""
    spans = step.program_spans or (None,) * len(step.program)
    named = [(match.group(1), span) for word, span in zip(step.program, spans) for match in _USED.finditer(word)]
    line = _without_host_files(step, source)
    written = [(path, None) for name, path in folders.items() if re.search(rb"\$\{?%s\b" % re.escape(name), line)]
    return named + written + [(match.group(1), None) for match in _USED.finditer(line)]


def _without_host_files(step: Step, source: bytes) -> bytes:
    """Return a launch line without the files of hosts that its launcher reads itself, on the first node."""
    line = bytearray(source[step.span.start : step.span.end])
    for option in (option for link in step.links for option in link.options if option.name in _HOST_FILES):
        if option.span is not None and step.span.start <= option.span.start and option.span.end <= step.span.end:
            start, end = option.span.start - step.span.start, option.span.end - step.span.start
            line[start:end] = b" " * (end - start)
    return bytes(line)


def _is_written_here(path: bytes, folders: Dict[bytes, bytes], source: bytes, before: int) -> bool:
    """Return whether a line before a step writes below the folder of a path, and no line does so on all nodes."""
    names = [name for name, folder in folders.items() if path.startswith(folder.rstrip(b"/") + b"/") or path == folder]
    top = b"/".join(path.split(b"/")[: 3 if path.startswith((b"/tmp", b"/mnt")) else 4])
    words = [re.escape(top)] + [rb"\$\{?%s\b" % re.escape(name) for name in names]
    lines = [line for line in source[:before].split(b"\n") if not line.lstrip().startswith(b"#")]
    mine = [line for line in lines if any(re.search(word, line) for word in words)]
    if any(_EVERYWHERE.search(line) for line in mine):
        return False
    return any(re.search(_WRITES % word, line) for line in mine for word in words)
