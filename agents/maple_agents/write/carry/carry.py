"""The way from a script that was read to one for another cluster."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS, OVER
from maple_submit_filter.types.edits import Conflict, Edit, Span, apply

from ...base.slots import Lacking, Refused, Slots
from ...request.script.foreign_script import again, at_site, job_of
from ...request.script.launches import OF_TASK
from ...request.script.parts import Foreign
from ...request.script.slots import main
from ...request.script.walk import simple_commands
from ...templates.cluster import Cluster
from ..compose import launch_line
from ..decide import layouts, places
from ..decide.decision import decide_plan
from ..values import Carried, Plan
from . import directives, judgement, launch_lines, same_cluster, variables
from .assembly import Way, made, template
from .misused_launcher import meant, surely_wrong

NOTHING = Slots()


class Words(NamedTuple):
    """What was said beside the script."""

    slots: Slots
    wishes: Set[str]
    earlier: Mapping[str, str]
    ranks: int | None
    gpu_kinds: tuple[str, ...]


_RIGHT = "nothing in the script is wrong here, so it was left as it is"
_NOT_FOLLOWED = "nothing in it is wrong as far as it can be followed, so it was left as it is"
_REMOTE = ("ssh", "rsh", "pbs_tmrsh", "pbsdsh")
_WAYS = (Way(False, False), Way(True, False), Way(True, True))


def carry(
    foreign: Foreign,
    cluster: Cluster,
    slots: Slots = NOTHING,
    wishes: Set[str] = frozenset(),
    earlier: Mapping[str, str] = {},
    ranks: int | None = None,
    gpu_kinds: tuple[str, ...] = (),
) -> Carried | Lacking:
    """Return the script for *cluster*, or what is missing for it. What was said beside the script (*slots*) wins.

    *wishes*, *earlier*, *ranks*, *gpu_kinds*: of the words beside the script, as `deciding.decide_plan` takes them.
    Raises `Refused` with one line, and the line of the script, where it cannot be carried with certainty.
    """
    words = Words(slots, wishes, earlier, ranks, gpu_kinds)
    result = _carried(foreign, cluster, words)
    return result if isinstance(result, Lacking) else _with_news(result, foreign, cluster)


def _with_news(new: Carried, foreign: Foreign, cluster: Cluster) -> Carried:
    """Return the script with what was assumed for it: only what stands in it, and that the old one does not say."""
    if new.plan is None or not new.plan.assumed:
        return new
    words_read = _read(new, foreign, cluster)
    news = (
        value for value in new.plan.assumed if value.slot in words_read and words_read[value.slot].value == value.value
    )
    slots = foreign.slots
    assumed = tuple(value for value in news if value.slot not in slots or slots[value.slot].value != value.value)
    return new._replace(plan=new.plan._replace(assumed=assumed))


def _read(new: Carried, foreign: Foreign, cluster: Cluster) -> Slots:
    """Return what the new script says, as its cluster takes it."""
    path = foreign.job.submission.path if foreign.job.read is not None else b""
    try:
        return at_site(job_of(new.script, cluster.site.scheduler, path), cluster.site, cluster.site.id).slots
    except Refused:
        return NOTHING


def _carried(foreign: Foreign, cluster: Cluster, words: Words) -> Carried | Lacking:
    home = directives.is_home(foreign, cluster.site)
    if home and foreign.site != cluster.site.id:
        foreign = at_site(foreign.job, cluster.site, cluster.site.id, foreign.notes)
    try:
        understood, fewer = meant(foreign)
    except Refused as error:
        mended = _mended(foreign, cluster, words) if home else None
        if mended is None or (mended.unchanged and surely_wrong(foreign)):
            raise
        return mended._replace(advice=(*mended.advice, str(error)))
    here = understood is foreign or (_is_there(understood, cluster) and not fewer)
    mended = _mended(understood, cluster, words) if home and here else None
    if mended is not None:
        unchanged = mended.script == foreign.source
        return mended._replace(unchanged=unchanged, advice=(*mended.advice, *((_RIGHT,) if unchanged else ())))
    try:
        return _anew(understood, cluster, words, home)
    except Refused:
        if (
            home
            and understood is foreign
            and not foreign.wrong
            and not same_cluster.says_more(foreign, words.slots)
            and not foreign.job.script.refused
        ):
            return Carried(foreign.source, None, (*foreign.notes, _NOT_FOLLOWED), True)
        raise


def _is_there(foreign: Foreign, cluster: Cluster) -> bool:
    """Tell whether the cluster is known to have each launcher, and each world its place on known nodes."""
    if any(group.nodes is None for step in foreign.plan.steps for group in step.groups):
        return False
    names = {link.name for launch in foreign.launches for link in launch.steps[0].links if link.name in OVER}
    return all(cluster.site.launcher(name) in ("preferred", "present") for name in names)


def _anew(foreign: Foreign, cluster: Cluster, words: Words, home: bool) -> Carried | Lacking:
    """Return the script made for the cluster by edits, or what is missing for that. Raises `Refused`."""
    foreign = _uncrossed(foreign) if home else foreign
    plan = _decided(foreign, cluster, words, home)
    if isinstance(plan, Lacking):
        return plan._replace(advice=(*plan.advice, *foreign.notes))
    plan = _as_launched(foreign, plan)
    return _first_right(_with_outer(foreign, plan), plan, home)


def _with_outer(foreign: Foreign, plan: Plan) -> Foreign:
    """Return a script that lost what starts its tasks, and so reads as it was not meant, with that in its place."""
    commands = simple_commands(foreign.source)
    edits = []
    for launch in foreign.launches:
        start, end = launch.steps[0].span
        if launch.outer is None and not launch.small and OF_TASK.search(foreign.source, start, end):
            at = launch_lines.command_word(launch, foreign.source, commands)
            layout = launch_lines.layout_of(launch, foreign, plan)
            words = launch_line.filled(template(launch, plan).launch[0], plan._replace(layout=layout))
            edits.append(Edit(Span(at, at), words.encode() + b" ", "launcher"))
    if not edits or foreign.site != plan.cluster.site.id:
        return foreign
    return again(launch_line.handed_on(apply(foreign.source, edits)), foreign) or foreign


def _mended(foreign: Foreign, cluster: Cluster, words: Words) -> Carried | None:
    """Return the script of this very cluster as it is or with small repairs, None where those do not do."""
    kind = foreign.slots.text("gpu")
    if words.ranks or (words.gpu_kinds and kind not in words.gpu_kinds):
        return None
    small = same_cluster.mended(foreign, cluster, words.slots, foreign.source)
    if small is None:
        return None
    try:
        plan = _decided(foreign, cluster, words, True)
    except Refused:
        plan = Lacking(())
    known = plan._replace(assumed=()) if isinstance(plan, Plan) else None  # the script says it, or does without
    changes = tuple("changed: " + says for says in small.says)
    route = () if places.named(foreign.slots, cluster) else places.unnamed(cluster)
    return Carried(small.script, known, (*foreign.notes, *changes, *route), small.script == foreign.source)


def _uncrossed(foreign: Foreign) -> Foreign:
    """Return the script with the counts of a scheduler that it is not for as those of its own: a slip of copying."""
    source = variables.uncrossed(foreign.source, foreign.scheduler, foreign.plan.allocation)
    if source == foreign.source:
        return foreign
    return again(source, foreign) or foreign


def _as_launched(foreign: Foreign, plan: Plan) -> Plan:
    """Return the plan with the template of the training's own kind of launcher, and its tasks."""
    training = main(foreign.launches)
    if training is None or training.small:
        return plan
    launch = template(training, plan)
    layout = plan.layout
    tasks = 1 if launch.when.launcher in AGENTS else layout.ranks_per_node
    cpus = layouts.cores_per_task(plan.kinds, layout.gpus_per_node, tasks, launch.when.over, plan.cluster)
    return plan._replace(launch=launch, layout=layout._replace(tasks_per_node=tasks, cpus_per_task=cpus))


