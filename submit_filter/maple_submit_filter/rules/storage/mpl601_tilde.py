"""Paths that nobody expands."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL601", "a path with ~ is taken letter for letter", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch expands no ~ in the paths it is given.

    Wrong: #SBATCH --output=~/logs/%j.out
    Right: #SBATCH --output=logs/%j.out, which counts from the folder of submission
    Why:   there is no folder called ~, and a job whose output cannot be opened fails without a message. Of an output
           Maple offers the file in the folder of submission, which is there; what the home folder is called on the
           nodes nobody has said, so the rest is only reported.
    """
    for name in ("output", "error", "chdir", "input"):
        setting = job.settings.get(name)
        if setting is not None and setting.value.startswith(b"~"):
            yield Finding(
                "MPL601",
                "~ is not expanded in --%s: it becomes a folder named ~" % name,
                at(setting),
                fixes=_beside(name, setting, job),
                help="write the full path",
            )


def _beside(name: str, setting: Setting, job: Job) -> Tuple[Fix, ...]:
    """Write an output into the folder of submission, which is there."""
    file = setting.value.rpartition(b"/")[2]
    made = restate(job, setting, file, "MPL601") if name in ("output", "error") and file else None
    return (made.fix(Safety.ASK, "--%s=%s" % (name, file.decode("utf-8", "replace"))),) if made is not None else ()
