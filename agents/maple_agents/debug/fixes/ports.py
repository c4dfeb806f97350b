"""A port that follows from the job, in place of one that is written down."""

from __future__ import annotations

import re

from maple_submit_filter.edits import Edit, Fix, Safety, Span

from .given import Given, fix

JOB = {"slurm": b"SLURM_JOB_ID", "pbs": b"PBS_JOBID"}
LEAST, PORTS = 20000, 10000  # below the ports that Linux gives to callers (32768 and up)
_PORT = re.compile(rb"[0-9]{2,5}\Z")
_OPTIONS = ("master-port", "main-process-port", "rdzv-endpoint")


@fix("port-of-job")
def port_of_job(given: Given) -> Fix | None:
    """Take 20000 to 29999, by the job's id: two jobs on a node then meet one time in ten thousand.

    The port must be a written number: of MASTER_PORT or of a launcher's option in the batch shell. It stands before the
    tasks start, so that it is the same for all.
    """
    edits = [*_of_variable(given), *_of_options(given)]
    return Fix(tuple(edits), Safety.SAFE, "the port follows from the job's id") if edits else None


def expression(scheduler: str) -> bytes:
    """Return the port as bash reckons it; a PBS id has the server's name behind it, an array's its index in brackets."""
    if scheduler == "pbs":
        return b"$((%d + ${PBS_JOBID%%%%[^0-9]*} %% %d))" % (LEAST, PORTS)
    return b"$((%d + SLURM_JOB_ID %% %d))" % (LEAST, PORTS)


def _of_variable(given: Given) -> list[Edit]:
    source, new = given.job.source, expression(given.case.scheduler)
    found = []
    for span in given.plan.assigned.get(b"MASTER_PORT", ()):
        match = re.compile(rb"MASTER_PORT=([\"']?)(\d{2,5})\1(?=[\s;&|)]|\Z)").match(source, span.start)
        if match:
            found.append(Edit(Span(match.start(1), match.end(2) + len(match[1])), new, "port-of-job"))
    return found


def _of_options(given: Given) -> list[Edit]:
    """Change ports written on launch lines that the batch shell itself expands."""
    found = []
    for link in (link for step in given.plan.steps for link in step.links if link.quoted != b"'"):
        for option in (link.option(name) for name in _OPTIONS):
            if option is None or option.value_span is None:
                continue
            written = given.job.source[slice(*option.value_span)]
            port = _PORT.search(written.rpartition(b":")[2])
            if port is not None and (option.name != "rdzv-endpoint" or b":" in written):
                end = option.value_span.end
                span = Span(end - len(port[0]), end)
                found.append(Edit(span, expression(given.case.scheduler), "port-of-job"))
    return found
