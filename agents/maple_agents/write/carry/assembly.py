"""The edits that make a script one for another cluster, put together."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from maple_submit_filter.types.edits import Edit, Span, apply

from ...ask.sites.launch_templates import LaunchFile
from ...request.script.parts import Foreign, Launch, Region
from ...request.script.walk import DECLARING, FoundCommand, bare, given, simple_commands
from ..compose import environment, launch_line
from ..values import Layout, Plan
from . import directives, launch_lines, rendezvous, variables

_GOES = re.compile(rb'^cd "?\$\{?PBS_O_WORKDIR\}?"?', re.MULTILINE)


class Way(NamedTuple):
    """How boldly a script is changed. *ranks*: what it sets for ranks becomes the new launcher's."""

    ranks: bool
    in_front: bool  # each rank gets its numbers in front of its program


def made(foreign: Foreign, plan: Plan, home: bool, way: Way) -> tuple[bytes, list[str], list[Layout | None]]:
    """Return the new script, what was left out, and the layout of each launch line (None: it stays as it is)."""
    commands = simple_commands(foreign.source)
    request = directives.request(foreign, plan, home)
    advice = list(request.advice)
    edits: list[Edit] = []
    wanted: list[Layout | None] = []
    lines: dict[bytes, None] = {}
    at = len(foreign.source)
    for launch in foreign.launches:
        layout = launch_lines.layout_of(launch, foreign, plan)
        stays = launch.outer is None and launch.agent is None and launch.small
        wanted.append(None if stays else layout)
        if stays:
            continue
        placed = plan._replace(launch=template(launch, plan))
        edits += launch_lines.edits(launch, foreign, placed, layout, commands)
        if launch.outer is not None or layout.nodes > 1:
            lines.update(dict.fromkeys(() if launch.small else launch_line.before(placed._replace(layout=layout))))
            at = at if launch.small else min(at, launch.at)
        edits += _ranks(launch, foreign, placed, layout, way)
    edits += _rendezvous(foreign, plan, wanted, commands, way, home)
    edits += list(rendezvous.node_lists(foreign, plan, commands))
    edits += [] if home else without(foreign, commands)
    if foreign.scheduler != plan.cluster.site.scheduler:
        edits = [*native(foreign, plan.cluster.site.scheduler, commands), *edits]
    edits = [*_before(foreign, commands, list(lines), at), *edits]
    return _assembled(foreign, plan, home, edits, request.lines, advice), advice, wanted


def template(launch: Launch, plan: Plan) -> LaunchFile:
    """Return the template for one launch line: that of its own kind of launcher, where the cluster has one."""
    kind = launch.agent.name if launch.agent is not None else "python"
    if plan.launch.when.launcher == kind:
        return plan.launch
    if kind == "python":
        return launch_lines.python_template(plan) or plan.launch
    every = [
        launch_file
        for each in plan.cluster.launches.values()
        for launch_file in each
        if launch_file.when.launcher == kind
    ]
    return next(
        (launch_file for launch_file in every if launch_file.when.over == plan.launch.when.over),
        every[0] if every else plan.launch,
    )


def _ranks(launch: Launch, foreign: Foreign, plan: Plan, layout: Layout, way: Way) -> list[Edit]:
    if launch.small or launch.agent is not None or not way.ranks:
        return []
    if way.in_front or not rendezvous.has_ranks(foreign):
        return launch_lines.rank_by_rank(launch, foreign, plan._replace(layout=layout))
    return []


def _rendezvous(
    foreign: Foreign, plan: Plan, wanted: list[Layout | None], commands: list[FoundCommand], way: Way, home: bool
) -> list[Edit]:
    """Return the edits of what the script sets for ranks and masters; the largest world's numbers count."""
    worlds = [layout_wanted for layout_wanted in wanted if layout_wanted is not None]
    layout = max(worlds, key=lambda world: world.ranks, default=plan.layout)
    own = foreign.scheduler == plan.cluster.site.scheduler
    if not way.ranks and own:
        return []
    numbers = rendezvous.Numbers(plan, layout, launch_lines.python_template(plan))
    inside = rendezvous.in_tasks(foreign, numbers)
    return [
        *inside,
        *rendezvous.other_numbers(foreign, numbers, inside),
        *rendezvous.in_batch(foreign, plan, layout, commands),
    ]


def _before(foreign: Foreign, commands: list[FoundCommand], lines: list[bytes], at: int) -> list[Edit]:
    """Return the lines that a launch needs in front of it, without those that the script has already."""
    had = {
        each.name
        for each in given(foreign.source, commands)
        if each.exported and each.command is not None and each.command.whole and each.span.start < at
        and each.command.item.start == each.command.top.start
    }  # fmt: skip
    needed = [line for line in lines if _name(line) not in had or _name(line) not in (b"MASTER_ADDR", b"MASTER_PORT")]
    if not needed:
        return []
    begin = foreign.source.rfind(b"\n", 0, at) + 1
    indent = foreign.source[begin:at] if not foreign.source[begin:at].strip() else b""
    return [Edit(Span(at, at), b"".join(line + b"\n" + indent for line in needed), "launch template")]


def _name(line: bytes) -> bytes:
    return line.removeprefix(b"export ").partition(b"=")[0]


def _assembled(
    foreign: Foreign, plan: Plan, home: bool, edits: list[Edit], lines: tuple[bytes, ...], advice: list[str]
) -> bytes:
    """Return the script with all edits, the new directives, and the lines of the new cluster behind them."""
    source = foreign.source
    edits = _apart(edits)
    drafted = apply(source, edits)
    multiple = foreign.plan.allocation.node_file
    shims = variables.shims(drafted, lines, foreign.scheduler, plan, multiple[0] if multiple else 1)
    advice += shims.advice
    own = [] if home else _environment(plan, source)
    head = [*lines, *([b""] if shims.lines or own else []), *shims.lines, *own]
    return launch_line.handed_on(apply(source, [*edits, *_headed(source, foreign, head)]))


