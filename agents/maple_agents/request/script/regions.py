"""The parts of a script that are bound to its cluster."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.job import Job, line_of

from ...base.tables import Part, paths, read
from .launches import Body
from .parts import Kind, Launch, Region
from .walk import DECLARING, FoundCommand, Given, bare, given

RANKS = frozenset(
    b"RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK WORLD_RANK MASTER_ADDR MASTER_PORT".split()
)
COMMANDS = frozenset(
    b"scontrol squeue sacct sinfo sbatch scancel sbcast sattach salloc srun strigger sstat qsub qstat qdel qalter "
    b"pbsnodes pbsdsh pbs_tmrsh tracejob".split()
)
_MODULES = frozenset(b"module ml modtree spack".split())
_DIRECTIVE = re.compile(rb"^#(?:SBATCH|PBS|BSUB)\b[^\n]*", re.MULTILINE)
_INIT = re.compile(rb"^(?:source|\.)[ \t]+\S*(?:lmod|modules?)\S*/(?:init|profile)")


class Transport(Part):
    """`templates/variables/transport.toml`: names of variables that belong to a cluster, and those that do not."""

    patterns: list[str]
    kept: list[str]


@lru_cache(maxsize=1)
def _transport() -> tuple[re.Pattern[str], re.Pattern[str]]:
    path = paths(os.path.join("variables"))["transport"]
    table = read(Transport, path)
    return re.compile("|".join(table.patterns)), re.compile("|".join(table.kept))


def is_transport(name: bytes) -> bool:
    """Tell whether a variable of that name is for the cluster's network, or a proxy."""
    wanted, kept = _transport()
    text = name.decode("ascii", "replace")
    return bool(wanted.fullmatch(text)) and not kept.fullmatch(text)


def regions(job: Job, body: Body, launches: tuple[Launch, ...]) -> tuple[Region, ...]:
    """Return the parts in order. Parts may lie within each other: a scheduler's command within a rendezvous."""
    parts = [*_directives(job), *_launches(launches, job.source)]
    for command in body.commands:
        parts += _of_command(command, job.source)
    parts += [_region("rendezvous", each.span, job.source, each.name) for each in _rank_settings(body)]
    return tuple(sorted(set(parts), key=lambda region: (region.span, region.kind)))


def _rank_settings(body: Body) -> list[Given]:
    return [each for each in given(body.source, body.commands) if each.name in RANKS]


def _region(kind: Kind, span: Span, source: bytes, name: bytes = b"") -> Region:
    return Region(kind, span, line_of(source, span.start), name)


def _directives(job: Job) -> list[Region]:
    """Every line that some scheduler reads or that looks as if it were read; only those before the first command."""
    own = [_region("directive", directive.span, job.source, directive.prefix) for directive in job.script.directives]
    spans = {directive.span for directive in job.script.directives}
    others = [
        _region("directive", Span(*match.span()), job.source, match[0].split()[0])
        for match in _DIRECTIVE.finditer(job.source)
        if Span(*match.span()) not in spans and not _inside_text(job, match.start())
    ]
    return own + others


def _inside_text(job: Job, offset: int) -> bool:
    from .walk import context, texts

    return context(texts(job.source), offset) is not None


def _launches(launches: tuple[Launch, ...], source: bytes) -> list[Region]:
    words = [words for launch in launches for words in (launch.outer, launch.agent) if words is not None]
    return [_region("launch", span, source, word.name.encode()) for word in words for span in word.spans]


def _of_command(command: FoundCommand, source: bytes) -> list[Region]:
    """Return what one command is, or each variable that it sets."""
    name = bare(source, command.command.words[0]).rsplit(b"/", 1)[-1] if command.command.words else b""
    text = source[command.command.span.start : command.command.span.end]
    if name in _MODULES or _INIT.match(text):
        return [_region("module", command.command.span, source, name)]
    if name in COMMANDS:
        return [_region("command", command.command.span, source, name)]
    if name and name not in DECLARING:
        return []
    return [
        _region("transport", each.span, source, each.name)
        for each in given(source, [command])
        if is_transport(each.name)
    ]