def _decided(foreign: Foreign, cluster: Cluster, words: Words, home: bool) -> Plan | Lacking:
    """Return the plan for what the script asks; numbers that contradict each other in a wrong script do not count."""
    slots = directives.requested_slots(foreign, cluster, words.slots, home)
    kinds: tuple[str, ...] = ()
    if words.gpu_kinds and "gpu" not in words.slots:
        slots, kinds = Slots(slot for name, slot in slots.items() if name != "gpu"), words.gpu_kinds
    loose: tuple[str, ...] = ()
    refused: Refused | None = None
    for more in ((), ("gpus_per_node",), ("ranks_per_node",), ("gpu", "launcher")):
        loose += tuple(name for name in more if name not in words.slots)
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
            script, advice, wanted = made(foreign, plan, home, way)
        except Conflict as error:
            whys.append("two changes want the same place (%s)" % error)
            continue
        why = judgement.wrong(script, foreign, plan.cluster, wanted)
        if not why:
            if not home:
                advice += judgement.advice_on(foreign, plan, script, simple_commands(foreign.source))
                script, says = same_cluster.followed(script, foreign, plan.cluster, wanted)
                advice += says
            return Carried(script, plan, tuple(dict.fromkeys((*foreign.notes, *advice))))
        whys.append(why)
    raise Refused("the script cannot be carried with certainty: %s" % whys[-1])


def _carriable(foreign: Foreign, plan: Plan) -> None:
    """Raise `Refused` for launch lines that are not understood, or that no template can take the place of."""
    unread = next((line for line in foreign.plan.unread if any(name in line[1] for name in OVER)), None)
    if unread is not None:
        raise Refused("line %d: %s, so it is not known what it starts" % unread)
    for launch in foreign.launches:
        links = [link.name for link in launch.steps[0].links]
        remote = next((name for name in links if name in _REMOTE), "")
        if remote:
            says = "line %d: the nodes are reached by %s, one by one: write it as one launch line over all of them"
            raise Refused(says % (launch.line, remote))
        beside = any(step.background for step in launch.steps) and launch.outer is not None
        if (
            beside
            and launch_lines.layout_of(launch, foreign, plan).nodes < plan.layout.nodes
            and plan.launch.when.over != "srun"
        ):
            says = "line %d: several steps run beside each other, each on nodes of its own; %s cannot place them so"
            raise Refused(says % (launch.line, plan.launch.when.over))
        single = launch.outer is not None and launch.agent is None and not launch.small
        if single and launch_lines.python_template(plan) is None:
            says = "line %d: it starts its ranks one by one, and it is not known how they get their ranks on %s"
            raise Refused(says % (launch.line, plan.cluster.site.id))