def _environment(plan: Plan, source: bytes) -> list[bytes]:
    """Return the lines of the cluster; a script that goes to the folder of its submission itself need not twice."""
    lines = environment.lines(plan)
    if not _GOES.search(source):
        return lines
    at = next((index for index, line in enumerate(lines) if _GOES.match(line)), None)
    if at is None:
        return lines
    start = at - 1 if at and lines[at - 1].startswith(b"#") else at
    return [*lines[:start], *lines[at + 1 :]]


def _apart(edits: list[Edit]) -> list[Edit]:
    """Return the edits without those that lie within an earlier one: launch lines come first."""
    out: list[Edit] = []
    for edit in edits:
        start, end = edit.span
        if any(kept.span.start < end and start < kept.span.end for kept in out):
            continue
        if start == end and any(kept.span.start < start < kept.span.end for kept in out):
            continue
        out.append(edit)
    return out


def _headed(source: bytes, foreign: Foreign, head: list[bytes]) -> list[Edit]:
    """Put the new directives where the first old one stood, and take the old ones away."""
    text = b"".join(line + b"\n" for line in head)
    old = [region.span for region in foreign.regions if region.kind == "directive"]
    first_line = source.find(b"\n") + 1 if source.startswith(b"#!") else 0
    edits = [Edit(Span(span.start, min(span.end + 1, len(source))), b"", "directives") for span in old]
    if not source.startswith(b"#!"):
        text = b"#!/bin/bash\n" + text
    elif not first_line:
        text = b"\n" + text
        first_line = len(source)
    place = old[0].start if old else first_line
    return [*edits, Edit(Span(place, place), text, "directives")]


# Lines that only the old cluster understands go; those of the new one take their place.


def without(foreign: Foreign, commands: list[FoundCommand]) -> list[Edit]:
    """Return the edits that take modules and variables of the network away.

    A line that holds nothing else goes with its newline; a command that is not alone on its line, or in its list,
    becomes `:`, so that what is around it stays as it was.
    """
    whole, parts = _going(foreign, commands)
    counts = Counter(command.group for command in whole if command.whole)
    emptied = {
        command.group: command
        for command in reversed(whole)
        if counts[command.group] == command.siblings and _is_nested(command)
    }
    out = [Edit(_with_blanks(each.span, foreign.source), b"", "another cluster's") for each in parts]
    return [*out, *(_gone(command, foreign.source, emptied.get(command.group) is command) for command in whole)]


def native(foreign: Foreign, scheduler: str, commands: list[FoundCommand]) -> list[Edit]:
    """Return the edits that take away what stood in for variables of *scheduler*: there they are its own.

    Such lines stand in a script that was carried from there before.
    """
    prefix = b"PBS_" if scheduler == "pbs" else b"SLURM_"
    out = []
    for command in commands:
        names = [
            each.name for each in given(foreign.source, [command]) if not each.span.start < command.command.span.start
        ]
        targets = [each.target for each in command.command.redirects if each.target is not None]
        into = any(b"$PBS_NODEFILE" in foreign.source[word.span.start : word.span.end] for word in targets)
        sets = bool(names) and all(name.startswith(prefix) for name in names) and not _runs(command, foreign.source)
        if sets or (into and scheduler == "pbs" and _writes(command)):
            out.append(_gone(command, foreign.source, command.siblings == 1 and _is_nested(command)))
    return out


def _runs(command: FoundCommand, source: bytes) -> bool:
    """Tell whether a command does more than set variables."""
    return bool(command.command.words) and bare(source, command.command.words[0]) not in DECLARING


def _writes(command: FoundCommand) -> bool:
    return any(each.op in (b">", b">>") for each in command.command.redirects)


def _going(foreign: Foreign, commands: list[FoundCommand]) -> tuple[list[FoundCommand], list[Region]]:
    """Return the commands that go, and the parts of others that go."""
    whole: list[FoundCommand] = []
    some: list[Region] = []
    for command in commands:
        parts = [each for each in foreign.regions if each.kind in ("module", "transport") and _in(each.span, command)]
        if parts and (parts[0].kind == "module" or _all(parts, command)):
            whole.append(command)
        else:
            some += parts
    return whole, some


def _is_nested(command: FoundCommand) -> bool:
    """Tell whether the command stands in a function or a branch, which must not be empty."""
    return command.item.start != command.top.start


def _with_blanks(span: Span, source: bytes) -> Span:
    rest = source[span.end :]
    return Span(span.start, span.end + len(rest) - len(rest.lstrip(b" \t")))


def _in(span: Span, command: FoundCommand) -> bool:
    return command.command.span.start <= span.start and span.end <= command.command.span.end


def _all(parts: list[Region], command: FoundCommand) -> bool:
    """Tell whether a command sets nothing but what goes."""
    words = len(command.command.words[1:]) if command.command.words else len(command.command.assignments)
    return len(parts) >= words


def _gone(command: FoundCommand, source: bytes, stays: bool) -> Edit:
    start, end = command.command.span
    if not command.whole or stays:
        return Edit(command.command.span, b":", "another cluster's")
    begin = source.rfind(b"\n", 0, start) + 1
    stop = source.find(b"\n", end)
    stop = len(source) if stop < 0 else stop
    before, behind = source[begin:start], source[end:stop].strip()
    if before.strip() or (behind and not behind.startswith(b"#")):
        return Edit(command.command.span, b":", "another cluster's")
    return Edit(Span(begin, min(stop + 1, len(source))), b"", "another cluster's")
