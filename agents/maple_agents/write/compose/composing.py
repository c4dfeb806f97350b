"""A plan as a batch script."""

from __future__ import annotations

from maple_submit_filter.bash.parsing import parse

from ..values import Plan
from . import directives, environment, launching

_WHY = {
    "torchrun": "One task on each node: torchrun starts the ranks there itself.",
    "accelerate": "One task on each node: accelerate starts the ranks there itself; --num_processes is the total.",
    "deepspeed": "One task on each node: deepspeed starts the ranks there itself.",
    "python": "One task for each rank.",
}


def compose(plan: Plan) -> bytes:
    """Return the script: shebang, directives, environment, setup, launch line. It ends with a newline.

    Raises `Refused` where the program is no command that can be launched, or a value no directive can hold.
    """
    launched = launching.launch(plan, plan.text("program").encode("utf-8", "surrogateescape"))
    parts = [
        [b"#!/bin/bash", *directives.lines(plan)],
        [*(one.encode() for one in environment.comment(made_of(plan))), *_wanted_all_the_same(plan)],
        environment.lines(plan),
        list(launched.before),
        [
            *(one.encode() for one in environment.comment(why(plan))),
            launched.line.rstrip(b"\n"),
        ],
        [b"wait"] if _in_background(launched.line) else [],  # else the job would end at once
    ]
    return b"\n\n".join(b"\n".join(part) for part in parts if part) + b"\n"


def _wanted_all_the_same(plan: Plan) -> list[bytes]:
    """A launcher that the site advises against is taken only where it was said; then nobody has to be told."""
    names = (plan.launch.when.launcher, plan.launch.when.over)
    against = any(plan.cluster.site.launcher(name) == "discouraged" for name in names)
    return [b"# maple: ignore MPL308"] if against and "launcher" in plan.said else []


def _in_background(line: bytes) -> bool:
    items = parse(line).items
    return bool(items) and items[-1].background


def why(plan: Plan) -> str:
    """Return in a sentence how the ranks come about."""
    nodes, each, ranks = plan.layout.nodes, plan.layout.ranks_per_node, plan.layout.ranks
    world = "%d x %d are %d ranks." % (nodes, each, ranks) if nodes > 1 else "%d in all." % ranks
    return "%s %s" % (_WHY[plan.launch.when.launcher], world)


def made_of(plan: Plan) -> str:
    """Return which parts of the repository the script was made of, with their revisions."""
    part = plan.cluster.environment
    found = ["launch %s.%d" % (plan.launch.name, plan.launch.revision)]
    found += ["environment %s.%d" % (plan.cluster.site.id, part.revision)] if part is not None else []
    return "Made by maple new: %s; %s, facts %s." % (
        plan.paradigm.title,
        ", ".join(found),
        plan.cluster.site.revision[:8],
    )
