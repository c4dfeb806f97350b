"""The id of a job that a script submits."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_TAKEN = re.compile(rb"(?m)^(?![ \t]*#)[^\n]*?\b(\w+)=\"?(?:\$\(|`)[ \t]*sbatch\b((?:[^\n\\]|\\\n)*)")
_DEPENDS = rb"(?:--dependency|(?<=\s)-d)[= ]\"?[a-z]+:[^\s]*\$(?:\{%(name)s\}|%(name)s\b)"


@rule("MPL116", "what sbatch prints is taken for the id of the job", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch prints a sentence, and with --parsable the id alone.

    Wrong: JID=$(sbatch train.sh); sbatch --dependency=afterok:$JID eval.sh
    Right: JID=$(sbatch --parsable train.sh); sbatch --dependency=afterok:$JID eval.sh
    Why:   the second command reads afterok:Submitted, and takes the next words for its script and what that is told: it
           is refused, and the chain ends there. `maple check` shows the change; at submission Maple only reports it.
    """
    if b"sbatch" not in job.source:
        return
    for match in _TAKEN.finditer(job.source):
        finding = _finding(match, job.source)
        if finding is not None:
            yield finding


def _finding(match: "re.Match[bytes]", source: bytes) -> Optional[Finding]:
    name, rest = match.groups()
    if b"--parsable" in rest or b"|" in rest or re.search(rb"\b%s=(?!\"?(?:\$\(|`)[ \t]*sbatch\b)" % name, source):
        return None
    if re.search(_DEPENDS % {b"name": name}, source) is None:
        return None
    end = match.start(2)
    fix = Fix((Edit(Span(end, end), b" --parsable", "MPL116"),), Safety.ASK, "add --parsable")
    says = "%s gets the sentence that sbatch prints, not the id of the job" % name.decode()
    return Finding(
        "MPL116", says, Span(match.start(1), end), fixes=(fix,), help="sbatch --parsable prints the id alone"
    )
