"""Edits for a launch line that a loop repeats for each host of the job, and that names none of them."""

from __future__ import annotations

import re
from typing import Optional, Tuple

from ..types.edits import Fix, Safety
from ..types.launch_plan import LaunchPlan, Step
from .launch_edits import cpus_on_node, in_front, put

_PLACES = ("nodelist", "relative", "nodefile", "het-group", "exclude", "hosts", "host")
_HEADER = re.compile(
    rb"(?m)^[ \t]*for[ \t]+(?:(\w+)[ \t]+in[ \t]+([^\n]*?)|\(\([ \t]*(\w+)[^\n]*?)[ \t]*(?:;[ \t]*do\b|\n[ \t]*do\b)"
)
_ENDS = re.compile(rb"(?m)(?:^[ \t]*|;[ \t]*)(for|while|until|done)\b")
_ARRAY = re.compile(rb"\$\{(!?)(\w+)\[[@*]\]\}|\$\{?(\w+)\}?")
_LISTED = rb"(?m)^[^#\n]*\b%s(?:=|[ \t]+<[ \t]*<)[^\n]*scontrol[ \t]+show[ \t]+hostname"
_ANY_ARRAY = re.compile(rb"(?m)^[^#\n]*?\b(\w+)=\([^\n]*scontrol[ \t]+show[ \t]+hostname")


def on_its_host(step: Step, plan: LaunchPlan, source: bytes, why: str) -> Tuple[Fix, ...]:
    """Start the line of each round on the host that it is for: `srun --nodes=1 --ntasks=1 --nodelist="$host"`."""
    rounds = [other for other in plan.steps if other.span == step.span]
    if len(rounds) < 2 or not step.links or not step.background or plan.allocation.node_file is not None:
        return ()
    host, outer = host_of_round(source, step.span.start), step.links[0]
    if not host or outer.option(*_PLACES) is not None:
        return ()
    cpus, words = cpus_on_node(plan.allocation), None
    if outer.name == "srun":
        each = [("ntasks-per-node", b"1")] if outer.option("ntasks-per-node") is not None else []
        if cpus and plan.allocation.tasks_per_node != 1 and outer.option("cpus-per-task") is None:
            each.append(("cpus-per-task", b"%d" % cpus))
        words = put(outer, [("nodes", b"1"), ("ntasks", b"1"), *each, ("nodelist", host)], why)
    elif len(step.links) == 1:
        with_cpus = b" --cpus-per-task=%d" % cpus if cpus else b""
        words = in_front(outer, b"srun --nodes=1 --ntasks=1%s --nodelist=%s" % (with_cpus, host), why)
    return (
        (Fix(tuple(words), Safety.ASK, "each round on its own host: --nodelist=%s" % host.decode()),) if words else ()
    )


def host_of_round(source: bytes, at: int) -> bytes:
    """Return the word that is the host of the round in the innermost loop around a place, b"" where it has none."""
    for match in reversed(list(_HEADER.finditer(source, 0, at))):
        inner = [word.group(1) != b"done" for word in _ENDS.finditer(source, match.end(), at)]
        if sum(inner) >= len(inner) - sum(inner):
            return _host(source, match.group(1) or match.group(3), match.group(2))
    return b""


def _host(source: bytes, variable: bytes, items: Optional[bytes]) -> bytes:
    """Return what names the host of a round over *items*; None: over numbers."""
    if items is not None and b"scontrol show hostname" in items:
        return b'"$%s"' % variable
    for index, array, plain in _ARRAY.findall(items or b""):
        name = array or plain
        if re.search(_LISTED % re.escape(name), source):
            return b'"${%s[$%s]}"' % (name, variable) if index else b'"$%s"' % variable
    of_all = set(_ANY_ARRAY.findall(source)) if items is None or b"seq" in items or b".." in items else set()
    return b'"${%s[$%s]}"' % (of_all.pop(), variable) if len(of_all) == 1 else b""
