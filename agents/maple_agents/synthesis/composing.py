"""A plan as a batch script."""

from __future__ import annotations

from . import directives, environment, launching
from .values import Plan

_WHY = {
    "torchrun": "torchrun starts the ranks of a node itself: one task on each node, %(ranks)d ranks each.",
    "accelerate": "accelerate starts the ranks of a node itself: one task on each node; --num_processes is the total.",
    "deepspeed": "deepspeed starts the ranks of its own node: one task on each node, %(ranks)d ranks each.",
    "python": "One task for each rank: %(ranks)d on each node.",
}


def compose(plan: Plan) -> bytes:
    """Return the script: shebang, directives, environment, setup, launch line. It ends with a newline.

    Raises `Refused` where the program is no command that can be launched, or a value no directive can hold.
    """
    launched = launching.launch(plan, plan.text("program").encode("utf-8", "surrogateescape"))
    parts = [
        [b"#!/bin/bash", *directives.lines(plan)],
        [one.encode() for one in environment.comment(made_of(plan))],
        environment.lines(plan),
        list(launched.before),
        [*(one.encode() for one in environment.comment(why(plan))), launched.line.rstrip(b"\n")],
    ]
    return b"\n\n".join(b"\n".join(part) for part in parts if part) + b"\n"


def why(plan: Plan) -> str:
    """Return in a sentence how the ranks come about."""
    world = "%d ranks in all." % plan.layout.ranks
    return "%s %s" % (_WHY[plan.launch.when.launcher] % {"ranks": plan.layout.ranks_per_node}, world)


def made_of(plan: Plan) -> str:
    """Return which parts of the repository the script was made of, with their revisions."""
    part = plan.cluster.environment
    found = ["launch %s.%d" % (plan.launch.name, plan.launch.revision)]
    found += ["environment %s.%d" % (plan.cluster.site.id, part.revision)] if part is not None else []
    return "maple new: %s; %s, site facts %s" % (plan.paradigm.title, ", ".join(found), plan.cluster.site.revision[:12])
