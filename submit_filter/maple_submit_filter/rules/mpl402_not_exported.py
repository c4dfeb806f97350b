"""What a task reads must have been exported."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from ..edits import Fix, Safety
from ..findings import Finding
from ..fixes import exported, first_node_fixes
from ..job import Job
from ..launch import Breach, LaunchPlan, Step
from ..site import Site
from . import rule


@rule("MPL402", "a variable is empty in the tasks because it was never exported")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Tasks are new processes: of the batch script's variables they see those that were exported.

    Wrong: HEAD=$(hostname) ... srun bash -c 'torchrun --master-addr=$HEAD ...'
    Right: export HEAD=$(hostname) ... srun bash -c 'torchrun --master-addr=$HEAD ...'
    Why:   inside the single quotes the task's own shell looks HEAD up, finds nothing, and the option is empty.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == "master-empty":
                yield _finding(step, breach, plan, job, site)
            if breach.kind == "option-empty":
                yield _empty(step, breach, plan, job)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    names = _read_by(step, breach.names, job)
    shown = _listed(names)
    says = "%s is empty in the tasks: it is set but not exported" % shown if names else "the master's address is empty"
    edits = exported(plan, names, "MPL402") if names else None
    fixes = [Fix(tuple(edits), Safety.SAFE, "export " + shown)] if edits else []
    if not names:
        fixes = list(first_node_fixes(breach.texts.get("master"), site, "MPL402", job.source))
    at = edits[0].span if edits else step.span
    return Finding("MPL402", says, at, True, fixes=tuple(fixes), help="export it" if names else "name the first node")


def _empty(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    """An option other than the master's address came out empty."""
    name = breach.texts["option"].raw.decode()
    option = step.links[-1].option(name) if step.links else None
    span = option.span if option is not None else None
    names = _names_in(job.source[span.start : span.end], breach.names) if span is not None else ()
    edits = exported(plan, names, "MPL402") if names else None
    fixes = (Fix(tuple(edits), Safety.SAFE, "export " + _listed(names)),) if edits else ()
    says = "--%s is empty in the tasks" % name + (": %s is set but not exported" % _listed(names) if names else "")
    return Finding("MPL402", says, span or step.span, True, fixes=fixes, help="see where its value comes from")


def _listed(names: Tuple[bytes, ...]) -> str:
    return ", ".join(name.decode("ascii", "replace") for name in names)


def _names_in(written: bytes, names: Tuple[bytes, ...]) -> Tuple[bytes, ...]:
    used = set(re.findall(rb"\$\{?([A-Za-z_]\w*)", written))
    return tuple(dict.fromkeys(name for name in names if name in used))


def _read_by(step: Step, names: Tuple[bytes, ...], job: Job) -> Tuple[bytes, ...]:
    """Return those of the names that the launch line itself reads, or that programs read by convention."""
    line = job.source[step.span.start : step.span.end]
    used = set(re.findall(rb"\$\{?([A-Za-z_]\w*)", line)) | {b"MASTER_ADDR", b"MASTER_PORT"}
    return tuple(dict.fromkeys(name for name in names if name in used))
