"""The whole way from slots to a script that may be handed over.

Every script that we hand over passes the rules of the submit path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, NamedTuple

from maple_submit_filter.bash.parser import parse
from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.submission import Submission

from ..base.slots import NAMES, Assumed, Lacking, Missing, Refused, Slots
from ..templates.cluster import Cluster
from .compose import directives, environment, launch_line
from .decide.decision import decide_plan
from .values import Plan

if TYPE_CHECKING:
    from maple_submit_filter.answer.decision import Decision

COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


class Made(NamedTuple):
    """A script that passes `maple check`, the plan that it was made of, and what to know."""

    script: bytes
    plan: Plan
    advice: tuple[str, ...] = ()


def make(
    slots: Slots,
    cluster: Cluster,
    wishes: Set[str] = frozenset(),
    earlier: Mapping[str, str] = {},
    ranks: int | None = None,
    gpu_kinds: tuple[str, ...] = (),
    hints: tuple[Assumed, ...] = (),
) -> Made | Lacking:
    """Return the script for what was said, or what is missing for one. Arguments are those of `decide_plan`.

    Raises `Refused` with one line where it cannot be had, `Mistaken` where the script made breaks a rule.
    """
    plan = decide_plan(slots, cluster, wishes, earlier, ranks, gpu_kinds, hints)
    if "program" not in slots:
        return _without_program(plan)
    if isinstance(plan, Lacking):
        return plan
    script = compose(plan)
    checked(script, cluster)
    return Made(script, plan, plan.advice)


def _without_program(plan: Plan | Lacking) -> Lacking:
    """Return what is missing where nobody said what to run: a name that is made up would start nothing, or another."""
    had = plan.missing if isinstance(plan, Lacking) else ()
    missing = (*had, Missing("program", "name the command to run, with its arguments: train.py --lr 1e-4"))
    assumed = tuple(slot for slot in plan.assumed if slot.slot != "program")
    return Lacking(tuple(sorted(missing, key=lambda slot: NAMES.index(slot.slot))), assumed, plan.advice)


# A plan as a batch script.


def compose(plan: Plan) -> bytes:
    """Return the script: shebang, directives, environment, setup, launch line. It ends with a newline.

    Raises `Refused` where the program is no command that can be launched, or a value no directive can hold.
    """
    launched = launch_line.launch(plan, plan.text("program").encode("utf-8", "surrogateescape"))
    parts = [
        [b"#!/bin/bash", *directives.lines(plan)],
        [*(line.encode() for line in environment.comment(made_of(plan))), *_wanted_all_the_same(plan)],
        environment.lines(plan),
        list(launched.before),
        [
            *(line.encode() for line in environment.comment(why(plan))),
            launched.line.rstrip(b"\n"),
        ],
        [b"wait"] if _in_background(launched.line) else [],  # else the job would end at once
    ]
    return launch_line.handed_on(b"\n\n".join(b"\n".join(part) for part in parts if part) + b"\n")


def _wanted_all_the_same(plan: Plan) -> list[bytes]:
    """A launcher that the site advises against is taken only where it was said; then nobody has to be told."""
    names = (plan.launch.when.launcher, plan.launch.when.over)
    against = any(plan.cluster.site.launcher(name) == "discouraged" for name in names)
    return [b"# maple: ignore MPL308"] if against and "launcher" in plan.slots else []


def _in_background(line: bytes) -> bool:
    items = parse(line).items
    return bool(items) and items[-1].background


def why(plan: Plan) -> str:
    """Return in a sentence how the ranks come about."""
    nodes, each, ranks = plan.layout.nodes, plan.layout.ranks_per_node, plan.layout.ranks
    world = "%d x %d are %d ranks." % (nodes, each, ranks) if nodes > 1 else "%d in all." % ranks
    launcher = plan.launch.when.launcher
    if plan.paradigm.processes != "gpu" and each == 1:
        return "One process%s, which has all GPUs there. %s" % (" on each node" if nodes > 1 else "", world)
    if launcher not in AGENTS:
        return "One task for each rank. %s" % world
    agent = AGENTS[launcher]
    total = "; --%s is the total" % agent.spelled(agent.ranks) if agent.total_ranks else ""
    return "One task on each node: %s starts the ranks there itself%s. %s" % (launcher, total, world)


def made_of(plan: Plan) -> str:
    """Return which parts of the repository the script was made of, with their revisions."""
    part = plan.cluster.environment
    parts = ["launch %s.%d" % (plan.launch.name, plan.launch.revision)]
    if part is not None:
        whose = "%s.%d" % (plan.cluster.site.id, part.revision) if part.revision else "as drafted from the site file"
        parts.append("environment %s" % whose)
    return "Made by maple new: %s; %s, facts %s." % (
        plan.paradigm.title,
        ", ".join(parts),
        plan.cluster.site.revision[:8],
    )


UNDER_USE = "MPL319"  # GPUs that no rank uses
_OF_NAMES = ("MPL207", "MPL219", "MPL224")  # partition, account, QOS or feature that the site's file does not list
_OF_THE_SIZE = ("MPL206", "MPL220")  # how many nodes and GPUs a place gives: only somebody's own size breaks them


class Mistaken(ValueError):
    """A script of ours breaks a rule: our mistake, said in one line. Nothing is written."""


def checked(script: bytes, cluster: Cluster) -> Decision:
    """Return what `maple check` decides of *script* on *cluster*. Raises `Mistaken` where it is not clean.

    GPUs without a rank are advice, and what was said: one process may drive them all. A name that the site's file does
    not list was said too, and there may be more of them. What the site says does not work there can only have been
    asked for; `Refused` says why it cannot be had.
    """
    from maple_submit_filter.answer.decision import decide
    from maple_submit_filter.bash.check import parses

    decision = decide(submission(script, cluster.site.scheduler), cluster.site)
    mistakes = [
        finding for finding in decision.findings
        if finding.code != UNDER_USE and (finding.proven or finding.code not in _OF_NAMES)
    ]  # fmt: skip
    if mistakes or decision.verdict == "unread":
        first = mistakes[0] if mistakes else None
        if first is not None and (first.site_fact.startswith("unfit.") or first.code in _OF_THE_SIZE):
            raise Refused(": ".join(filter(None, (first.says, first.help))))
        if first is not None and first.site_fact.startswith("demand."):  # no slot, and no part of the site, says it
            wanted = ": ".join(filter(None, (first.says, first.help)))
            raise Refused("%s; say it, or let the site's environment part say it in every script" % wanted)
        says = "%s %s" % (first.code, first.says) if first is not None else decision.why
        raise Mistaken("the script made for %s is not clean: %s" % (cluster.site.id, says))
    if not parses(script):
        raise Mistaken("the script made for %s is none that bash takes; look at the quotes of the program"
                       % cluster.site.id)  # fmt: skip
    return decision


def submission(script: bytes, scheduler: str) -> Submission:
    """Return the submission of *script* from here, with nothing of the user's own environment."""
    name = b"maple-new.sh"
    try:
        cwd = os.getcwdb()
    except OSError:  # deleted, or closed to us
        cwd = b"/"
    return Submission(scheduler, (COMMANDS[scheduler], name), script, "file", name, cwd, os.getuid(), {})
