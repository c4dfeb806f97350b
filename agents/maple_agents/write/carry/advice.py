"""What to look at in a carried script: what was kept and may not be there, and what is not as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maple_submit_filter.types.script import line_of

from ...request.script.parts import Foreign
from ...request.script.regions import COMMANDS
from ...request.script.slots import main
from ...request.script.walk import Found, bare
from ..values import Plan

MOST = 5  # paths that are named one by one
_EVERYWHERE = rb"dev|tmp|etc|usr|proc|bin|sys|var|opt/bin|home/user"
_PATH = re.compile(rb"(?<![\w.$}/:~-])/(?!(?:%s)(?:/|\b))[A-Za-z][\w.+-]*/[^\s\"';:)&|]*" % _EVERYWHERE)
_ENVIRONMENT = re.compile(rb"^(?:(?:source|\.)[ \t]+\S*/?activate\b|(?:conda|mamba)[ \t]+activate\b)")
_READY = frozenset((b"scontrol", b"srun"))


def advice(foreign: Foreign, plan: Plan, script: bytes, commands: list[Found]) -> Iterator[str]:
    """Yield what to look at, a sentence each, with the line of the old script where there is one."""
    yield from _world(foreign, plan)
    yield from _environments(foreign, commands)
    yield from _commands(foreign, plan, script, commands)
    yield from _paths(foreign, script)


def _world(foreign: Foreign, plan: Plan) -> Iterator[str]:
    training = main(foreign.launches)
    groups = training.steps[0].groups if training is not None and not training.small else ()
    had = groups[0].world_size if len(groups) == 1 else None
    if had and had != plan.layout.ranks:
        says = "the world has %d ranks where it had %d: the global batch size changes with it"
        yield says % (plan.layout.ranks, had)


def _environments(foreign: Foreign, commands: list[Found]) -> Iterator[str]:
    for one in commands:
        text = foreign.source[one.command.span.start : one.command.span.end]
        if _ENVIRONMENT.match(text):
            shown = text.decode("utf-8", "replace").split("\n")[0]
            yield "line %d: %s: this environment has to be there on the new cluster" % (_line(foreign, one), shown)


def _commands(foreign: Foreign, plan: Plan, script: bytes, commands: list[Found]) -> Iterator[str]:
    """Commands of the old scheduler that are still there, and that the new one does not have."""
    if foreign.scheduler == plan.cluster.site.scheduler:
        return
    for one in commands:
        name = bare(foreign.source, one.command.words[0]) if one.command.words else b""
        text = foreign.source[one.command.span.start : one.command.span.end]
        if name in COMMANDS and text in script:
            says = "line %d: %s is a command of the other scheduler and was left as it is"
            yield says % (_line(foreign, one), name.decode())


def _paths(foreign: Foreign, script: bytes) -> Iterator[str]:
    """Paths outside the user's own folder: another cluster has other file systems."""
    named: dict[bytes, int] = {}
    for match in _PATH.finditer(foreign.source):
        begin = foreign.source.rfind(b"\n", 0, match.start()) + 1
        if not foreign.source[begin : match.start()].lstrip().startswith(b"#") and match[0] in script:
            named.setdefault(match[0], line_of(foreign.source, match.start()))
    for path, line in list(named.items())[:MOST]:
        yield "line %d: %s is a path of the old cluster" % (line, path.decode("utf-8", "replace"))
    if len(named) > MOST:
        yield "and %d more paths of the old cluster" % (len(named) - MOST)


def _line(foreign: Foreign, one: Found) -> int:
    return line_of(foreign.source, one.command.span.start)
