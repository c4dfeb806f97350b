"""Commas within the value of a variable that is handed over."""

from __future__ import annotations

import re
from typing import Iterator

from ...cures.option_edits import at
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_REST = rb"([A-Za-z_]\w*)=([^,\"'=]*)((?:,[^A-Za-z_,\"'][^,=]*)+)(?=,|\Z)"


@rule("MPL417", "a value that ends at its comma")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """In `qsub -v` and `sbatch --export` a comma ends a variable and begins the next.

    Wrong: qsub -v GPUS=0,1,2,3 train.pbs
    Wrong: sbatch --export=ALL,CUDA_VISIBLE_DEVICES=0,1 job.sh
    Right: qsub -v 'GPUS="0,1,2,3"' train.pbs; export CUDA_VISIBLE_DEVICES=0,1 in the script
    Why:   GPUS is 0, and 1, 2 and 3 are taken for names of variables. sbatch says nothing; qsub may refuse them. What
           begins like a name may be one, and is left alone. It is only reported: the words stand on your command line.
    """
    setting = job.settings.get("variable-list" if is_pbs(job) else "export")
    match = (
        re.search(_REST, setting.value.replace(b"\\,", b"__"))
        if setting is not None and b"," in setting.value
        else None
    )
    if setting is None or match is None:
        return
    name, first, rest = (part.decode("utf-8", "replace") for part in match.groups())
    says = "%s becomes %s: the comma ends it, and %s is taken for a variable of its own" % (
        name, first or "empty", rest[1:].split(",")[0])  # fmt: skip
    instead = (
        "'%s=\"%s%s\"'" % (name, first, rest) if is_pbs(job) else "export %s=%s%s in the script" % (name, first, rest)
    )
    yield Finding("MPL417", says, at(setting), help=instead)
