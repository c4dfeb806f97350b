"""Variables that another scheduler sets, and this one does not."""

from __future__ import annotations

import re
from typing import Iterator

from ...request.other_scheduler import other_scheduler
from ...request.scheduler_words import is_pbs
from ...site.facts import GENERIC_PBS, Site
from ...types.edits import Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_SLURMS = rb"SLURM_[A-Z_]+"
_PBSS = rb"PBS_(?:NODEFILE|O_WORKDIR|JOBID|JOBNAME|ARRAY_INDEX|ARRAYID|NODENUM|TASKNUM|NUM_NODES|NUM_PPN|NP|QUEUE)"
_TORQUES = rb"PBS_(?:NUM_NODES|NUM_PPN|NP|ARRAYID|HOSTFILE)"
_OF_TORQUE = (b"PBS_N", b"PBS_ARRAYID", b"PBS_HOSTFILE")
_INSTEAD = {
    b"PBS_NODEFILE": 'scontrol show hostnames "$SLURM_JOB_NODELIST" lists the nodes',
    b"PBS_O_WORKDIR": "the job starts there, and $SLURM_SUBMIT_DIR names it",
    b"PBS_JOBID": "$SLURM_JOB_ID is the job's id",
    b"PBS_ARRAY_INDEX": "$SLURM_ARRAY_TASK_ID is the index of an array",
    b"SLURM_JOB_NODELIST": "$PBS_NODEFILE is a file with the nodes",
    b"SLURM_NODELIST": "$PBS_NODEFILE is a file with the nodes",
    b"SLURM_JOB_ID": "${PBS_JOBID%%.*} is the job's number",
    b"SLURM_ARRAY_TASK_ID": "$PBS_ARRAY_INDEX is the index of an array",
    b"SLURM_SUBMIT_DIR": "$PBS_O_WORKDIR is the folder of submission",
    b"PBS_ARRAYID": "$PBS_ARRAY_INDEX is the index of an array",
    b"PBS_HOSTFILE": "$PBS_NODEFILE is a file with the nodes",
}


@rule("MPL406", "variables that another scheduler sets")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A job of Slurm has no $PBS_NODEFILE, one of PBS no $SLURM_JOB_NODELIST: the word is empty there.

    Wrong: export MASTER_ADDR=$(head -n 1 "$PBS_NODEFILE"), in a job of Slurm
    Right: export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Why:   an empty word seldom ends a script: the master's address is empty, and every member of an array takes the
           first element. PBS_NP, PBS_NUM_NODES and PBS_NUM_PPN are set by TORQUE, not by OpenPBS. Maple only reports
           it: what the site's own profile may set cannot be seen. A script that asks which scheduler it runs
           under, or gives the variable a default, is left alone.
    """
    if not plan.steps or other_scheduler(job):
        return
    pbs = is_pbs(job)
    if (b"SLURM_" if pbs else b"PBS_") in job.source:  # expressions are made where there is something to look for
        yield from _first(_SLURMS if pbs else _PBSS, pbs, plan, job)
    if pbs and site.id != GENERIC_PBS.id and any(name in job.source for name in _OF_TORQUE):
        yield from _first(_TORQUES, pbs, plan, job)


def _first(pattern: bytes, pbs: bool, plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield the first word that reads such a variable, where nothing in the script sets one or asks about one."""
    if re.search(rb"(?m)^(?![ \t]*#).*(?:\[[ \t]|\btest[ \t]|\bcase[ \t]|:[-=+?]).*\b%s\b" % pattern, job.source):
        return
    for found in re.finditer(rb"(?m)^(?![ \t]*#).*?\$(?:(%s)\b|\{(%s)\})" % (pattern, pattern), job.source):
        group = 1 if found.group(1) else 2
        name = found.group(group)
        if name in plan.assigned or name in job.submission.environment:
            continue
        here = "Slurm" if not pbs else "PBS" if name.startswith(b"SLURM") else "OpenPBS"
        says = "%s does not set %s" % (here, name.decode())
        told = _INSTEAD.get(name, "use what this scheduler sets")
        yield Finding("MPL406", says, Span(found.start(group), found.end(group)), help="under %s, %s" % (here, told))
        return
