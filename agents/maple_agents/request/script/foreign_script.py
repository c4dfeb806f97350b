"""A batch script of any cluster -> slots, and the parts of it that are bound to that cluster."""

from __future__ import annotations

import os
import re
from typing import Annotated

from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.request.slurm.script_lines import interpreter
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.submission import Submission
from pydantic import Field

from ...base import tables
from ...base.slots import Refused
from ...base.tables import Part, Table, paths
from .launches import Body, launches
from .parts import Foreign
from .regions import regions
from .slots import slots
from .walk import simple_commands, texts

COMMANDS = {"slurm": (b"sbatch", b"--ignore-pbs"), "pbs": (b"qsub",)}
GENERIC = {"slurm": GENERIC_SLURM, "pbs": GENERIC_PBS}
HOME = b"/home/user"  # what stands in for the user's own; no value of the plan depends on where it is


def read(script: bytes, scheduler: str | None = None, path: bytes = b"") -> Foreign:
    """Return what *script* says and the parts that it has.

    *scheduler*: "slurm" or "pbs", None: by its directives and commands. *path*: where it lies, so that files beside it
    that its launch needs are read; b"": none are. Raises `Refused` with one line that says why it cannot be read: it is
    no shell script, or starts nothing.
    """
    source, notes = readable(script)
    kind = scheduler_of(source, scheduler)
    job = job_of(source, kind, path)
    site_id = origin(job, _sites())
    return at_site(job, _site(site_id, kind), site_id, notes)


def at_site(job: Job, site: Site, site_id: str, notes: tuple[str, ...] = ()) -> Foreign:
    """Return the script as its own *site* takes it. Raises `Refused` where it starts nothing that is known."""
    state = examined(job, site)
    body = Body(job.source, simple_commands(job.source), texts(job.source))
    lines = launches(state.plan, body)
    if not lines:
        raise Refused(_nothing(state.plan.unread))
    wrong = tuple(sorted({finding.code for finding in state.proven()}))
    own = slots(job, state.plan, lines, body.commands, site_id)
    return Foreign(
        job.source,
        job.submission.scheduler,
        site_id,
        own,
        regions(job, body, lines),
        lines,
        job,
        state.plan,
        wrong,
        notes,
    )


def again(source: bytes, foreign: Foreign) -> Foreign | None:
    """Return a changed source read as the script was; None where it starts nothing that is known."""
    path = foreign.job.submission.path if foreign.job.read is not None else b""
    try:
        return at_site(job_of(source, foreign.scheduler, path), site_of(foreign), foreign.site, foreign.notes)
    except Refused:
        return None


def site_of(foreign: Foreign) -> Site:
    """Return the cluster that the script was written for; where it is not known, any of its scheduler."""
    return _site(foreign.site, foreign.scheduler)


def _nothing(unread: tuple[tuple[int, str], ...]) -> str:
    if unread:
        return "line %d: %s, so it is not known what the script starts" % unread[0]
    return "the script starts no program that could train: there is nothing to carry"


def job_of(source: bytes, scheduler: str, path: bytes = b"") -> Job:
    """Return the script as the scheduler's command would take it. Raises `Refused` where it would not."""
    command = COMMANDS[scheduler]
    text = source if source.startswith(b"#!") else b"#!/bin/bash\n" + source
    folder = os.path.dirname(os.path.abspath(path)) if path else b"/nowhere"
    argv = (*command, path or b"job.sh")
    asked = Submission(scheduler, argv, text, "file", path or b"job.sh", folder, -1, {b"HOME": HOME}, whole=False)
    job = understood(asked, read_file if path else None)
    if job is None:
        mark = SCHEDULERS[scheduler].decode()
        raise Refused("a job of several components, or one whose %s lines cannot be read, is not carried" % mark)
    return job


def _sites() -> list[Site]:
    from ...ask import sites

    return [site for site in map(_loaded, sites.ids()) if site is not None]


def _loaded(site_id: str) -> Site | None:
    """Return the site; None where its file is wrong, which is no reason not to read a script."""
    from ...ask import sites

    try:
        return sites.load(site_id)
    except ValueError:
        return None


def _site(site_id: str, scheduler: str) -> Site:
    return (_loaded(site_id) if site_id else None) or GENERIC[scheduler]


# Which scheduler a script speaks to, and whether it is one that can be read at all.

LONGEST = 512 * 1024  # bytes, as the submit path reads
SCHEDULERS = {"slurm": b"#SBATCH", "pbs": b"#PBS"}
_WORDS = {
    "slurm": re.compile(rb"\$\{?SLURM_|\bscontrol\b|\bsrun\b|\bsbatch\b|\bibrun\b"),
    "pbs": re.compile(rb"\$\{?(?:PBS|PALS)_|\bqsub\b|\bpbsdsh\b|\bqstat\b"),
}
_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)


