"""Host files that name the nodes of another job."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Option, Step
from ...types.text import NUL
from .. import rule

_FILES = ("hostfile", "machinefile", "f", "machine", "machines", "machinelist", "deepspeed-hostfile")
_CHOSEN = ("nodelist", "nodefile")
_HOST = re.compile(rb"(?m)^[ \t]*(?!#)([A-Za-z][\w.-]*)(?=[ \t:]|$)")
_ITSELF = (b"localhost",)


@rule("MPL329", "a host file of other nodes than the job's")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The scheduler chooses the nodes when the job starts, so a host file is written by the job itself.

    Wrong: deepspeed --hostfile hostfile train.py, where hostfile lies beside the script and names gpu011 and gpu014
    Right: scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/$/ slots=4/" > hostfile, before it
    Why:   the launcher logs in at nodes of an older job: that is refused, or waits. Maple only reports it: the nodes
           may be reserved, or another program may write the file anew.
    """
    if any(name in job.settings for name in _CHOSEN) or "reservation" in job.settings:
        return
    for step in plan.steps:
        for option in _named(step) if not step.maybe else ():
            hosts = _hosts(option, plan, job)
            if hosts:
                shown = ", ".join(host.decode("utf-8", "replace") for host in hosts[:2])
                says = "the host file lies there before the job starts, and names %s" % shown
                yield Finding("MPL329", says, option.span or step.span,
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
