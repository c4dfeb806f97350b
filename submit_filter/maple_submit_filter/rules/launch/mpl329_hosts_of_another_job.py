"""Host files that name the nodes of another job."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Option, Step
from ...types.text import NUL
from .. import rule
from ..limits import gpu_count

_FILES = ("hostfile", "machinefile", "f", "machine", "machines", "machinelist", "deepspeed-hostfile")
_CHOSEN = ("nodelist", "nodefile")
_HOST = re.compile(rb"(?m)^[ \t]*(?!#)([A-Za-z][\w.-]*)(?=[ \t:]|$)")
_ITSELF = (b"localhost",)


@rule("MPL329", "a host file of other nodes than the job's")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The scheduler chooses the nodes when the job starts, so a host file is written by the job itself.

    Wrong: deepspeed --hostfile hostfile train.py, where hostfile lies beside the script and names gpu011 and gpu014
    Wrong: deepspeed --hostfile hostfile train.py, where nobody writes a hostfile
    Right: scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/$/ slots=4/" > hostfile, before it
    Why:   the launcher logs in at nodes of an older job: that is refused, or waits. Maple only reports it: the nodes
           may be reserved, or another program may write the file anew.
    """
    if any(name in job.settings for name in _CHOSEN) or "reservation" in job.settings:
        return
    yield from _unwritten(plan, job)
    for step in plan.steps:
        for option in _named(step) if not step.maybe else ():
            hosts = _hosts(option, plan, job)
            if hosts:
                shown = ", ".join(host.decode("utf-8", "replace") for host in hosts[:2])
                says = "the host file lies there before the job starts, and names %s" % shown
                yield Finding("MPL329", says, option.span or step.span,
                              help="write it in the job, from the list of its nodes")  # fmt: skip
                return


def _unwritten(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield deepspeed's host file that is not there and that the script does not write: it takes its own node then."""
    for step in plan.steps:
        link = step.links[-1] if step.links and not step.maybe else None
        option = link.option("hostfile") if link is not None and link.name == "deepspeed" else None
        name = option.value.raw if option is not None and option.value is not None else b""
        if option is None or not name or NUL in name or b"$" in name or not step.folder or job.read is None:
            continue
        base = name.rpartition(b"/")[2]
        path = name if name.startswith(b"/") else step.folder.rstrip(b"/") + b"/" + name
        if (
            plan.allocation.nodes in (None, 1)
            or job.source.count(base) - job.source.count(b"-" + base) > 1
            or job.read(path) is not None
        ):
            continue
        gpus = plan.allocation.gpus_per_node or gpu_count(job.settings, "gres") or 0
        words = b'sort -u "$PBS_NODEFILE"' if is_pbs(job) else b'scontrol show hostnames "$SLURM_JOB_NODELIST"'
        words += b" | sed 's/$/ slots=%d/' > %s; " % (gpus, name)
        edit = Edit(Span(step.span.start, step.span.start), words, "MPL329")
        fixes = (Fix((edit,), Safety.ASK, "write it from the nodes of the job"),) if gpus else ()
        yield Finding("MPL329", "%s is not there, and the script does not write it: deepspeed takes its own node alone"
                      % name.decode("utf-8", "replace"), option.span or step.span, fixes=fixes,
                      help="write it in the job, from the list of its nodes")  # fmt: skip
        return


def _named(step: Step) -> Iterator[Option]:
    for link in step.links:
        option = link.option(*_FILES)
        if option is not None and option.value is not None and option.value.raw:
            yield option


def _hosts(option: Option, plan: LaunchPlan, job: Job) -> Tuple[bytes, ...]:
    """Return the hosts of a file that the plan has read from the disk, () where the script wrote it, or names none."""
    text = _text(option.value.raw if option.value is not None else b"", plan, job)
    hosts = tuple(dict.fromkeys(_HOST.findall(text or b"")))
    return () if any(host in _ITSELF for host in hosts) else hosts


def _text(name: bytes, plan: LaunchPlan, job: Job) -> Optional[bytes]:
    read = [path for path in plan.depends if path == name or path.endswith(b"/" + name.rpartition(b"/")[2])]
    return job.read(read[0]) if read and job.read is not None and NUL not in name else None
