"""Ports that there are not."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from ...cures.launch_edits import pointed_at, replacements
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule

CODE = "MPL508"
USUAL, BY_JOB = b"29500", b"$((20000 + SLURM_JOB_ID % 20000))"
_BY_JOB = (rb"=[\"']?(?:\$\(\(\s*(?:\d+\s*\+\s*)?\$?\{?SLURM_JOB_?ID\}?\s*(?:\+\s*\d+\s*)?\)\)"
                     rb"|\$\{?SLURM_JOB_?ID\}?)[\"']?\Z")  # fmt: skip


@rule("MPL508", "the master's port is not a valid port")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A port is a number up to 65535.

    Wrong: --rdzv-endpoint=$HEAD:$MASTER_PORT, where nothing sets MASTER_PORT
    Wrong: MASTER_PORT=295000, or MASTER_PORT=$((10000 + SLURM_JOB_ID)) once job ids are beyond 55535
    Wrong: --nnodes=2 ... --rdzv-endpoint=$HEAD:0, where each agent would take a port of its own
    Right: MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
    Why:   torchrun ends with: The port number of the rendezvous endpoint must be an integer between 0 and 65536 (torch
           2.13.0). Where there is none, torch's usual one is written; a sum with the job id is only reported.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.NO_PORT:
                yield _finding(step, breach, job)
    for name, spans in plan.assigned.items():
        for span in spans if plan.steps and name.upper().endswith(b"PORT") else ():
            if re.search(_BY_JOB, job.source[span.start : span.end]):
                edit = Edit(span, name + b"=" + BY_JOB, CODE)
                fix = Fix((edit,), Safety.ASK, "keep it in range: " + BY_JOB.decode())
                yield Finding(CODE, "the port is too large once job ids exceed 65535", span, fixes=(fix,),
                              help="keep it in range: " + BY_JOB.decode())  # fmt: skip


def _finding(step: Step, breach: Breach, job: Job) -> Finding:
    port = breach.texts["port"]
    ways = replacements(port, (USUAL,), CODE, job.source)
    safety = Safety.ASK if port.raw else Safety.SAFE
    fixes: Tuple[Fix, ...] = tuple(Fix(tuple(edits), safety, "use 29500, the default port of torch") for edits in ways)
    if "array" in job.settings:  # its tasks may share a node, where one port serves one of them
        own = replacements(port, (BY_JOB,), CODE, job.source)
        fixes = (
            tuple(Fix(tuple(edits), safety, "a port of each job's own: " + BY_JOB.decode()) for edits in own) + fixes
        )
    fixes = _unquoted(step, job) + fixes if port.raw[:1] == b"$" else fixes
    return Finding(
        CODE, _says(port.raw), pointed_at(port, step), True, fixes=fixes, help="set a number from 1024 to 65535"
    )


def _unquoted(step: Step, job: Job) -> Tuple[Fix, ...]:
    """Write double quotes for the single ones that keep this shell, and every other one, from expanding the words."""
    line = job.source[step.span.start : step.span.end]
    match = re.search(rb"'(\$\{?\w+\}?:\$\{?\w+\}?)'", line)
    if match is None:
        return ()
    spans = (Span(step.span.start + at, step.span.start + at + 1) for at in (match.start(), match.end() - 1))
    return (Fix(tuple(Edit(span, b'"', CODE) for span in spans), Safety.SAFE, "let the shell expand the endpoint"),)


def _says(port: bytes) -> str:
    if not port:
        return "the master's port is empty"
    if not port.strip(b"0"):
        return "port 0 is a random port, which other nodes cannot find"
    return "%s is not a valid port" % port.decode("utf-8", "replace")
