"""Devices that are numbered by the rank in the whole job."""

from __future__ import annotations

import re
from typing import Iterator

from ...launchers.rank_words import rank_words
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..program_text import files_read, line_of_file

_SET = re.compile(
    rb"\b(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES=[\"']?\\?\$\{?"
    rb"(SLURM_PROCID|PMI_RANK|PALS_RANKID|OMPI_COMM_WORLD_RANK|PMIX_RANK|RANK)\b\}?(?=[\"'\s;]|$)"
)
_LOCALS = {
    b"SLURM_PROCID": b"SLURM_LOCALID", b"PMI_RANK": b"PMI_LOCAL_RANK", b"PALS_RANKID": b"PALS_LOCAL_RANKID",
    b"OMPI_COMM_WORLD_RANK": b"OMPI_COMM_WORLD_LOCAL_RANK", b"RANK": b"LOCAL_RANK",
}  # fmt: skip


@rule("MPL408", "devices are numbered by the rank of the whole job")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The GPUs of each node are counted from 0, the ranks of a job over all of its nodes.

    Wrong: CUDA_VISIBLE_DEVICES=$SLURM_PROCID, on two nodes with four tasks each
    Right: CUDA_VISIBLE_DEVICES=$SLURM_LOCALID
    Why:   on the second node ranks 4 to 7 name devices that are not there, and see none. `maple check` shows the
           change; at submission Maple only reports it. A file beside the script is read and not changed.
    """
    yield from _beyond(plan)
    step = next((wide for wide in plan.steps if (wide.nodes or 1) > 1 and (wide.tasks or 0) > (wide.nodes or 1)), None)
    if step is None or any(_beyond(plan)):
        return
    match = _SET.search(job.source) if b"_VISIBLE_DEVICES=" in job.source else None
    if match is not None:
        yield _finding(match, step, job, site)
        return
    for name, text in files_read(plan, job, b".sh"):
        match = _SET.search(text)
        if match is not None:
            says, local = (
                "%s gives each task the device of its rank in the whole job" % name,
                _LOCALS.get(match.group(1)),
            )
            there = (line_of_file(name, text, Span(*match.span(1)), local),) if local else ()
            yield Finding("MPL408", says, step.program_span or step.span, help="take the rank on the node",
                          elsewhere=there)  # fmt: skip
            return


def _beyond(plan: LaunchPlan) -> Iterator[Finding]:
    """Yield that a rank is given a device which no node has."""
    breaches = ((step, breach) for step in plan.steps for breach in step.breaches)
    for step, breach in [pair for pair in breaches if pair[1].kind == breach_kinds.DEVICE_BEYOND][:1]:
        says = "a rank is given device %s, and each node has %s, counted from 0" % (
            breach.numbers["device"], breach.numbers["node"])  # fmt: skip
        yield Finding("MPL408", says, step.program_span or step.span, help="take the rank on the node")


def _finding(match: "re.Match[bytes]", step: Step, job: Job, site: Site) -> Finding:
    words = rank_words(step.links[:1], site, job.source)
    local = words.local if words is not None and words.rank == match.group(1) else _LOCALS.get(match.group(1), b"")
    edit = Edit(Span(*match.span(1)), local, "MPL408")
    fixes = (Fix((edit,), Safety.ASK, "the device of the rank on its node"),) if local else ()
    says = "%s counts the tasks of all nodes, and the devices of each node begin with 0" % match.group(1).decode()
    return Finding("MPL408", says, Span(*match.span()), fixes=fixes, help="take the rank on the node")
