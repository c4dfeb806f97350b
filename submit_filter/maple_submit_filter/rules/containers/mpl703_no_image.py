"""A container that is told no image."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL703"
_RUNS = re.compile(rb"(?m)^(?![ \t]*#)(?:[^#\n]*?[ \t;&|])?(shifter)(?=[ \t\\])(?:[^\n]|(?<=\\)\n)*")
_SAYS = re.compile(rb"--image\b|(?<!\S)-i\b|SHIFTER_IMAGE|SLURM_SPANK_SHIFTER|SHIFTER_\w*IMAGE")
_COMMENTED = re.compile(rb"(?m)^#+[ \t]*(#SBATCH[ \t]+--image[= ]\S+)|^#[ \t]+(SBATCH[ \t]+--image[= ]\S+)")


@rule("MPL703", "shifter is told no image", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """shifter takes its image from --image, on its own line or in a directive.

    Wrong: ##SBATCH --image=nersc/pytorch:25.02.01 ... srun shifter python train.py (a comment, by its second mark)
    Right: #SBATCH --image=nersc/pytorch:25.02.01 ... srun shifter python train.py
    Why:   it ends at once: no image specified. `maple check` has the directive read that is a comment; at submission
           Maple only reports it, for a variable of the submitter may name the image.
    """
    match = _RUNS.search(job.source) if b"shifter" in job.source else None
    if match is None or "image" in job.settings or any(_SAYS.search(line) for line in _read_lines(job.source)):
        return
    fix = _read_again(job.source)
    yield Finding(CODE, "shifter is told no image", Span(*match.span(1)), fixes=(fix,) if fix is not None else (),
                  help="name it: #SBATCH --image=NAME, or shifter --image=NAME")  # fmt: skip


def _read_lines(source: bytes) -> Iterator[bytes]:
    """Yield the lines that somebody reads: commands and directives."""
    for line in source.split(b"\n"):
        if line.startswith(b"#SBATCH") or not line.lstrip().startswith(b"#"):
            yield line


def _read_again(source: bytes) -> Optional[Fix]:
    """Have the directive read that is a comment by what stands in front of it."""
    match = _COMMENTED.search(source)
    if match is None:
        return None
    words = match.group(1) or b"#" + match.group(2)
    edit = Edit(Span(*match.span()), words, CODE)
    return Fix((edit,), Safety.ASK, words.decode("utf-8", "replace"))
