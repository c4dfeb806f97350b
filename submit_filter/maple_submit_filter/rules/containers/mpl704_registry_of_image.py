"""A registry that is read as part of an image's name."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL704"
_OPTION = "container-image"
# Namespaces of Docker Hub have no dot, so what has one in front of the first slash is a host.
_HOST = (
    rb"((?:docker://)?(?:[\w.$-]+@)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?)(/)"
    rb"(?![^ \t\n\"']*(?:#|\.(?:sqsh|sif|img)\b))"
)
_NAMED = re.compile(_HOST)
_OF_JOB = re.compile(rb"(?m)^#SBATCH[ \t]+--container-image[ =]([^\s\"']+)")
_IMPORTED = re.compile(rb"(?m)^(?![ \t]*#)[^#\n]*?\benroot[ \t]+import[ \t][^\n]*?(docker://[^ \t\n\"']+)")


@rule("MPL704", "the registry of an image stands in front of a slash", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """enroot, and so srun --container-image, tells the registry from the image by a `#`; without one it is Docker Hub.

    Wrong: srun --container-image=nvcr.io/nvidia/pytorch:24.07-py3 python train.py
    Wrong: enroot import docker://ghcr.io/project/image:1.0
    Right: srun --container-image=nvcr.io#nvidia/pytorch:24.07-py3 python train.py
    Why:   Docker Hub is asked for an image of that whole name, has none, and the import fails with 401 or 404. Maple
           only shows the change, for a site may import images another way.
    """
    for step in plan.steps:
        for option in step.links[0].options if step.links and step.links[0].name == "srun" else ():
            value = option.value.raw if option.name == _OPTION and option.value is not None else b""
            if _NAMED.match(value):
                yield _finding(value, option.value_span or step.span, _in_text(value, job.source))
    if b"enroot" not in job.source and b"container-image" not in job.source:
        return
    source = joined(job.source)
    for form in (_IMPORTED, _OF_JOB):
        for match in form.finditer(source):
            if _NAMED.match(match.group(1)):
                yield _finding(match.group(1), Span(*match.span(1)), _in_text(match.group(1), job.source))


def _in_text(name: bytes, source: bytes) -> Tuple[Fix, ...]:
    """Return the `#` where the name stands in the script once, on the line or where its variable is set."""
    written = [match for match in _NAMED.finditer(source) if name.startswith(match.group())]
    if len(written) != 1:
        return ()
    edit = Edit(Span(*written[0].span(2)), b"#", CODE)
    return (Fix((edit,), Safety.ASK, "a # behind the registry"),)


def _finding(name: bytes, at: Optional[Span], fixes: Tuple[Fix, ...]) -> Finding:
    match = _NAMED.match(name)
    host = match.group(1).rpartition(b"@")[2].rpartition(b"/")[2] if match is not None else name
    says = "%s is read as part of the image's name on Docker Hub" % host.decode("utf-8", "replace")
    return Finding(CODE, says, at, fixes=fixes, help="a # stands between registry and image: nvcr.io#nvidia/pytorch")
