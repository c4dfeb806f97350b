"""A node that failed is left out of the next try."""

from __future__ import annotations

import re

from maple_submit_filter.types.edits import Fix

from ..registry import Given, fix
from .directives import with_option

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}\Z")


@fix("exclude-nodes")
def exclude_nodes(given: Given) -> Fix | None:
    """Leave out the node that failed: the one that the log names, or on which it was said, or the job's only one.

    Slurm only: PBS has no word for it. A name that is none of the job's nodes, where these are known, is not believed.
    """
    node = _failed(given)
    if given.case.scheduler != "slurm" or not _HOST.match(node):
        return None
    if any(name in given.job.settings for name in ("nodelist", "nodefile")):
        return None  # a job that asks for this node and excludes it never starts
    setting = given.job.settings.get("exclude")
    before = setting.value.decode("ascii", "replace") if setting is not None else ""
    if node in re.split(r",(?![^\[]*\])", before):
        return None
    if before and not re.match(r"[A-Za-z0-9,-]+\Z", before):
        return None  # a list in brackets, or a file of names
    return with_option(given, "exclude", ",".join(filter(None, (before, node))), "node %s is left out" % node)


def _failed(given: Given) -> str:
    event = given.event()
    nodes = given.case.ended.nodes
    only = nodes[0] if len(nodes) == 1 else ""
    for name in (given.caught("node"), given.caught("host"), event.node if event is not None else "", only):
        short = name.partition(".")[0]
        if short and (not nodes or short in {node.partition(".")[0] for node in nodes}):
            return short
    return ""
