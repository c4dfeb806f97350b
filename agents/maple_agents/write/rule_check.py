"""Every script that we hand over passes the rules of the submit path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from maple_submit_filter.types.submission import Submission

from ..templates.cluster import Cluster

if TYPE_CHECKING:
    from maple_submit_filter.answer.decision import Decision

COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


class Mistaken(ValueError):
    """A script of ours breaks a rule: our mistake, said in one line. Nothing is written."""


def checked(script: bytes, cluster: Cluster) -> Decision:
    """Return what `maple check` decides of *script* on *cluster*. Raises `Mistaken` where it is not clean."""
    from maple_submit_filter.answer.decision import decide
    from maple_submit_filter.bash.check import parses

    decision = decide(submission(script, cluster.site.scheduler), cluster.site)
    if decision.verdict != "clean":
        first = decision.findings[0] if decision.findings else None
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
