"""Comments that look like directives."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...request.scheduler_words import command, prefix
from ...request.unread_directives import said_on, says_anew
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
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
           prints a warning. `maple check` shows the change; at submission Maple only reports it, unless the
           job cannot run as it is read and runs as it is written. Not reported: lines
           that repeat another line, and lines that are no directive: how to call the script (`# sbatch --nodes=4
           job.sh`), another program's line (`#YBATCH -r a100_4`), a form to be filled in, prose.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "near-miss" and says_anew(job, oddity.span):
            advice = "if it is meant as a directive, begin the line with %s" % prefix(job)
            yield Finding("MPL102", oddity.says, oddity.span, fixes=_as_directive(job, oddity.span), help=advice)


def _as_directive(job: Job, span: Span) -> Tuple[Fix, ...]:
    """Begin the line as a directive does; one behind the first command would still not be read."""
    words = next((words for _, _, words in said_on(job, job.source[span.start : span.end])), b"")
    at = job.source.find(words, span.start, span.end) if words else -1
    if at < 0 or not _in_head(job, span.start):
        return ()
    edit = Edit(Span(span.start, at), prefix(job).encode() + b" ", "MPL102")
    return (Fix((edit,), Safety.ASK, "let %s read the line" % command(job)),)


def _in_head(job: Job, at: int) -> bool:
    """Return whether nothing but comments and blank lines stands in front of a place."""
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in job.source[:at].split(b"\n")[:-1])
