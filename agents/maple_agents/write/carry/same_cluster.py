"""A script of this very cluster, mended by the rules of the submit path; and what these advise on a carried script.

A script may be whole on the new cluster and still bring along what does not work there: a container's option for GPUs
of another maker, a program that a module has to bring first. The rules know it, so they are asked here: followed where
they know how, else told.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.repair.search import State
from maple_submit_filter.types.edits import Conflict, Fix, apply
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.launch_plan import Step

from ...base.slots import Slots
from ...request.script.launches import OF_TASK
from ...request.script.parts import Foreign, Launch
from ...request.script.walk import context, texts
from ...templates.cluster import Cluster
from ..values import Layout
from . import judgement, variables

_EARLY = re.compile(rb"(?<!\\)\$\{?(?:%s)" % OF_TASK.pattern)


class Mended(NamedTuple):
    """A script of this cluster as it should be. *says*: one sentence for each change, with the rule's code."""

    script: bytes
    says: tuple[str, ...] = ()


def mended(foreign: Foreign, cluster: Cluster, slots: Slots, original: bytes) -> Mended | None:
    """Return the script as it should be, None where it has to be made anew: something else was said, or no small
    edit cures it. A script that is right comes back as it is.
    """
    if says_more(foreign, slots):
        return None
    state = judgement.state_of(original, foreign, cluster)
    if state is None or not _asks_for_gpus(foreign, cluster):
        return None
    if not state.proven() and not state.job.script.refused:
        return None if _surely_not_meant(state, foreign) else Mended(original)
    decision: Decision = decide(state.job.submission, cluster.site, state.job.read)
    made = decision.repaired or decision.offered
    if made is None or made.script is None:
        return None
    after = judgement.state_of(made.script, foreign, cluster)
    if after is None or after.proven() or after.job.script.refused or not _as_meant(after, foreign):
        return None
    same_nodes = after.plan.allocation.nodes == state.plan.allocation.nodes
    return Mended(made.script, made.says) if same_nodes else None


def _surely_not_meant(state: State, foreign: Foreign) -> bool:
    """Tell whether a script that contradicts nothing still cannot be meant so. What is merely unknown, or uses less
    than it may, is the user's business.
    """
    if variables.uncrossed(foreign.source, foreign.scheduler, state.plan.allocation) != foreign.source:
        return True
    if any(launch.outer is None and launch.agent is None and not launch.small for launch in foreign.launches):
        return True
    if any(_too_early(launch, foreign.source) for launch in foreign.launches):
        return True
    return any(_forgot(step, state) or _meets_nobody(step) or _apart(step) for step in state.plan.steps if _agent(step))


def _too_early(launch: Launch, source: bytes) -> bool:
    """Tell whether the batch shell puts in what only each task can say of itself: then all tasks are told the same."""
    step = launch.steps[0]
    if launch.outer is None or launch.small or step.tasks == 1 or launch.program is None:
        return False
    text = context(texts(source), launch.program.start)
    return text is not None and text.quote in (b'"', b"<") and _EARLY.search(source, *text.span) is not None


def _apart(step: Step) -> bool:
    """Tell whether torchrun is started on several nodes and told neither of the others nor to stand alone."""
    link = step.links[-1]
    is_told = link.option("nnodes", "standalone", "rdzv-endpoint", "master-addr") is not None
    return link.name == "torchrun" and not is_told and not link.open and len(step.groups) > 1 and (step.nodes or 1) > 1


def _meets_nobody(step: Step) -> bool:
    """Tell whether deepspeed is started on each node by another launcher, and would itself reach for all of them."""
    return step.links[-1].name == "deepspeed" and (step.tasks or 1) > 1 and step.links[-1].option("no-ssh") is None


def _as_meant(state: State, foreign: Foreign) -> bool:
    """Tell whether the training is what its request speaks of: on all its nodes, in one world that is known, and with
    more than the one rank that torchrun starts where nobody says how many.
    """
    given = state.plan.allocation
    if variables.uncrossed(foreign.source, foreign.scheduler, given) != foreign.source:
        return False
    alone = sum(not launch.small for launch in foreign.launches) == 1
    for step in (launched for launched in state.plan.steps if launched.links):
        if _agent(step) and (not _whole(step) or _forgot(step, state)):
            return False
        if step.tasks is None or (alone and not _on_all(step, given.nodes)):
            return False
    return not any(launch.outer is None and launch.agent is None and not launch.small for launch in foreign.launches)


