"""What ssh and pbsdsh start has neither the folder nor the environment of the script."""

from __future__ import annotations

import re
from itertools import chain
from typing import Iterator, List, Optional

from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

# Options of ssh, those with a value and those without; a host; a command in quotes, or in words of its own.
_ALONE = rb"[ \t]+-[46AaCfGgKkMNnqsTtVvXxYy]+"
_OPTIONS = rb"(?:[ \t]+-[bcDEeFIiJLlmOopQRSWw][ \t]*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"';|&]+)|" + _ALONE + rb"(?=[ \t]))*"
_HOST = rb"[ \t]+(?:\"[^\"\s-][^\"\n]*\"|\$\([^)\n]*\)|[^\s\"';|&-][^\s\"';|&]*)(?:" + _ALONE + rb")*[ \t]+"
_LINE = re.compile(
    rb"(?m)^(?P<head>(?![ \t]*#)[^\n#]*?\bssh\b" + _OPTIONS + _HOST + rb")"
    rb"(?:(?P<quote>[\"'])(?P<line>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote))"
)
_UNQUOTED = re.compile(
    rb"(?m)^(?P<head>(?:[^\n#\"']*[;&|][ \t]*)?[ \t]*(?:(?:do|then|else|time|nohup)[ \t]+)?ssh"
    + _OPTIONS
    + _HOST
    + rb")(?P<quote>)(?P<line>(?:torchrun|accelerate|deepspeed|python3?)[ \t][^\n;&|]*)"
)
_PBSDSH = re.compile(
    rb"(?m)^[ \t]*(?P<head>pbsdsh(?:[ \t]+-[a-z]+(?:[ \t]+\d+)?)*[ \t]+(?:--[ \t]+)?)"
    rb"(?P<line>(?:torchrun|python3?|deepspeed|accelerate)\b[^\n]*)"
)
_STARTS = re.compile(rb"\b(?:torchrun|python3?|accelerate[ \t]+launch|deepspeed)\b")
_FILE = re.compile(rb"(?<=[ \t=\"])(?![/~$-])[\w.][\w./-]*\.py\b")
_MOVES = re.compile(rb"\b(?:cd|pushd|chdir)\b|--chdir|-C[ \t]|\bbash\b|\bsh[ \t]")


@rule("MPL411", "ssh starts in the home directory")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """ssh and pbsdsh give what they start a new login: the folder and the variables of the script stay behind.

    Wrong: ssh $h "torchrun --nnodes=2 ... train.py" &
    Right: ssh $h "cd $PBS_O_WORKDIR && source venv/bin/activate && torchrun --nnodes=2 ... train.py" &
    Why:   the other nodes say: can't open file train.py, or: torchrun: command not found. Maple only shows the change:
           the program may lie in the home directory.
    """
    match = _first(joined(job.source)) if b"ssh " in job.source or b"pbsdsh" in job.source else None
    if match is None:
        yield from _in_written_script(plan, job) if b"pbsdsh" in job.source else ()
        yield from _not_activated(job) if b"ssh " in job.source else ()
        return
    line, start = match.group("line"), match.start("line")
    program = _FILE.search(line)
    if program is None:
        yield from _not_activated(job) if b"ssh " in job.source else ()
        return
    here = b'cd "$PBS_O_WORKDIR" && ' if is_pbs(job) else b'cd "$SLURM_SUBMIT_DIR" && '
    name = "pbsdsh" if b"pbsdsh" in match.group("head") else "ssh"
    says = "%s starts in the home directory, where %s is looked for" % (
        name,
        program.group().decode("utf-8", "replace"),
    )
    fix = _moved(match, here, job.source) if name == "ssh" else _in_shell(match, here, job.source)
    yield Finding("MPL411", says, Span(start + program.start(), start + program.end()),
                  fixes=(fix,) if fix is not None else (),
                  help="change to the folder, and activate what is needed, in the command itself")  # fmt: skip


_ACTIVATES = (
    rb"(?m)^[ \t]*((?:source|\.)[ \t]+\S*(?:activate|conda\.sh)\b[^\n;&|#]*|(?:conda|mamba)[ \t]+activate\b[^\n;&|#]*"
    rb"|(?:module|ml)[ \t]+(?:load[ \t]+)?(?!purge|reset|list|avail|unload|use)\w[^\n;&|#]*)"
)
_KNOWS = (
    rb"activate|\bsource\b|(?:^|[;&\s])\.[ \t]|\bmodule\b|\bml[ \t]|PATH|\bbash\b|\bsh[ \t]|conda|apptainer|singularity"
    rb"|env\.sh|profile"
)
_BARE = rb"(?:^|(?<=[;&|\s]))(?:exec[ \t]+)?(?:torchrun|accelerate[ \t]+launch|deepspeed|python3?)(?=[ \t])"


