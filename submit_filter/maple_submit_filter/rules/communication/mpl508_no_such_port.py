"""Ports that there are not."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...cures.launch_edits import pointed_at, replacements
from ...plan import breach_kinds
from ...play.arithmetic import Bounds
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule
from .rendezvous import port_bounds, written

CODE = "MPL508"
USUAL, BY_JOB = b"29500", b"$((20000 + SLURM_JOB_ID % 20000))"
_OF_PBS, _BY_CHANCE = b"$((20000 + ${PBS_JOBID%%.*} % 20000))", b"$((20000 + RANDOM % 20000))"
_LAST, _FIRST_FREE = 65535, 1024  # below it only root may listen
_GIVEN = rb"(?:[-_]port[= ]|:)[\"']?(\$\(\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)\))"


@rule("MPL508", "the master's port is not a valid port")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A port is a number up to 65535.

    Wrong: --rdzv-endpoint=$HEAD:$MASTER_PORT, where nothing sets MASTER_PORT
    Wrong: MASTER_PORT=295000, or MASTER_PORT=$((10000 + SLURM_JOB_ID)) once job ids are beyond 55535
    Wrong: MASTER_PORT=$((60000 + SLURM_JOB_ID % 10000)), MASTER_PORT=$((SLURM_JOB_ID % 1000)), $((RANDOM + 40000))
    Wrong: MASTER_PORT=$PBS_JOBID, which is 123456.server
    Wrong: --nnodes=2 ... --rdzv-endpoint=$HEAD:0, where each agent would take a port of its own
    Right: MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
    Why:   torchrun ends with: The port number of the rendezvous endpoint must be an integer between 0 and 65536 (torch
           2.13.0); ports below 1024 are for root alone. Where there is none, torch's usual one is written; a sum that
           leaves the range for some jobs is reported, with one that stays in it.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.NO_PORT:
                yield _finding(step, breach, job)
    yield from _by_id_alone(plan, job)
    if not any(breach.kind == breach_kinds.NO_PORT for step in plan.steps for breach in step.breaches):
        yield from _as_written(plan, job)
    for span, kept, value in _worked_out(plan, job.source):
        says = _out_of_range(port_bounds(value, job.source, plan.assigned))
        if says:
            own = _in_range(value, job)
            fix = Fix((Edit(span, kept + own, CODE),), Safety.ASK, "keep it in range: " + own.decode())
            yield Finding(CODE, says, span, fixes=(fix,), help="keep it in range: " + own.decode())


def _as_written(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that a port is no number of a port by the words alone, whatever reads it."""
    for place in written(plan, job.source, "port"):
        value = place.value.strip(b"\"'")
        number = int(value) if value.isdigit() and len(value) < 10 else None
        if value.isalpha() or number is not None and not _FIRST_FREE <= number <= _LAST and number:
            says = "%s is for root alone" % number if number and number < _FIRST_FREE else _says(value)
            fix = Fix((Edit(place.span, USUAL, CODE),), Safety.ASK, "use 29500, the default port of torch")
            yield Finding(CODE, says, place.span, fixes=(fix,), help="set a number from 1024 to 65535")


_ID = re.compile(rb"[\"']?\$\{?PBS_JOBID\}?[\"']?")


def _by_id_alone(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that a port is the id of the job, which PBS writes 123456.server."""
    own = _in_range(b"", job)
    for span, kept, value in _worked_out(plan, job.source) if is_pbs(job) else ():
        if _ID.fullmatch(value):
            edit = Edit(span, kept + own, CODE)
            fix = Fix((edit,), Safety.ASK, "keep it in range: " + own.decode(), harmless=True)
            yield Finding(CODE, "the id of the job is 123456.server, which is no port", span,
                          fixes=() if "array" in job.settings else (fix,), help="ports end at %d" % _LAST)  # fmt: skip


def _worked_out(plan: LaunchPlan, source: bytes) -> Iterator[Tuple[Span, bytes, bytes]]:
    """Yield where a port is worked out, what is to stay in front of it, and how it is."""
    ends = set()
    for name, spans in plan.assigned.items():
        for span in spans if plan.steps and name.upper().endswith(b"PORT") else ():
            ends.add(span.end)
            yield span, name + b"=", source[span.start : span.end].partition(b"=")[2]
    for place in written(plan, source, "port") if plan.steps else ():
        if place.span.end not in ends:
            yield place.span, b"", place.value
    for step in plan.steps:
        start = step.span.start
        for match in re.finditer(_GIVEN, source[start : step.span.end]) if b"$((" in source else ():
            yield Span(start + match.start(1), start + match.end(1)), b"", match.group(1)


def _out_of_range(bounds: Optional[Bounds]) -> str:
    """Return what is said of ports of which some are none; "" where nearly all are."""
    if bounds is not None and bounds[1] > _LAST:
        return "the port can come to %d, and the last one is %d" % (bounds[1], _LAST)
    if bounds is not None and bounds[0] >= 0 and bounds[0] + bounds[1] < 2 * _FIRST_FREE:
        return "the port is from %d to %d, and those below %d are for root" % (*bounds, _FIRST_FREE)
    return ""


def _in_range(value: bytes, job: Job) -> bytes:
    if b"RANDOM" in value and b"JOB" not in value:
        return _BY_CHANCE
    return _OF_PBS if is_pbs(job) else BY_JOB


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
