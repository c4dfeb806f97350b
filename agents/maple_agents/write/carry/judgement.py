"""Whether a carried script starts what it should: the rules find nothing, and the plan shows every world whole.

What to look at in a carried script: what was kept and may not be there, and what stands nowhere any more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.bash.check import parses
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.repair.search import State
from maple_submit_filter.types.job import Setting, line_of
from maple_submit_filter.types.launch_plan import Group, Step
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import NUL

from ...request.script.foreign_script import HOME
from ...request.script.parts import Foreign
from ...request.script.regions import COMMANDS
from ...request.script.slots import main
from ...request.script.walk import FoundCommand, bare
from ...templates.cluster import Cluster
from ..values import Layout, Plan
from . import directives
from .assembly import without

MOST = 5  # paths that are named one by one
_EVERYWHERE = rb"dev|tmp|etc|usr|proc|bin|sys|var|opt/bin|home/user"
_PATH = re.compile(rb"(?<![\w.$}/:~-])/(?!(?:%s)(?:/|\b))[A-Za-z][\w.+-]*/[^\s\"';:)&|]*" % _EVERYWHERE)
_ENVIRONMENT = re.compile(rb"^(?:(?:source|\.)[ \t]+\S*/?activate\b|(?:conda|mamba)[ \t]+activate\b)")
_READY = frozenset((b"scontrol", b"srun"))

_COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


def state_of(script: bytes, foreign: Foreign, cluster: Cluster) -> State | None:
    """Return the script with its plan and findings on *cluster*; None where its scheduler would not take it."""
    old = foreign.job.submission
    scheduler = cluster.site.scheduler
    path = old.path or b"job.sh"
    asked = Submission(
        scheduler, (_COMMANDS[scheduler], path), script, "file", path, old.cwd or b"/nowhere", -1, {b"HOME": HOME}
    )
    job = understood(asked, read_file if os.path.isfile(os.path.join(old.cwd, path)) else None)
    return examined(job, cluster.site) if job is not None else None


def wrong(script: bytes, foreign: Foreign, cluster: Cluster, wanted: list[Layout | None]) -> str:
    """Return why the script is not what it should be, "" where it is.

    *wanted*: for each launch line of the old script the layout that it gets, None where it stays as it is.
    """
    state = state_of(script, foreign, cluster)
    return "its directives could not be read there" if state is None else wrong_in(state, script, foreign, wanted)


def wrong_in(state: State, script: bytes, foreign: Foreign, wanted: list[Layout | None]) -> str:
    """Return the same of a script whose *state* on the cluster is known already."""
    proven = state.proven()
    if proven:
        line = script.count(b"\n", 0, proven[0].at.start) + 1 if proven[0].at else 0
        return "%s %s (line %d)" % (proven[0].code, proven[0].says, line)
    if state.job.script.refused:
        return state.job.script.refused
    why = _worlds(state, foreign, wanted)
    return why or ("" if parses(script) else "bash would not take it")


def _worlds(state: State, foreign: Foreign, wanted: list[Layout | None]) -> str:
    steps = _by_line(state.plan.steps)
    if len(steps) != len(foreign.launches):
        return "it starts %d programs in place of %d" % (len(steps), len(foreign.launches))
    for launch, layout, now in zip(foreign.launches, wanted, steps, strict=True):
        if layout is None:
            continue
        if not _same_program(launch.steps[0], now):
            return "line %d starts another program then" % launch.line
        why = _world(now, layout)
        if why:
            return "line %d: %s" % (launch.line, why)
    return ""


def _by_line(steps: tuple[Step, ...]) -> list[Step]:
    """Return one step of each launch line."""
    seen: dict[tuple[object, ...], Step] = {}
    for step in steps:
        seen.setdefault((step.span, tuple(link.name_span for link in step.links), step.program_span), step)
    return sorted(seen.values(), key=lambda step: (step.line, step.span))


def _same_program(old: Step, new: Step) -> bool:
    """Tell whether the same words are started, as far as they are known; an agent is its own interpreter."""
    words = [_bare(step.program) for step in (old, new)]
    return words[0] == words[1] or all(
        left == right or NUL in left or NUL in right for left, right in zip(words[0], words[1], strict=False)
    )


def _bare(program: tuple[bytes, ...]) -> list[bytes]:
    words = list(program)
    while words and words[0].rsplit(b"/", 1)[-1] in (b"python", b"python3", b"-u"):
        del words[0]
    return words


def _world(step: Step, layout: Layout) -> str:
    """Return what is wrong with the worlds of a step, "" where each rank is there once."""
    if step.background and all(group.world_size == layout.ranks for group in step.groups):
        return ""  # worlds of lines beside each other are told with the first of them
    if len(step.groups) != 1:
        return "its ranks form %d worlds" % len(step.groups)
    group = step.groups[0]
    if group.world_size != layout.ranks:
        return "its world has %s ranks, not %d" % (group.world_size, layout.ranks)
    if group.nodes is not None and group.nodes != layout.nodes:
        return "it runs on %d nodes, not %d" % (group.nodes, layout.nodes)
    return _ranked(group) if layout.ranks > 1 else ""


def _ranked(group: Group) -> str:
    ranks = {process.rank for process in group.processes}
    if group.launcher not in AGENTS and group.complete and ranks != set(range(group.world_size or 0)):
        return "its ranks are not told apart"
    return ""


def advice_on(foreign: Foreign, plan: Plan, script: bytes, commands: list[FoundCommand]) -> Iterator[str]:
    """Yield what to look at, a sentence each, with the line of the old script where there is one."""
    yield from _world_advice(foreign, plan)
    yield from _old_request(foreign, script)
    yield from _gone(foreign, script, commands)
    yield from _environments(foreign, commands)
    yield from _commands(foreign, plan, script, commands)
    yield from _paths(foreign, script)


def _world_advice(foreign: Foreign, plan: Plan) -> Iterator[str]:
    training = main(foreign.launches)
    groups = training.steps[0].groups if training is not None and not training.small else ()
    sizes = {group.world_size or group.declared for group in groups}
    had = sizes.pop() if len(sizes) == 1 else None
    if had and had != plan.layout.ranks:
        says = "the world has %d ranks where it had %d: the global batch size changes with it"
        yield says % (plan.layout.ranks, had)


def _environments(foreign: Foreign, commands: list[FoundCommand]) -> Iterator[str]:
    for command in commands:
        text = foreign.source[command.command.span.start : command.command.span.end]
        if _ENVIRONMENT.match(text):
            shown = text.decode("utf-8", "replace").split("\n")[0]
            yield "line %d: %s: this environment has to be there on the new cluster" % (_line(foreign, command), shown)


def _commands(foreign: Foreign, plan: Plan, script: bytes, commands: list[FoundCommand]) -> Iterator[str]:
    """Commands of the old scheduler that are still there, and that the new one does not have."""
    if foreign.scheduler == plan.cluster.site.scheduler:
        return
    for command in commands:
        name = bare(foreign.source, command.command.words[0]) if command.command.words else b""
        text = foreign.source[command.command.span.start : command.command.span.end]
        if name in COMMANDS and text in script:
            says = "line %d: %s is a command of the other scheduler and was left as it is"
            yield says % (_line(foreign, command), name.decode())


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


def _line(foreign: Foreign, command: FoundCommand) -> int:
    return line_of(foreign.source, command.command.span.start)


# What means the same in other words, or is asked anew for each cluster: its loss is no news.
_OF_COUNTS = """
account nodes ntasks ntasks-per-node ntasks-per-socket ntasks-per-core ntasks-per-gpu cpus-per-task cpus-per-gpu
gpus gpus-per-node gpus-per-task gpus-per-socket time array ignore-pbs select place walltime ncpus ngpus mpiprocs
all-variables directive-prefix mincpus
"""
_COUNTED = frozenset(_OF_COUNTS.split())


def _old_request(foreign: Foreign, script: bytes) -> Iterator[str]:
    """Name what the old request wanted of its own cluster, and the new one does not say."""
    now = [line for line in script.split(b"\n") if line.startswith((b"#SBATCH", b"#PBS"))]
    asked = [
        setting for setting in directives.decided_anew(foreign) if setting.name not in _COUNTED and _has_kind(setting)
    ]
    gone = [setting for setting in asked if not any((setting.value or setting.name.encode()) in line for line in now)]
    others = {setting: _other_value(setting, now) for setting in gone}
    changed = ["%s (line %d) is %s now" % (directives.spelled(setting), setting.origin.line, other)
               for setting, other in others.items() if other]  # fmt: skip
    lost = [(directives.spelled(setting), setting.origin.line) for setting, other in others.items() if not other]
    if changed:
        yield "other values in the new request: %s" % ", ".join(changed)
    if lost:
        yield "the new request says nothing of %s" % _listed(lost)


def _other_value(setting: Setting, now: list[bytes]) -> str:
    """Return the same option as the new directives have it, "" where none does."""
    mark = b"#SBATCH --%s=" % setting.name.encode()
    line = next((line for line in now if line.startswith(mark)), b"")
    return line[len(b"#SBATCH ") :].decode("utf-8", "backslashreplace")


def _has_kind(setting: Setting) -> bool:
    """Tell whether a setting is more than a count: `gpu:4` is one, `gpu:a100:4` names what is wanted."""
    return setting.name != "gres" or setting.value.count(b":") > 1 or not setting.value.startswith(b"gpu")


def _gone(foreign: Foreign, script: bytes, commands: list[FoundCommand]) -> Iterator[str]:
    """Name the modules and variables of the old cluster that were taken away."""
    lost = []
    for edit in without(foreign, commands):
        text = foreign.source[edit.span.start : edit.span.end].strip()
        if text and text not in script:
            lost.append((text.decode("utf-8", "replace").split("\n")[0], line_of(foreign.source, edit.span.start)))
    if lost:
        yield "taken out, as the old cluster's: %s" % _listed(sorted(lost, key=lambda pair: pair[1]))


def _listed(named: list[tuple[str, int]]) -> str:
    shown = ", ".join("%s (line %d)" % pair for pair in named[:MOST])
    return shown + (" and %d more" % (len(named) - MOST) if len(named) > MOST else "")
