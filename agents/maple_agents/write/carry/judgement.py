"""Whether a carried script starts what it should: the rules find nothing, and the plan shows every world whole."""

from __future__ import annotations

import os

from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.bash.check import parses
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.launchers.agents import AGENTS
from maple_submit_filter.repair.search import State
from maple_submit_filter.types.launch_plan import Group, Step
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import NUL

from ...request.script.foreign_script import HOME
from ...request.script.parts import Foreign
from ...templates.cluster import Cluster
from ..values import Layout

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
    if state is None:
        return "its directives could not be read there"
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
    ranks = {one.rank for one in group.processes}
    if group.launcher not in AGENTS and group.complete and ranks != set(range(group.world_size or 0)):
        return "its ranks are not told apart"
    return ""
