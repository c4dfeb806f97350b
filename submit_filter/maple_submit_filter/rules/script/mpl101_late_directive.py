"""Directives that sbatch or qsub does not come to."""

from __future__ import annotations

from typing import Iterator

from ...request.scheduler_words import command
from ...request.unread_directives import unheeded
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL101", "a directive behind the first command is not read")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch and qsub stop looking for directives at the first line that is a command.

    Wrong: set -e, and #SBATCH --time=02:00:00 (or #PBS -l walltime=02:00:00) below it
    Right: #SBATCH --time=02:00:00 above the first command
    Why:   no message tells, and the job gets the default. For qsub a byte order mark makes the first line a command
           already, so that no directive counts. Maple only reports it: the line may be meant for another way to
           start the script. A line that repeats what holds anyway is not reported.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "late" and unheeded(job, oddity.span):
            marked = job.source.startswith(b"\xef\xbb\xbf") and command(job) == "qsub"
            says = "%s does not read this directive, because it stands after the first command" % command(job)
            yield Finding("MPL101", says, oddity.span, help="remove the byte order mark from the first line"
                          if marked else "move the line above the first command")  # fmt: skip
