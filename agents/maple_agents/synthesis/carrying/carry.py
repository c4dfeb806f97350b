"""The way from a script that was read to one for another cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import NamedTuple

from maple_submit_filter.edits import Conflict, Edit, Span, apply

from ...extraction.script import at_site, job_of
from ...extraction.script_launches import AGENTS, OF_TASK
from ...extraction.script_parts import Foreign, Launch
from ...extraction.script_slots import main
from ...extraction.script_walk import Found, found, given
from ...slots import Slots
from ...templates import LaunchFile
from .. import cores, environment, launching
from ..deciding import decide_plan
from ..values import Cluster, Lacking, Layout, Plan, Refused
from . import asked, directives, judged, launch_lines, layouts, mending, plumbing, site_lines, variables
from .advice import advice as looked_at
from .values import Carried

NOTHING = Slots()


class Words(NamedTuple):
    """What was said beside the script."""

    said: Slots
    wishes: Set[str]
    earlier: Mapping[str, str]
    ranks: int | None
    gpu_kinds: tuple[str, ...]


class Way(NamedTuple):
    """How boldly a script is changed. *ranks*: what it sets for ranks becomes the new launcher's."""

    ranks: bool
    in_front: bool  # each rank gets its numbers in front of its program


_NOT_FOLLOWED = "nothing in it is wrong as far as it can be followed, so it was left as it is"
_REMOTE = ("ssh", "rsh", "pbs_tmrsh", "pbsdsh")
_GOES = re.compile(rb'^cd "?\$\{?PBS_O_WORKDIR\}?"?', re.MULTILINE)
_WAYS = (Way(False, False), Way(True, False), Way(True, True))


def carry(
    foreign: Foreign,
    cluster: Cluster,
    said: Slots = NOTHING,
    wishes: Set[str] = frozenset(),
    earlier: Mapping[str, str] = {},
    ranks: int | None = None,
    gpu_kinds: tuple[str, ...] = (),
) -> Carried | Lacking:
    """Return the script for *cluster*, or what is missing for it. What was *said* beside the script wins over it.

    *wishes*, *earlier*, *ranks*, *gpu_kinds*: of the words beside the script, as `deciding.decide_plan` takes them.
    Raises `Refused` with one line, and the line of the script, where it cannot be carried with certainty.
    """
    home = asked.is_home(foreign, cluster.site)
    if home and foreign.site != cluster.site.id:
        foreign = at_site(foreign.job, cluster.site, cluster.site.id, foreign.notes)
    words = Words(said, wishes, earlier, ranks, gpu_kinds)
    mended = _mended(foreign, cluster, words) if home else None
    if mended is not None:
        return mended
    try:
        return _anew(foreign, cluster, words, home)
    except Refused:
        if home and not foreign.wrong and not mending.says_more(foreign, said) and not foreign.job.script.refused:
            return Carried(foreign.source, None, (*foreign.notes, _NOT_FOLLOWED), True)
        raise


def _anew(foreign: Foreign, cluster: Cluster, words: Words, home: bool) -> Carried | Lacking:
    """Return the script made for the cluster by edits, or what is missing for that. Raises `Refused`."""
    foreign = _relaunched(_uncrossed(foreign, cluster), cluster) if home else foreign
    plan = _decided(foreign, cluster, words, home)
    if isinstance(plan, Lacking):
        return plan._replace(advice=(*plan.advice, *foreign.notes))
    plan = _as_launched(foreign, plan)
    return _first_right(_with_outer(foreign, plan), plan, home)


def _with_outer(foreign: Foreign, plan: Plan) -> Foreign:
    """Return a script that lost what starts its tasks, and so reads as it was not meant, with that in its place."""
    commands = found(foreign.source)
    edits = []
    for launch in foreign.launches:
        start, end = launch.steps[0].span
        if launch.outer is None and not launch.small and OF_TASK.search(foreign.source, start, end):
            at = launch_lines.command_word(launch, commands)
            layout = layouts.of_launch(launch, foreign, plan)
            words = launching.filled(_template(launch, plan).launch[0], plan._replace(layout=layout))
            edits.append(Edit(Span(at, at), words.encode() + b" ", "launcher"))
    if not edits or foreign.site != plan.cluster.site.id:
        return foreign
    return _again(apply(foreign.source, edits), foreign, plan.cluster) or foreign


def _mended(foreign: Foreign, cluster: Cluster, words: Words) -> Carried | None:
    """Return the script of this very cluster as it is or with small repairs, None where those do not do."""
    kind = foreign.slots.text("gpu")
    if words.ranks or (words.gpu_kinds and kind not in words.gpu_kinds):
        return None
    script = mending.mended(foreign, cluster, words.said, foreign.source)
    if script is None:
        return None
    try:
        plan = _decided(foreign, cluster, words, True)
    except Refused:
        plan = Lacking(())
    made = plan if isinstance(plan, Plan) else None
    return Carried(script, made, foreign.notes, script == foreign.source)


