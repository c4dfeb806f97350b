"""Which site is this? One answer for every command, in one order: said, installed, detected, generic.

What is installed comes before what this machine looks like: the front goes by it, and two answers are worse than one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple, Optional

from maple_submit_filter.site.facts import Site

from .installed import installed, prefix_of
from .systems import cluster_names

SAID, INSTALLED, DETECTED, GENERIC = "said", "installed", "detected", "generic"


class Here(NamedTuple):
    """*how*: one of the four. *why*: a phrase that says from where. *site*: its facts, where one is installed."""

    id: str
    how: str
    why: str
    site: Optional[Site] = None

    def __str__(self) -> str:
        return "%s (%s)" % (self.id, self.why)


def here(said: Optional[str], generic: str, environ: Mapping[str, str] = os.environ, hostname: str = "") -> Here:
    """Return the site that commands are about. *said*: on the command line. *generic*: where nothing tells.

    *hostname*: this machine's, "" for what it calls itself.
    """
    if said:
        return Here(said, SAID, "--site")
    order = ("qsub", "sbatch") if generic.endswith("pbs") else ("sbatch", "qsub")
    found = installed(order, environ)
    if found is not None:
        return Here(found.site.id, INSTALLED, "installed below %s" % prefix_of(found.conf), found.site)
    return _detected(environ, hostname or os.uname().nodename) or Here(
        generic, GENERIC, "not described yet; maple site init drafts a description"
    )


def _detected(environ: Mapping[str, str], hostname: str) -> Optional[Here]:
    """Return the site that names and variables speak for; the scheduler is asked for its name last: that takes time."""
    from . import detect

    by_name = detect(environ, hostname)
    if by_name is not None:
        return Here(by_name, DETECTED, "detected by the name or environment of %s" % hostname)
    for name, where in cluster_names(environ):
        found = detect(environ, hostname, name)
        if found is not None:
            return Here(found, DETECTED, "detected: %s is %s" % (where, name))
    return None
