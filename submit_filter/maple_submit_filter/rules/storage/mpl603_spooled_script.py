"""Where a batch script itself lies."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

_OWN = rb"(?:\$0|\$\{0\}|\$\{?BASH_SOURCE(?:\[0\])?\}?)"
_FOLDER = re.compile(
    rb"\$\(\s*dirname\s+(?:--\s+)?\"?(?:\$\(\s*(?:readlink\s+-f|realpath)\s+\"?)?" + _OWN
    + rb"|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}"
)  # fmt: skip
_KNOWS = (b"scontrol show job", b"SLURM_SUBMIT_DIR", b"PBS_O_WORKDIR", b"SLURM_JOB_ID:-", b"SLURM_JOB_ID-", b"spool")
_BRANCHES = re.compile(rb"\b(?:if|\[\[?|test)\b[^\n]*(?:SLURM_JOB_ID|PBS_JOBID|SLURM_JOBID)")


@rule("MPL603", "the script's own folder is the spool folder")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The scheduler runs a copy of the script, so $0 and BASH_SOURCE name a file in its spool folder.

    Wrong: cd "$(dirname "$0")", to be where train.py lies
    Right: cd "$SLURM_SUBMIT_DIR" (Slurm), or cd "$PBS_O_WORKDIR" (PBS)
    Why:   in the job $0 is /var/spool/slurmd/job123/slurm_script, or /var/spool/pbs/mom_priv/jobs/123.SC: nothing else
           lies there. `maple check` shows the change; at submission Maple only reports it: the script may be started in
           other ways, too.
    """
    if any(word in job.source for word in _KNOWS) or _BRANCHES.search(job.source):
        return
    start = 0
    for line in joined(job.source).splitlines(keepends=True):
        match = _FOLDER.search(line)
        if match is not None and not line.lstrip().startswith(b"#"):
            right = "$PBS_O_WORKDIR" if job.submission.scheduler == "pbs" else "$SLURM_SUBMIT_DIR"
            at = Span(start + match.start(), start + _end(line, match))
            fix = Fix((Edit(at, right.encode(), "MPL603"),), Safety.ASK, "use %s" % right)
            yield Finding("MPL603", "in the job this is the scheduler's spool folder, not where the script lies",
                          at, fixes=(fix,), help='use "%s"' % right)  # fmt: skip
            return
        start += len(line)


def _end(line: bytes, match: "re.Match[bytes]") -> int:
    """Return where the whole substitution ends: behind the parenthesis that closes its first one."""
    depth = 0
    for at in range(match.start(), len(line)):
        depth += {b"(": 1, b")": -1}.get(line[at : at + 1], 0)
        if depth == 0 and at > match.start() and line[at : at + 1] == b")":
            return at + 1
    return match.end()
