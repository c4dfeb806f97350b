"""Comments that look like directives."""

from __future__ import annotations

from typing import Iterator

from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..site import Site
from ..unread_directives import unheeded
from . import rule


@rule("MPL102", "a line that looks like a directive is a comment")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A directive begins in the first column with exactly #SBATCH.

    Wrong: # SBATCH --nodes=2
    Right: #SBATCH --nodes=2, or ##SBATCH --nodes=2 where it is switched off on purpose
    Why:   sbatch takes `# SBATCH`, ` #SBATCH` and `#SBTACH` for comments and says nothing. It is only said. A line that
           says what holds anyway is left out.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "near-miss" and unheeded(job, oddity.span):
            yield Finding("MPL102", oddity.says, oddity.span, help="begin the line with #SBATCH if it is meant")
