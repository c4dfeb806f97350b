"""Directives that sbatch or qsub does not come to."""

from __future__ import annotations

from typing import Iterator, List, Optional

from ...request.scheduler_words import command
from ...request.unread_directives import unheeded
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

MARK = b"\xef\xbb\xbf"


@rule("MPL101", "a directive behind the first command is not read")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch and qsub stop looking for directives at the first line that is a command.

    Wrong: set -e, and #SBATCH --time=02:00:00 (or #PBS -l walltime=02:00:00) below it
    Right: #SBATCH --time=02:00:00 above the first command
    Why:   no message tells, and the job gets the default. For qsub a byte order mark makes the first line a command
           already, so that no directive counts. `maple check` shows the lines moved up; at submission Maple only
           reports it, for the line may be meant for another way to start the script, unless the job cannot run as it
           is read and runs as it is written. A line with a variable stays, for nobody expands it. One that repeats
           what holds anyway is not reported.
    """
    late = [stray for stray in job.script.oddities if stray.kind == "late"]
    marked = job.source.startswith(MARK) and command(job) == "qsub"
    unread = [stray.span for stray in late if unheeded(job, stray.span)]
    plain = [span for span in unread if b"$" not in job.source[span.start : span.end]]
    fix = _unmarked() if marked else _moved_up(job, plain)
    says = "%s does not read this directive, because it stands after the first command" % command(job)
    for span in unread:
        cured = marked or span in plain  # above the commands a variable's name would be the value, which qsub refuses
        yield Finding("MPL101", says, span, fixes=(fix,) if fix is not None and cured else (),
                      help="remove the byte order mark from the first line" if marked
                      else "move the line above the first command" if cured
                      else "pass it on the command line: a directive expands no variable")  # fmt: skip


def _unmarked() -> Fix:
    return Fix((Edit(Span(0, len(MARK)), b"", "MPL101"),), Safety.ASK, "remove the byte order mark")


def _moved_up(job: Job, unread: List[Span]) -> Optional[Fix]:
    """Move all lines that are not read behind the last that is, in their order; the number of lines stays."""
    head = max((directive.span.end for directive in job.script.directives), default=job.source.find(b"\n"))
    end = job.source.find(b"\n", head)
    lines = [job.source[span.start : span.end].strip() for span in unread]
    if head < 0 or end < 0 or not lines or any(b"\n" in line for line in lines):
        return None
    gone = [Span(job.source.rfind(b"\n", 0, span.start), _end_of_line(job.source, span.end)) for span in unread]
    if any(span.start < end for span in gone):
        return None
    moved = Edit(Span(end, end), b"".join(b"\n" + line for line in lines), "MPL101")
    edits = (moved, *(Edit(span, b"", "MPL101") for span in gone))
    return Fix(edits, Safety.ASK, "move %s above the first command" % ("it" if len(lines) == 1 else "these lines"))


def _end_of_line(source: bytes, at: int) -> int:
    end = source.find(b"\n", at)
    return len(source) if end < 0 else end
