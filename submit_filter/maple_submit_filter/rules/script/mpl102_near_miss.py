"""Comments that look like directives."""

from __future__ import annotations

from typing import Iterator

from ...request.scheduler_words import prefix
from ...request.unread_directives import says_anew
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL102", "a line that looks like a directive is a comment")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A directive begins in the first column with exactly #SBATCH; for qsub with #PBS, where blanks may stand before.

    Wrong: # SBATCH --nodes=2, or # PBS -l select=2
    Right: #SBATCH --nodes=2, or ##SBATCH --nodes=2 where it is switched off on purpose
    Why:   sbatch takes `# SBATCH`, ` #SBATCH` and `#SBTACH` for comments, and qsub `# PBS` and `#pbs`, and neither
           prints a warning. Maple only reports it. Not reported: lines that repeat another line, and lines that are
           no directive: how to call the script (`# sbatch --nodes=4 job.sh`), another program's line (`#YBATCH -r
           a100_4`), a form to be filled in, prose.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "near-miss" and says_anew(job, oddity.span):
            told = "if it is meant as a directive, begin the line with %s" % prefix(job)
            yield Finding("MPL102", oddity.says, oddity.span, help=told)
