"""Options that sbatch does not know."""

from __future__ import annotations

from typing import Iterator

from ...request.slurm.options import SBATCH
from ...request.unread_directives import unknown_option
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..resources.mpl207_no_such_partition import alike


@rule("MPL106", "sbatch knows no such option", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A directive with an option that sbatch does not know is refused, unless a plug-in of the site knows it.

    Wrong: #SBATCH --gpu-per-node=4
    Right: #SBATCH --gpus-per-node=4
    Why:   sbatch says: unrecognized option. Maple speaks of it where one letter makes it an option that there is,
           and only shows the change, for plug-ins bring options of their own, such as --image or --container-image.
    """
    if not unknown_option(job.script.refused):
        return
    for oddity in job.script.oddities:
        if oddity.kind != "refused" or not unknown_option(oddity.says):
            continue
        word = job.source[oddity.span.start : oddity.span.end].split(b"=")[0].lstrip(b"-").decode("utf-8", "replace")
        near = [name.decode() for name in SBATCH.long if alike(word, name.decode())]
        if near and len(word) > 3:
            start = job.source.find(word.encode(), oddity.span.start, oddity.span.end)
            edit = Edit(Span(start, start + len(word.encode())), near[0].encode(), "MPL106")
            fix = Fix((edit,), Safety.ASK, "--%s" % near[0])
            fixes = (fix,) if start >= 0 else ()
            yield Finding("MPL106", "sbatch knows no option --%s" % word, oddity.span, fixes=fixes,
                          help="did you mean --%s?" % near[0])  # fmt: skip