def _relaunched(foreign: Foreign, cluster: Cluster) -> Foreign:
    """Return the script with a launcher by another name, where the one that is written does not take the words."""
    refused = [one for one in foreign.launches if any(each.kind == "refused" for each in one.steps[0].breaches)]
    for name in ("srun", "mpiexec", "mpirun", "ibrun"):
        if not refused or cluster.site.launcher(name) not in ("preferred", "present"):
            continue
        spans = [one.steps[0].links[0].name_span for one in refused]
        source = apply(foreign.source, [Edit(span, name.encode(), "launcher") for span in spans if span is not None])
        made = _again(source, foreign, cluster)
        if made is not None and not any(
            each.kind == "refused" for one in made.launches for each in one.steps[0].breaches
        ):
            return made
    return foreign


def _again(source: bytes, foreign: Foreign, cluster: Cluster) -> Foreign | None:
    """Return the changed source read as the script of the cluster, None where it starts nothing that is known."""
    path = foreign.job.submission.path if foreign.job.read is not None else b""
    try:
        return at_site(job_of(source, foreign.scheduler, path), cluster.site, foreign.site, foreign.notes)
    except Refused:
        return None


def _uncrossed(foreign: Foreign, cluster: Cluster) -> Foreign:
    """Return the script with the counts of a scheduler that it is not for as those of its own: a slip of copying."""
    source = variables.uncrossed(foreign.source, foreign.scheduler, foreign.plan.allocation)
    if source == foreign.source:
        return foreign
    return _again(source, foreign, cluster) or foreign


def _as_launched(foreign: Foreign, plan: Plan) -> Plan:
    """Return the plan with the template of the training's own kind of launcher, and its tasks."""
    training = main(foreign.launches)
    if training is None or training.small:
        return plan
    launch = _template(training, plan)
    layout = plan.layout
    tasks = 1 if launch.when.launcher in AGENTS else layout.ranks_per_node
    cpus = cores.per_task(plan.kinds, layout.gpus_per_node, tasks, launch.when.over, plan.cluster)
    return plan._replace(launch=launch, layout=layout._replace(tasks_per_node=tasks, cpus_per_task=cpus))


def _decided(foreign: Foreign, cluster: Cluster, words: Words, home: bool) -> Plan | Lacking:
    """Return the plan for what the script asks; numbers that contradict each other in a wrong script do not count."""
    slots = asked.slots(foreign, cluster, words.said, home)
    kinds: tuple[str, ...] = ()
    if words.gpu_kinds and "gpu" not in words.said:
        slots, kinds = Slots(slot for name, slot in slots.items() if name != "gpu"), words.gpu_kinds
    loose: tuple[str, ...] = ()
    refused: Refused | None = None
    for more in ((), ("gpus_per_node",), ("ranks_per_node",), ("gpu", "launcher")):
        loose += tuple(name for name in more if name not in words.said)
        fewer = Slots(slot for name, slot in slots.items() if name not in loose)
        try:
            return decide_plan(fewer, cluster, words.wishes, words.earlier, words.ranks, kinds)
        except Refused as error:
            refused = refused or error
    raise refused or Refused("the script asks for what cannot be had")


def _first_right(foreign: Foreign, plan: Plan, home: bool) -> Carried:
    """Return the script by the smallest change after which every world forms. Raises `Refused`."""
    _carriable(foreign, plan)
    whys: list[str] = []
    for way in _WAYS:
        try:
            script, advice, wanted = _made(foreign, plan, home, way)
        except Conflict as error:
            whys.append("two changes want the same place (%s)" % error)
            continue
        why = judged.wrong(script, foreign, plan.cluster, wanted)
        if not why:
            advice += [] if home else looked_at(foreign, plan, script, found(foreign.source))
            return Carried(script, plan, tuple(dict.fromkeys((*foreign.notes, *advice))))
        whys.append(why)
    raise Refused("the script cannot be carried with certainty: %s" % whys[-1])


def _carriable(foreign: Foreign, plan: Plan) -> None:
    """Raise `Refused` for launch lines that no template can take the place of."""
    for launch in foreign.launches:
        links = [link.name for link in launch.steps[0].links]
        remote = next((name for name in links if name in _REMOTE), "")
        if remote:
            says = "line %d: the nodes are reached by %s, one by one: write it as one launch line over all of them"
            raise Refused(says % (launch.line, remote))
        beside = any(step.background for step in launch.steps) and launch.outer is not None
        if (
            beside
            and layouts.of_launch(launch, foreign, plan).nodes < plan.layout.nodes
            and plan.launch.when.over != "srun"
        ):
            says = "line %d: several steps run beside each other, each on nodes of its own; %s cannot place them so"
            raise Refused(says % (launch.line, plan.launch.when.over))
        single = launch.outer is not None and launch.agent is None and not launch.small
        if single and launch_lines.python_template(plan) is None:
            says = "line %d: it starts its ranks one by one, and nobody knows how they find their numbers on %s"
            raise Refused(says % (launch.line, plan.cluster.site.id))


