"""The id of a PBS job is no number."""

from __future__ import annotations

import re
from typing import Iterator

from ...bash.parser import parse
from ...bash.questions import lies_in, unreached
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_NUMBER = b"${PBS_JOBID%%.*}"
_SUMS = rb"(?m)^(?![ \t]*#).*?\$\(\(((?:[^()\n]|\([^()\n]*\))*)\)\)"
_NAME = rb"(?<![\w#%{])\$?PBS_JOBID\b|\$\{PBS_JOBID\}"


@rule("MPL110", "the id of a PBS job in a sum")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """PBS calls a job 123456.server, and bash counts with numbers alone.

    Wrong: export MASTER_PORT=$((20000 + PBS_JOBID % 10000))
    Right: export MASTER_PORT=$((20000 + ${PBS_JOBID%%.*} % 10000))
    Why:   bash ends the line with "syntax error: invalid arithmetic operator", the script goes on, and the variable is
           empty. Where a launch line fails for it the number is taken unasked; in a job array, whose id is
           123456[7].server, it is only reported.
    """
    if not is_pbs(job) or not plan.steps or b"PBS_JOBID" in plan.assigned or b"$((" not in job.source:
        return
    names = [
        Span(match.start(1) + name.start(), match.start(1) + name.end())
        for match in re.finditer(_SUMS, job.source)
        for name in [re.search(_NAME, match.group(1))]
        if name is not None
    ]
    never = unreached(parse(job.source), job.source) if names else []
    for span in names:
        if lies_in(span, never):
            continue
        fix = Fix((Edit(span, _NUMBER, "MPL110"),), Safety.ASK, "take the number of the job's id")
        fixes = () if "array" in job.settings else (fix,)
        says = "$PBS_JOBID is 123456.server, which is no number to count with"
        yield Finding("MPL110", says, span, True, fixes=fixes, help="take what stands before its dot: ${PBS_JOBID%%.*}")
        return
