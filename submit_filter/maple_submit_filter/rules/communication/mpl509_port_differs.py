"""One port that all nodes agree on."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...cures.launch_edits import pointed_at, replacements
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import FileLine, Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from ...types.text import Text
from .. import rule
from ..program_text import files_read, line_of_file

_BY_JOB = b"$((20000 + $SLURM_JOB_ID % 20000))"  # the dollar is what says that a shell expands it
_USUAL = b"29500"
_DRAWN = re.compile(rb"\$\(\([^()]*?\$?\b(RANDOM|SLURM_(?:PROCID|LOCALID|NODEID))\b *% *\d+[^()]*\)\)")


@rule("MPL509", "each node uses another port")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """All ranks of a run meet at one port; a number that each task draws for itself differs by node.

    Wrong: srun bash -c 'MASTER_PORT=$((20000 + RANDOM % 10000)) torchrun ... --master-port=$MASTER_PORT ...'
    Right: export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000)), in the batch script, before srun
    Why:   the other nodes try a port on which nothing listens, without a message, until the rendezvous times out.
           Where a file that each task runs draws the number, its line is shown as it should be.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.PORT_DIFFERS:
                yield _finding(step, breach, plan, job)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    port = breach.texts.get("port")
    new = _USUAL if job.submission.scheduler == "pbs" else _BY_JOB
    ways = _drawn_by_job(port, step, plan, job) + replacements(port, (new,), "MPL509", job.source)
    fixes = tuple(Fix(tuple(edits), Safety.SAFE, "use one port for all nodes") for edits in ways)
    return Finding(
        "MPL509",
        "each node uses a different port",
        pointed_at(port, step),
        True,
        fixes=fixes,
        help="choose the port once, in the batch script, and export it",
        elsewhere=() if fixes else _in_file(new, plan, job),
    )


_OWN = re.compile(rb"(?m)^[^#\n]*\bMASTER_PORT=(\"?\$\(\([^()\n]*\)\)\"?|\"?\$\((?:[^()\n]|\([^()\n]*\))*\)\"?)")


def _in_file(new: bytes, plan: LaunchPlan, job: Job) -> Tuple[FileLine, ...]:
    """Return what a file that each task runs should set, where one line of it draws the port."""
    drawn = [(name, text, match) for name, text in files_read(plan, job) for match in _OWN.finditer(text)]
    return tuple(line_of_file(name, text, Span(*match.span(1)), new) for name, text, match in drawn if len(drawn) == 1)


def _drawn_by_job(port: Optional[Text], step: Step, plan: LaunchPlan, job: Job) -> List[List[Edit]]:
    """Have the user's own sum begin with the job's number where it begins with one that each task has for itself."""
    at = port.written() if port is not None else None
    if at is None or job.submission.scheduler == "pbs":
        return []
    spans = [at, *(span for spans in plan.assigned.values() for span in spans if step.span.start <= span.start)]
    drawn = [match for span in spans for match in _DRAWN.finditer(job.source, *span)]
    return [[Edit(Span(*drawn[0].span(1)), b"SLURM_JOB_ID", "MPL509")]] if len(drawn) == 1 else []