def _made(foreign: Foreign, plan: Plan, home: bool, way: Way) -> tuple[bytes, list[str], list[Layout | None]]:
    """Return the new script, what was left out, and the layout of each launch line (None: it stays as it is)."""
    commands = found(foreign.source)
    request = directives.request(foreign, plan, home)
    advice = list(request.advice)
    edits: list[Edit] = []
    wanted: list[Layout | None] = []
    lines: dict[bytes, None] = {}
    at = len(foreign.source)
    for launch in foreign.launches:
        layout = layouts.of_launch(launch, foreign, plan)
        stays = launch.outer is None and launch.agent is None and launch.small
        wanted.append(None if stays else layout)
        if stays:
            continue
        one = plan._replace(launch=_template(launch, plan))
        edits += launch_lines.edits(launch, foreign, one, layout, commands)
        if launch.outer is not None or layout.nodes > 1:
            lines.update(dict.fromkeys(() if launch.small else launching.before(one._replace(layout=layout))))
            at = at if launch.small else min(at, launch.at)
        edits += _ranks(launch, foreign, one, layout, way)
    edits += _rendezvous(foreign, plan, wanted, commands, way, home)
    edits += list(plumbing.node_lists(foreign, plan, commands))
    edits += [] if home else site_lines.without(foreign, commands)
    if foreign.scheduler != plan.cluster.site.scheduler:
        edits = [*site_lines.native(foreign, plan.cluster.site.scheduler, commands), *edits]
    edits = [*_before(foreign, commands, list(lines), at), *edits]
    return _assembled(foreign, plan, home, edits, request.lines, advice), advice, wanted


def _template(launch: Launch, plan: Plan) -> LaunchFile:
    """Return the template for one launch line: that of its own kind of launcher, where the cluster has one."""
    kind = launch.agent.name if launch.agent is not None else "python"
    if plan.launch.when.launcher == kind:
        return plan.launch
    if kind == "python":
        return launch_lines.python_template(plan) or plan.launch
    every = [one for each in plan.cluster.launches.values() for one in each if one.when.launcher == kind]
    return next((one for one in every if one.when.over == plan.launch.when.over), every[0] if every else plan.launch)


def _ranks(launch: Launch, foreign: Foreign, plan: Plan, layout: Layout, way: Way) -> list[Edit]:
    if launch.small or launch.agent is not None or not way.ranks:
        return []
    if way.in_front or not plumbing.has_ranks(foreign):
        return launch_lines.rank_by_rank(launch, foreign, plan._replace(layout=layout))
    return []


def _rendezvous(
    foreign: Foreign, plan: Plan, wanted: list[Layout | None], commands: list[Found], way: Way, home: bool
) -> list[Edit]:
    """Return the edits of what the script sets for ranks and masters; the largest world's numbers count."""
    worlds = [one for one in wanted if one is not None]
    layout = max(worlds, key=lambda one: one.ranks, default=plan.layout)
    own = foreign.scheduler == plan.cluster.site.scheduler
    if not way.ranks and own:
        return []
    numbers = plumbing.Numbers(plan, layout, launch_lines.python_template(plan))
    inside = plumbing.in_tasks(foreign, numbers)
    return [
        *inside,
        *plumbing.other_numbers(foreign, numbers, inside),
        *plumbing.in_batch(foreign, plan, layout, commands),
    ]


def _before(foreign: Foreign, commands: list[Found], lines: list[bytes], at: int) -> list[Edit]:
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
    return apply(source, [*edits, *_headed(source, foreign, head)])


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
        if any(one.span.start < end and start < one.span.end for one in out):
            continue
        if start == end and any(one.span.start < start < one.span.end for one in out):
            continue
        out.append(edit)
    return out


def _headed(source: bytes, foreign: Foreign, head: list[bytes]) -> list[Edit]:
    """Put the new directives where the first old one stood, and take the old ones away."""
    text = b"".join(line + b"\n" for line in head)
    old = [one.span for one in foreign.regions if one.kind == "directive"]
    first_line = source.find(b"\n") + 1 if source.startswith(b"#!") else 0
    edits = [Edit(Span(span.start, min(span.end + 1, len(source))), b"", "directives") for span in old]
    if not source.startswith(b"#!"):
        text = b"#!/bin/bash\n" + text
    elif not first_line:
        text = b"\n" + text
        first_line = len(source)
    place = old[0].start if old else first_line
    return [*edits, Edit(Span(place, place), text, "directives")]
