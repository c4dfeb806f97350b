"""A port that follows from the job, in place of one that is written down."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maple_submit_filter.cures import launch_edits
from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.launch_plan import Link, Step
from maple_submit_filter.types.text import Text

from ....request.script.walk import context, texts
from ..registry import Given, fix
from .insertion import line

LEAST, PORTS = 20000, 10000  # below the ports that Linux gives to callers (32768 and up)
_NUMBER = re.compile(rb"[0-9]{2,5}\Z")
_OPTIONS = ("master-port", "main-process-port", "rdzv-endpoint")
_ASSIGNED = re.compile(rb"(?:MASTER_PORT|MAIN_PROCESS_PORT)=([\"']?)(\d{2,5})\1(?=[\s;&|)]|\Z)")
_RENDEZVOUS = ("rdzv-endpoint", "rdzv-backend", "standalone")


@fix("port-of-job")
def port_of_job(given: Given) -> Fix | None:
    """Take 20000 to 29999, by the job's id: two jobs on a node then meet one time in ten thousand.

    The port may be written in MASTER_PORT, in a launcher's option, or in a variable that becomes one; where none is
    written, the launcher is told one in place of its own default. Launches that run beside each other, and a port that
    the log does not speak of, or that stands where it cannot be changed as well, are left alone.
    """
    if _beside_each_other(given):
        return None
    edits = [*_of_variables(given), *_of_options(given)] or _with_port(given)
    edits = edits or _of_environment(given)
    if _stays(given, edits):
        return None
    return Fix(tuple(dict.fromkeys(edits)), Safety.SAFE, "the port is derived from the job id") if edits else None


def _stays(given: Given, edits: list[Edit]) -> bool:
    """Return whether a number that is changed stands elsewhere as well, where half of the ranks may read it."""
    source = given.job.source
    numbers = {match[0] for edit in edits for match in re.finditer(rb"\d{2,5}", source[slice(*edit.span)])}
    for other in re.finditer(rb"^[ \t]*(?:#[^\n]*|echo\b[^\n>|]*$)|(?<![\w.])\d{2,5}(?![\w.])", source, re.MULTILINE):
        if other[0] in numbers and not any(edit.span.start <= other.start() < edit.span.end for edit in edits):
            return True
    return False


def expression(given: Given) -> bytes:
    """Return the port as bash reckons it; a PBS id has the server's name behind it.

    Tasks of a Slurm array have ids of their own. Those of a PBS array share the number of theirs, so the index counts.
    """
    if given.case.scheduler != "pbs":
        return b"$((%d + SLURM_JOB_ID %% %d))" % (LEAST, PORTS)
    number = b"${PBS_JOBID%%[^0-9]*}"
    if "array" in given.job.settings:
        number = b"(%s * 100 + ${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-0}})" % number
    return b"$((%d + %s %% %d))" % (LEAST, number, PORTS)


def _beside_each_other(given: Given) -> bool:
    """Return whether several launches that want a port run at once: one port of the job would not do for them."""
    steps = [step for step in given.plan.steps if any(link.name in AGENTS for link in step.links)]
    return len(steps) > 1 and any(step.background for step in steps)


def _meant(given: Given, port: bytes) -> bool:
    """Return whether the log speaks of this port, or of none."""
    caught = given.caught("port").encode("ascii", "replace")
    return not caught or caught == port


def _of_variables(given: Given) -> Iterator[Edit]:
    source = given.job.source
    for name in (b"MASTER_PORT", b"MAIN_PROCESS_PORT"):
        for span in given.plan.assigned.get(name, ()):
            match = _ASSIGNED.match(source, span.start)
            if match and _meant(given, match[2]) and _expands(given, span.start):
                yield Edit(Span(match.start(1), match.end(2) + len(match[1])), expression(given), "port-of-job")


def _of_options(given: Given) -> Iterator[Edit]:
    """Change ports in options of launchers: where a variable holds the number, at its assignment."""
    for link in _links(given):
        for option in (link.option(name) for name in _OPTIONS):
            port = _port_of(option.value, option.name) if option is not None and option.value is not None else None
            span = port.span() if port is not None else None
            if port is None or span is None or not _meant(given, port.raw) or not _expands(given, span.start):
                continue
            yield from _unquoted(given, span)


def _port_of(value: Text, name: str) -> Text | None:
    """Return the part of an option's value that is a written port."""
    raw = value.raw
    if name == "rdzv-endpoint":
        at = raw.rfind(b":") + 1
        value = value.slice(at) if at else Text()
    return value if _NUMBER.match(value.raw) and value.literal else None


def _unquoted(given: Given, span: Span) -> Iterator[Edit]:
    """Put the expression at the number; single quotes around the number alone would keep bash from reckoning."""
    source = given.job.source
    before, behind = source[span.start - 1 : span.start], source[span.end : span.end + 1]
    if before == b"'" and behind == b"'":
        span = Span(span.start - 1, span.end + 1)
    yield Edit(span, expression(given), "port-of-job")


def _expands(given: Given, offset: int) -> bool:
    """Return whether a shell that knows the job's id reads this place."""
    inside = context(texts(given.job.source), offset)
    if inside is None or inside.quote in (b'"', b"<"):
        return not _in_single_quotes(given.job.source, offset)
    outer = [step.links[0].name for step in given.plan.steps if step.links and _within(step, offset)]
    return given.case.scheduler == "slurm" and bool(outer) and set(outer) == {"srun"}


def _in_single_quotes(source: bytes, offset: int) -> bool:
    """Return whether a word in single quotes holds more than the number, as in `'host:29500'`."""
    start, end = source.rfind(b"\n", 0, offset) + 1, source.find(b"\n", offset)
    text = source[start : len(source) if end < 0 else end]
    at = offset - start
    for match in re.finditer(rb"\"(?:[^\"\\]|\\.)*\"|'[^']*'", text):
        if match.start() < at < match.end() and match[0][:1] == b"'":
            return not re.fullmatch(rb"'\d+'", match[0])
    return False


def _within(step: Step, offset: int) -> bool:
    return step.span.start <= offset < step.span.end


def _links(given: Given) -> Iterator[Link]:
    return (link for step in given.plan.steps for link in step.links)


def _with_port(given: Given) -> list[Edit]:
    """Tell launchers that were told no port one of the job's own."""
    if b"MASTER_PORT" in given.plan.assigned or b"MASTER_PORT" in given.job.submission.environment:
        return []
    edits: list[Edit] = []
    for link in _links(given):
        agent = AGENTS.get(link.name)
        spelled = any(link.option(option) is not None for option in (*_OPTIONS, *_RENDEZVOUS, "config-file"))
        if agent is None or spelled or link.open or not _meant(given, agent.port_unsaid):
            continue
        if link.options_at is None or not _expands(given, link.options_at):
            return []
        edits += launch_edits.put(link, [(agent.port, expression(given))], "port-of-job") or []
    return edits


def _of_environment(given: Given) -> list[Edit]:
    """A port that came with the submit command's environment is overruled in the script."""
    port = given.job.submission.environment.get(b"MASTER_PORT", b"")
    if not _NUMBER.match(port) or not _meant(given, port) or b"MASTER_PORT" in given.plan.assigned:
        return []
    edit = line(given, b"export MASTER_PORT=" + expression(given), "port-of-job")
    return [edit] if edit else []