def _not_activated(job: Job) -> Iterator[Finding]:
    """Yield that a program is looked up in a login that has not activated what the script has."""
    source = joined(job.source)
    for match in chain(_LINE.finditer(source), _UNQUOTED.finditer(source)):
        line, start = match.group("line"), match.start("line")
        program = re.search(_BARE, line)
        done = _activated(source, match.start())
        if program is None or not done or re.search(_KNOWS, line):
            continue
        at = start + program.start()
        words = b"; ".join(done) + b"; "
        quote = match.group("quote")
        quoted = not quote or quote in words or (quote == b"'" and b"$" in words)
        fixes = (
            (Fix((Edit(Span(at, at), words, "MPL411"),), Safety.ASK, "activate it there too"),) if not quoted else ()
        )
        yield Finding("MPL411", "ssh starts a new login, without what the script has activated",
                      Span(at, start + program.end()), fixes=fixes,
                      help="activate it in the command itself: cd ...; source ...; torchrun ...")  # fmt: skip
        return


def _activated(source: bytes, end: int) -> List[bytes]:
    """Return the commands that activate or load something in front of a place."""
    return [words.strip() for words in re.findall(_ACTIVATES, source[:end])]


def _in_written_script(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that a script, written in a here-document for pbsdsh, starts a program that only the job has activated."""
    for step in plan.steps:
        inner = step.links[-1].name_span if step.links and step.links[0].name in ("pbsdsh", "pbs_tmrsh") else None
        begins = job.source.rfind(b"<<", 0, inner.start) if inner is not None else -1
        if inner is None or begins < 0 or step.maybe or step.span.start <= inner.start < step.span.end:
            continue
        done = _activated(job.source, begins)
        if not done or re.search(
            _KNOWS, job.source[job.source.find(b"\n", begins) : inner.start].replace(b"#!/bin/bash", b"")
        ):
            continue
        edit = Edit(Span(inner.start, inner.start), b"; ".join(done) + b"; ", "MPL411")
        yield Finding("MPL411", "%s starts the script without what the job has activated" % step.links[0].name, inner,
                      fixes=(Fix((edit,), Safety.ASK, "activate it there too"),),
                      help="activate it in the script that is written")  # fmt: skip
        return


def _in_shell(match: "re.Match[bytes]", here: bytes, source: bytes) -> Optional[Fix]:
    """Start it by a shell that goes to the folder and activates what the script has; the line's quotes stay whole."""
    line, done = match.group("line"), _activated(source, match.start())
    if b'"' in line or b"\\" in line or any(b'"' in words for words in done):
        return None
    words = b"; ".join((here.replace(b'"', b"").replace(b" && ", b""), *done, line.rstrip()))
    edit = Edit(Span(match.start("line"), match.end("line")), b'bash -lc "%s"' % words, "MPL411")
    return Fix((edit,), Safety.ASK, "go to the folder and activate what is needed there")


def _first(source: bytes) -> "Optional[re.Match[bytes]]":
    """Return the first line of ssh or pbsdsh that starts a program, and neither moves nor starts a shell."""
    for pattern in (_LINE, _UNQUOTED, _PBSDSH):
        for match in pattern.finditer(source):
            if _STARTS.search(match.group("line")) and not _MOVES.search(match.group("line")):
                return match
    return None


def _moved(match: "re.Match[bytes]", here: bytes, source: bytes) -> Optional[Fix]:
    """Change the folder first, and activate there what the script has; in double quotes its own shell says which."""
    if match.group("quote") != b'"':
        return None
    at, words, done = match.start("line"), here.replace(b'"', b""), _activated(joined(source), match.start())
    says = "begin with: " + words.decode().strip(" &")
    if done and re.search(_BARE, match.group("line")) and not re.search(_KNOWS, match.group("line")):
        words += b"; ".join(done) + b"; " if not any(b'"' in word for word in done) else b""
    return Fix((Edit(Span(at, at), words, "MPL411"),), Safety.ASK, says)
