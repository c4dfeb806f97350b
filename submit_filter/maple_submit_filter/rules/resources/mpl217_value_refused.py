"""Values that sbatch itself refuses, whatever the site."""

from __future__ import annotations

import re
from typing import Iterator

from ...cures.option_edits import at
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from ...types.settings import Setting
from .. import rule

_RIGHT = {"time": "--time=01:30:00", "time-min": "--time-min=00:30:00", "mem": "--mem=200G",
          "mem-per-cpu": "--mem-per-cpu=4G", "mem-per-gpu": "--mem-per-gpu=60G"}  # fmt: skip


@rule("MPL217", "sbatch refuses a value", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch reads every value before it submits, and refuses numbers and times that are none.

    Wrong: sbatch --nodes=four job.sh, or #SBATCH --time=2h
    Right: sbatch --nodes=4 job.sh, and #SBATCH --time=02:00:00
    Why:   sbatch 22.05.8 says: "four" is not a valid node count; Invalid --time specification. Nothing is submitted.
           Only values that no release takes are reported; Maple cannot know which value was meant.
    """
    if not any(re.search(rb"[a-zA-Z]", one.value) for one in job.settings):
        return
    from ...request.slurm.refusals import refusals  # few values need it

    for setting, said in refusals(one for one in job.settings if _is_read(job, one)):
        example = _RIGHT.get(setting.name, "--%s=4" % setting.name)
        yield Finding("MPL217", "sbatch refuses this value: " + said, at(setting), True,
                      help="give it a value such as " + example)  # fmt: skip


def _is_read(job: Job, setting: Setting) -> bool:
    """Return whether sbatch itself reads the value so; those of other schedulers' lines are translated first."""
    span = setting.origin.span
    return span is None or any(
        one.prefix == b"#SBATCH" and one.span.start <= span.start < one.span.end for one in job.script.directives
    )
