"""Paths that nobody expands."""

from __future__ import annotations

from typing import Iterator

from ...cures.option_edits import at
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL601", "a path with ~ is taken letter for letter", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch expands no ~ in the paths it is given.

    Wrong: #SBATCH --output=~/logs/%j.out
    Right: #SBATCH --output=logs/%j.out, which counts from the folder of submission
    Why:   there is no folder called ~, and a job whose output cannot be opened fails without a message. Maple only
           reports it.
    """
    for name in ("output", "error", "chdir", "input"):
        setting = job.settings.get(name)
        if setting is not None and setting.value.startswith(b"~"):
            yield Finding(
                "MPL601",
                "~ is not expanded in --%s: it becomes a folder named ~" % name,
                at(setting),
                help="write the full path",
            )