def _on_all(step: Step, nodes: int | None) -> bool:
    """Tell whether a step that trains does so on all nodes of the job; a small one need not."""
    single = step.tasks == 1 and all((group.declared or 1) == 1 for group in step.groups)
    if nodes is None or single:
        return True
    if step.nodes is not None and step.nodes < nodes:
        return False
    if len(step.groups) > 1:
        return step.links[-1].option("standalone") is not None  # an ensemble
    return all(group.nodes is None or group.nodes == nodes for group in step.groups)


def _agent(step: Step) -> bool:
    return bool(step.links) and step.links[-1].name in AGENTS


def _whole(step: Step) -> bool:
    return bool(step.groups) and all(group.world_size is not None for group in step.groups)


def _forgot(step: Step, state: State) -> bool:
    """Tell whether nobody said how many ranks a node has, where it has several GPUs."""
    option = step.links[-1].option("nproc-per-node", "num-processes", "num-gpus", "config-file", "include", "hostfile")
    return option is None and step.workers_per_task == 1 and (state.plan.allocation.gpus_per_node or 1) > 1


def says_more(foreign: Foreign, slots: Slots) -> bool:
    """Tell whether something was said beside the script that it does not say itself."""
    return any(name not in foreign.slots or foreign.slots[name].value != slot.value for name, slot in slots.items())


def _asks_for_gpus(foreign: Foreign, cluster: Cluster) -> bool:
    """Tell whether the job gets GPUs: without a request a site that wants one gives none."""
    site = cluster.site
    if site.gpu_request.style in ("whole-node", "unknown", "any") or not any(kind.gpus for kind in site.kinds):
        return True
    return foreign.plan.allocation.gpus_per_node != 0 and _says_gpus(foreign)


def _says_gpus(foreign: Foreign) -> bool:
    names = ("gpus", "gpus-per-node", "gpus-per-task", "gres", "gpus-per-socket", "tres-per-task", "exclusive")
    chunk = foreign.job.settings.value("select") or b""
    worlds = [launch for launch in foreign.launches if not launch.small]
    return any(name in foreign.job.settings for name in names) or b"ngpus=" in chunk or not worlds


MOST = 5  # changes, and sentences


class Advised(NamedTuple):
    """The script after the rules' changes, and a sentence for each of them and for each that is left to a person."""

    script: bytes
    says: tuple[str, ...]


def followed(script: bytes, foreign: Foreign, cluster: Cluster, wanted: list[Layout | None]) -> Advised:
    """Return the carried script as the cluster's rules want it. *wanted*: as `judgement.wrong` takes it.

    A change is made only if every world stays as it was decided, and nothing else is found then.
    """
    state, says = judgement.state_of(script, foreign, cluster), list[str]()
    while state is not None and len(says) < MOST:
        change = _change(state, foreign, cluster, wanted)
        if change is None:
            break
        says.append("changed for the new cluster: %s (%s)" % (change.says, change.why))
        script, state = change.state.job.source, change.state
    left = state.findings if state is not None else ()
    sentences = dict.fromkeys(_sentence(finding, script) for finding in left if not finding.proven)
    return Advised(script, (*says, *list(sentences)[:MOST]))


class _Change(NamedTuple):
    state: State  # after it
    says: str
    why: str


def _change(state: State, foreign: Foreign, cluster: Cluster, wanted: list[Layout | None]) -> _Change | None:
    """Return the first change of the rules' own after which its finding is gone, and all else as right as it was."""
    for finding in state.findings:
        for fix in finding.fixes[:1]:
            after = _after(state, fix, foreign, cluster)
            if after is None or not _is_better(finding, state, after):
                continue
            if not judgement.wrong_in(after, after.job.source, foreign, wanted):
                return _Change(after, fix.says, finding.says)
    return None


def _after(state: State, fix: Fix, foreign: Foreign, cluster: Cluster) -> State | None:
    """Return the state after a fix of the script alone; None where it cannot be made."""
    try:
        script = apply(state.job.source, fix.edits)
    except Conflict:
        return None
    if fix.argv_edits or script == state.job.source:
        return None
    return judgement.state_of(script, foreign, cluster)


def _is_better(finding: Finding, before: State, after: State) -> bool:
    codes = [[other.code for other in state.findings] for state in (before, after)]
    return codes[1].count(finding.code) < codes[0].count(finding.code) and set(codes[1]) <= set(codes[0])


def _sentence(finding: Finding, script: bytes) -> str:
    line = "line %d of the new script: " % line_of(script, finding.at.start) if finding.at else ""
    return "%s%s (%s)%s" % (line, finding.says, finding.code, ": " + finding.help if finding.help else "")
