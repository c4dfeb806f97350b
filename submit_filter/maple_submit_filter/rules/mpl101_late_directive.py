"""Directives that sbatch does not come to."""

from __future__ import annotations

from typing import Iterator

from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..site import Site
from ..unread_directives import unheeded
from . import rule


@rule("MPL101", "a directive behind the first command is not read")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch stops looking for directives at the first line that is a command.

    Wrong: set -e, and #SBATCH --time=02:00:00 below it
    Right: #SBATCH --time=02:00:00 above the first command
    Why:   sbatch says nothing of it, and the job gets the default. It is only said: the line may be meant for another
           way to start the script. A line that says what holds anyway is left out.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "late" and unheeded(job, oddity.span):
            yield Finding("MPL101", "a directive behind the first command, which sbatch does not read", oddity.span,
                          help="move it above the first command")  # fmt: skip
