"""A container that is told no image."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..program_text import files_read, is_rank

CODE = "MPL703"
_IMAGES = ("container", "container-image", "container-name")  # what names the image of a step
_RUNS = re.compile(rb"(?m)^(?![ \t]*#)(?:[^#\n]*?[ \t;&|])?(shifter)(?=[ \t])[^\n]*")
_SAYS = re.compile(rb"--image\b|(?<!\S)-i\b|SHIFTER_IMAGE|SLURM_SPANK_SHIFTER|SHIFTER_\w*IMAGE")
_COMMENTED = re.compile(rb"(?m)^#+[ \t]*(#SBATCH[ \t]+--image[= ]\S+)|^#[ \t]+(SBATCH[ \t]+--image[= ]\S+)")


@rule("MPL703", "shifter is told no image", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """shifter takes its image from --image, on its own line or in a directive.

    Wrong: ##SBATCH --image=nersc/pytorch:25.02.01 ... srun shifter python train.py (a comment, by its second mark)
    Wrong: #SBATCH --image=nersc/pytorch:25.02.01 ... srun python train.py, and no module that has torch
    Wrong: srun --container-mounts=/data:/data python train.py, and no --container-image
    Right: #SBATCH --image=nersc/pytorch:25.02.01 ... srun shifter python train.py
    Why:   it ends at once: no image specified. `maple check` has the directive read that is a comment; at submission
           Maple only reports it, for a variable of the submitter may name the image.
    """
    yield from _mounts_alone(plan, job)
    if "image" in site.plugin_options and re.search(rb"(?m)^#SBATCH[ \t]+(?:.*[ \t])?--image\b", job.source):
        yield from _unused(plan, job)
    match = _RUNS.search(joined(job.source)) if b"shifter" in job.source else None
    if match is None or "image" in job.settings or any(_SAYS.search(line) for line in _read_lines(joined(job.source))):
        return
    fix = _read_again(job.source)
    yield Finding(CODE, "shifter is told no image", Span(*match.span(1)), fixes=(fix,) if fix is not None else (),
                  help="name it: #SBATCH --image=NAME, or shifter --image=NAME")  # fmt: skip


def _mounts_alone(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that srun is told of a container's mounts and of no image: pyxis takes no notice of them then."""
    for step in plan.steps:
        link = step.links[0] if step.links and step.links[0].name == "srun" else None
        inner = [option for option in link.options if option.name.startswith("container-")] if link is not None else []
        if (
            link is None
            or not inner
            or step.maybe
            or _told(job)
            or any(option.name in _IMAGES for option in link.options)
        ):
            continue
        yield Finding(CODE, "--%s is said, and no image" % inner[0].name, inner[0].span or step.span,
                      help="--container-image=NAME, or the one of --container-name")  # fmt: skip
        return


def _told(job: Job) -> bool:
    return any(name in job.settings for name in _IMAGES) or b"CONTAINER_IMAGE" in job.source.upper().replace(b"-", b"_")


_RUNNERS = re.compile(rb"(?m)^(?![ \t]*#).*?(?<![\w-])(?:shifter|podman-hpc|shifterimg)(?![\w-])")
_OWN_PYTHON = re.compile(
    rb"(?m)^(?![ \t]*#).*?(?:\bmodule[ \t]+load\b.*(?:pytorch|python|conda|tensorflow)|activate\b|\bml[ \t].*pytorch)"
)


def _unused(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that an image is prepared, and the ranks start beside it, in a shell that has no Python of its own."""
    if _RUNNERS.search(joined(job.source)) or _OWN_PYTHON.search(joined(job.source)) or plan.unread:
        return
    if any(name.endswith(b"sh") and b"shifter" in text for name, text in _called(plan, job)):
        return
    for step in plan.steps:
        link = step.links[0] if step.links else None
        if link is not None and link.name == "srun" and not step.maybe and is_rank(step):
            at = step.links[1].name_span if step.links[1:] else step.program_span
            start = _command_of(job.source, link.options_at, at.start if at is not None else None)
            edit = Edit(Span(start, start), b"shifter ", CODE) if start is not None else None
            fixes = (Fix((edit,), Safety.ASK, "run it in the image: shifter"),) if edit is not None else ()
            yield Finding(CODE, "an image is named, and the ranks do not run in it", step.span, fixes=fixes,
                          help="--image prepares it, and shifter runs a program in it: srun shifter ...")  # fmt: skip
            return


def _called(plan: LaunchPlan, job: Job) -> Iterator[Tuple[bytes, bytes]]:
    return ((name.encode(), text) for name, text in files_read(plan, job, b".sh"))


def _command_of(source: bytes, options_at: Optional[int], inner: Optional[int]) -> Optional[int]:
    """Return where the command of a line of srun begins: a shell that holds the program, or the program itself."""
    if options_at is None:
        return inner
    shell = re.compile(rb"(?<=\s)(?:/bin/)?(?:ba)?sh[ \t]+-\w*c\b").search(source, options_at)
    return shell.start() if shell is not None and (inner is None or shell.start() < inner) else inner


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
