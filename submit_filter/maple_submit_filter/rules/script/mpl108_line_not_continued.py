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
_REST = (b"-", b"python", b"torchrun", b"accelerate", b"deepspeed", b"apptainer", b"singularity", b"bash ")


@rule("MPL108", "the launch line ends before its options do")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A backslash continues a line, where it is the very last byte, and no comment stands in between.

    Wrong: srun torchrun --nnodes=2 \\ with a blank behind the backslash, and the other options in the next line
    Wrong: srun python train.py \\, then # --debug \\ or an empty line, then --epochs 3
    Wrong: srun --nodes=4 without a backslash, and --gpu-bind=closest \\ python train.py in the next lines
    Right: nothing behind the backslash, and no comment between the lines
    Why:   the shell starts the first half alone, and then looks for a command named --epochs. Where the first half
           names no script or program, it cannot run, and is repaired; otherwise Maple asks first, because the job has
           run without these options.
    """
    if not _may_be_cut(job.source):
        return
    from .continuation import cut_lines, starts_nothing  # few scripts pay for its expressions

    for cut in cut_lines(plan, job, CODE):
        if cut.step is None or not cut.step.maybe:
            step = cut.step
            unscripted = step is None or any(breach.kind == breach_kinds.NO_SCRIPT for breach in step.breaches)
            safe = unscripted or (step is not None and starts_nothing(step))
            fix = Fix(cut.edits, Safety.SAFE if safe else Safety.ASK, "continue the line")
            says = "%s ends the launch line, so the options after it are not read"
            yield Finding(CODE, says % cut.what, cut.at, True, fixes=(fix,))


def _may_be_cut(source: bytes) -> bool:
    """Return whether a backslash has a blank behind it, a continued line a comment, or an option none in front."""
    if b"\\ \n" in source or b"\\\t" in source or b"\\  " in source:
        return True
    lines = source.split(b"\n")
    return any(
        behind.lstrip()[:1] in (b"#", b"") if line[-1:] == b"\\" else behind.lstrip().startswith(_REST)
        for line, behind in zip(lines, lines[1:])
    )
