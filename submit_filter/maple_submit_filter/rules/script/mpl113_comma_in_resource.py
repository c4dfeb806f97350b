"""A list of file systems that ends at its comma."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_LIST = re.compile(rb"(?m)^#PBS[^\n]*\bfilesystems=[\w:-]+((?:,[A-Za-z][\w-]*)+)(?=[\s,]|$)(?!=)")


@rule("MPL113", "file systems that are parted by a comma", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """In `-l` a comma ends a resource and begins the next.

    Wrong: #PBS -l filesystems=home,flare
    Right: #PBS -l filesystems=home:flare
    Why:   qsub says: Unknown resource Resource_List.flare. Colons are written for the commas unasked: nothing else can
           have been meant.
    """
    match = _LIST.search(job.source) if b"filesystems=" in job.source else None
    if match is None:
        return
    at = [index for index in range(match.start(1), match.end(1)) if job.source[index : index + 1] == b","]
    edits = tuple(Edit(Span(index, index + 1), b":", "MPL113") for index in at)
    yield Finding("MPL113", "a comma parts resources: what stands behind it is no file system", Span(*match.span(1)),
                  True, fixes=(Fix(edits, Safety.SAFE, "part them by colons"),))  # fmt: skip