def readable(script: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the script with the line ends of Unix, and what was done to it. Raises `Refused` with one line."""
    if not script.strip():
        raise Refused("the script is empty: name one that starts a training")
    if len(script) > LONGEST:
        raise Refused("the script is longer than %d KiB: no batch script is" % (LONGEST // 1024))
    if b"\0" in script:
        raise Refused("line %d: a NUL byte: this is no text" % (script[: script.index(b"\0")].count(b"\n") + 1))
    source = script.replace(b"\r\n", b"\n")
    shebang, shell = interpreter(source)
    if shebang and not shell:
        raise Refused("line 1: a script of %s: only those of bash and its kind are read" % _name(shebang))
    if source == script:
        return source, ()
    return source, ("the line ends of Windows became those of Unix: schedulers refuse the others",)


def _name(shebang: bytes) -> str:
    words = [word for word in shebang.split() if not word.startswith(b"-")]
    last = words[1] if len(words) > 1 and os.path.basename(words[0]) == b"env" else words[0] if words else shebang
    return os.path.basename(last).decode("utf-8", "backslashreplace")


def scheduler_of(source: bytes, wanted: str | None = None) -> str:
    """Return "slurm" or "pbs": what was *wanted*, else by the directives, and by the words where both or none stand."""
    if wanted in SCHEDULERS:
        return wanted
    lines = source.split(b"\n")
    directives = {name: sum(line.startswith(mark) for line in lines) for name, mark in SCHEDULERS.items()}
    named = [name for name, count in directives.items() if count]
    if len(named) == 1:
        return named[0]
    body = _COMMENT.sub(b"", source)
    words = {name: len(pattern.findall(body)) for name, pattern in _WORDS.items()}
    if words["slurm"] == words["pbs"]:
        words = directives
    return "pbs" if words["pbs"] > words["slurm"] else "slurm"


# For which cluster a script was written, by what only that cluster has.

KIND = "origins"
ENOUGH = 3  # points; a partition that only one site has is as good as proof
_COMMENT_LINE = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*(?:module|ml)\b.*$", re.MULTILINE)
_PLACES = ("partition", "queue", "qos")


class Signal(Table):
    """One thing that points to *site*: a regular expression for what stands at *where*."""

    site: str
    where: str
    pattern: str
    points: Annotated[int, Field(ge=1, le=3)]


class Signals(Part):
    """A file of signals."""

    signal: list[Signal]


def signals() -> list[Signal]:
    """Return every signal. Raises `ValueError` with a line for each mistake where a file is wrong."""
    return [signal for path in paths(KIND).values() for signal in tables.read(Signals, path).signal]


def origin(job: Job, sites: list[Site]) -> str:
    """Return the id of the one site of *sites* that the script was written for, "" where that is not clear."""
    points = {site.id: 0 for site in sites if site.scheduler == job.submission.scheduler}
    here = [site for site in sites if site.id in points]
    for site_id, count in (*_placed(job, here), *_launched(job, here), *_signalled(job, here)):
        points[site_id] += count
    best = sorted(points.items(), key=lambda pair: -pair[1])
    if not best or best[0][1] < ENOUGH or (len(best) > 1 and best[1][1] == best[0][1]):
        return ""
    return best[0][0]


def _placed(job: Job, sites: list[Site]) -> list[tuple[str, int]]:
    """Names of partitions, queues and QOS that a site has, and those that it surely has not."""
    from ...ask.sites import ANYBODYS

    out: list[tuple[str, int]] = []
    for kind in _PLACES:
        value = (job.settings.value(kind) or b"").decode("utf-8", "replace")
        for name in filter(None, (part.strip() for part in value.split(","))):
            have = [
                site.id
                for site in sites
                if any((partition.name, partition.selector) == (name, kind) for partition in site.partitions)
            ]
            own = len(have) == 1 and name not in ANYBODYS.split()
            share = ENOUGH if own else 2 if len(have) <= 2 else 1
            out += [(site_id, share) for site_id in have]
            lack = [site.id for site in sites if site.partitions_complete and kind != "qos" and site.id not in have]
            out += [(site_id, -2 * ENOUGH) for site_id in lack]
    return out


def _launched(job: Job, sites: list[Site]) -> list[tuple[str, int]]:
    """Launchers that a site has and others do not, or that it surely lacks."""
    body = _COMMENT_LINE.sub(b"", job.source)
    out: list[tuple[str, int]] = []
    for name in ("ibrun",):
        if re.search(rb"(?<![\w/.-])%s[ \t]" % name.encode(), body):
            out += [(site.id, 2) for site in sites if site.launcher(name) in ("preferred", "present")]
            out += [(site.id, -ENOUGH) for site in sites if site.launcher(name) == "absent"]
    return out


def _signalled(job: Job, sites: list[Site]) -> list[tuple[str, int]]:
    known = {site.id for site in sites}
    body = _COMMENT_LINE.sub(b"", job.source).decode("utf-8", "replace")
    modules = "\n".join(_MODULE.findall(body))
    out: list[tuple[str, int]] = []
    for signal in signals():
        text = {"text": body, "module": modules}.get(signal.where)
        if text is None:
            text = (job.settings.value(signal.where) or b"").decode("utf-8", "replace")
        if signal.site in known and text and re.search(signal.pattern, text):
            out.append((signal.site, signal.points))
    return out
