"""Launch lines over several lines that end before they should."""

from __future__ import annotations

from typing import Iterator

from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL108"


@rule("MPL108", "the launch line ends before its options do")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A backslash continues a line only where it is the very last byte, and a comment cannot stand in between.

    Wrong: srun torchrun --nnodes=2 \\ with a blank behind the backslash, and the other options in the next line
    Wrong: srun python train.py \\, then # --debug \\, then --epochs 3
    Right: nothing behind the backslash, and no comment between the lines
    Why:   the shell starts the first half alone, and then looks for a command named --epochs. Where the first half
           names no script or program, it cannot run, and is repaired; otherwise Maple asks first, because the job has
           run without these options.
    """
    if not _may_be_cut(job.source):
        return
    from .continuation import cut_lines, starts_nothing  # few scripts pay for its expressions

    for cut in cut_lines(plan, job, CODE):
        if not cut.step.maybe:
            unscripted = any(breach.kind == breach_kinds.NO_SCRIPT for breach in cut.step.breaches)
            safe = unscripted or starts_nothing(cut.step)
            fix = Fix(cut.edits, Safety.SAFE if safe else Safety.ASK, "continue the line")
            says = "%s ends the launch line, so the options after it are not read"
            yield Finding(CODE, says % cut.what, cut.at, True, fixes=(fix,))


def _may_be_cut(source: bytes) -> bool:
    """Return whether a backslash has a blank behind it, or a continued line a comment."""
    if b"\\ \n" in source or b"\\\t" in source or b"\\  " in source:
        return True
    lines = source.split(b"\n")
    return any(line[-1:] == b"\\" and behind.lstrip()[:1] == b"#" for line, behind in zip(lines, lines[1:]))
